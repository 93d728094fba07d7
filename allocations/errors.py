"""What a caller of the services would treat differently, one class each; `code` never changes once it is set."""

from collections.abc import Mapping
from typing import Any


class AllocationsError(Exception):
    """Base of every refusal by decisions, plans and execution. `facts` are the numbers for the message."""

    code = "allocations_error"

    def __init__(self, message: str, /, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts: Mapping[str, Any] = facts


class NotAllowed(AllocationsError):
    """This person may not do that; the message names who can."""

    code = "not_allowed"


class BadTerms(AllocationsError):
    """What was asked makes no sense, such as a minimum above the ideal. `facts["field"]` names the input."""

    code = "bad_terms"


class WrongState(AllocationsError):
    """There is no such step from the state that the row is in."""

    code = "wrong_state"


class Stale(AllocationsError):
    """Somebody was first: the row changed since it was looked at."""

    code = "stale"


class OverShare(AllocationsError):
    """The division's share of that GPU model does not hold this promise at some instant."""

    code = "over_share"


class OverQuota(AllocationsError):
    """The project's quota does not hold this promise at some instant."""

    code = "over_quota"


class OverCapacity(AllocationsError):
    """The healthy GPUs of that model do not hold all promises at some instant."""

    code = "over_capacity"


class Uncovered(AllocationsError):
    """The plan forgets open moves of its parent; `facts["gpus"]` names the GPUs."""

    code = "uncovered"


class NothingToPlan(AllocationsError):
    """There is no plan to make: the need is met, or nothing can be taken for it."""

    code = "nothing_to_plan"


class NobodyToSign(AllocationsError):
    """No policy row says who signs this, or a role that must sign has nobody."""

    code = "nobody_to_sign"
