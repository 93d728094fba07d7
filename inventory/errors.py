"""What goes wrong between the portal and the machines; each code never changes."""

from django.utils.translation import gettext as _


class InventoryError(Exception):
    """Base of all errors of the facts."""

    code = "inventory_error"


class NodeError(InventoryError):
    """One node could not be asked or told; it becomes a row with this code, not a stop for the others."""

    code = "node_error"

    def __init__(self, node: str, detail: str) -> None:
        super().__init__(node, detail)
        self.node = node
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.node}: {self.detail}"


class NodeUnreachable(NodeError):
    """No answer in time: switched off, hung, or no way there. Nothing is known about its GPUs now."""

    code = "node_unreachable"


class NodeRefused(NodeError):
    """The node answered no. `node_code` is its own reason, `generation` the one in force there where that is it."""

    code = "node_refused"

    def __init__(self, node: str, detail: str, node_code: str, generation: int | None = None) -> None:
        super().__init__(node, detail)
        self.args = (node, detail, node_code, generation)
        self.node_code = node_code
        self.generation = generation


class BadAnswer(NodeError):
    """The node answered what the wire does not allow; the detail names the field."""

    code = "bad_answer"


class BadToken(NodeError):
    """The node does not accept the portal's token."""

    code = "bad_token"


class CertificateMismatch(NodeError):
    """Somebody else's certificate: not the node that was enrolled, or it was made anew. The token was not sent."""

    code = "certificate_mismatch"


class UnknownDriver(NodeError):
    """The node's row names a driver that does not exist."""

    code = "unknown_driver"


class WrongCordon(InventoryError):
    """There is a cordon already, or none to lift, or its end has passed. `facts` names the node."""

    code = "wrong_cordon"

    def __init__(self, message: str, /, **facts: str) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class BadJoinCode(InventoryError):
    """No node joins by that code. Whether it is unknown, used, revoked or too old is not told: codes can be guessed."""

    code = "bad_join_code"

    def __init__(self, message: str = "") -> None:
        super().__init__()
        self.message = message or _("No node joins by that code: it is unknown, used, revoked or too old.")


class WrongEnrolment(InventoryError):
    """The node cannot be enrolled, renewed or revoked as it stands. `facts` names it."""

    code = "wrong_enrolment"

    def __init__(self, message: str, /, **facts: str) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class WrongMode(InventoryError):
    """No node there can be put into that mode."""

    code = "wrong_mode"

    def __init__(self, message: str, /) -> None:
        super().__init__(message)
        self.message = message


class WrongArrival(InventoryError):
    """An arrival that brings nothing, lies in the past, or has come or was cancelled before."""

    code = "wrong_arrival"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadFleetFile(InventoryError):
    """A fleet file says something that cannot be; nothing of it was imported. `column`: its name, or its number."""

    code = "bad_fleet_file"

    def __init__(self, line: int, column: str, why: str) -> None:
        super().__init__(line, column, why)
        self.line = line
        self.column = column
        self.why = why

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.why}"
