"""Moves that failed for good: written with their reason, and those who run the fleet are told once for all alike."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import queries
from allocations.executor.proof import ACTOR
from allocations.models import Move, Role
from allocations.notify import page, tell
from inventory import trail
from inventory.models import Event

State = Move.State
NAMED_MOST = 10  # moves in a notice; the page shows them all


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call said about one move: the state to be in, None to stay; `fault` a code, "" for a good answer."""

    move: Move
    state: State | None
    running: int | None = None
    fault: str = ""
    detail: str = ""
    node_generation: int | None = None


def fail(failed: Iterable[Outcome], at: datetime) -> None:
    """The moves have failed at `at`; in the caller's transaction."""
    by_code: dict[str, list[Outcome]] = defaultdict(list)
    for one in failed:
        by_code[one.fault].append(one)
    for code, outcomes in by_code.items():
        Move.objects.advance_many([one.move for one in outcomes], State.FAILED, failed_at=at, tried_at=at, fault=code)
        events = trail.record_many("move.failed", [(one.move, _facts(one)) for one in outcomes], by=ACTOR)
        _tell_ops(events[0], outcomes, code)


def _tell_ops(event: Event, outcomes: Sequence[Outcome], code: str) -> None:
    """One notice for all that failed alike in a pass: a node that breaks breaks eight moves at once."""
    named = [
        _("%(gpu)s on %(node)s, to %(holder)s")
        % {"gpu": one.move.gpu, "node": one.move.gpu.node.name, "holder": one.move.to_holder or _("nobody")}
        for one in outcomes[:NAMED_MOST]
    ]
    if len(outcomes) > NAMED_MOST:
        named.append(_("and %(more)d more") % {"more": len(outcomes) - NAMED_MOST})
    subject = ngettext("A move has failed: %(code)s", "%(count)d moves have failed: %(code)s", len(outcomes))
    tell(
        event,
        queries.people_with(Role.Power.OPERATE),
        subject % {"count": len(outcomes), "code": code},
        "\n".join([*named, "", _("The same order will not do: propose a plan that repairs it.")]),
        page("reshuffle"),
    )


def _facts(one: Outcome) -> dict[str, object]:
    return {
        "gpu": str(one.move.gpu),
        "to": one.move.to_holder,
        "code": one.fault,
        "detail": one.detail,
        "generation": one.move.generation,
        "node_generation": one.node_generation,
    }
