"""Orders: the node of every agreed move is told its GPU's whole desired state, each pass anew, until it is done."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from time import monotonic

from django.db import connection, transaction
from django.db.models import Case, F, When
from django.utils import timezone

from allocations import queries
from allocations.executor.failures import Outcome, fail
from allocations.models import Move
from allocations.queries.access import Access
from inventory import queries as facts
from inventory.drivers import loop
from inventory.drivers.base import Applied, Order, UnitOrder
from inventory.errors import InventoryError, NodeError, NodeRefused

State = Move.State
TOLD = [State.AGREED, State.DRAINING, State.SWITCHING]
# Orders between two writes: what a crash may cost in repeated calls. 256 are answered within 0.3 s by nodes that live,
# and even if all are silent within 12 s (64 at a time, 3 s to connect).
BATCH = 256
# No new batch after this: a pass of silent nodes ends long before the task's soft limit of 240 s, and the next one
# begins again with the nodes that answer.
PASS_MOST_S = 60
# After a fault the next try waits 3 s (one pass), 6, 12 and then always 24 s: a node that boots for minutes costs
# little, and one that is back waits no longer than a person would before looking again.
BACK_OFF_S = 3
BACK_OFF_MOST_S = 24
# The node will not say anything else to the same order: only a new plan helps.
FINAL = frozenset({"older_generation", "generation_conflict", "unknown_gpu", "gpu_lost", "observes_only"})
NOTE = """
UPDATE allocations_move move SET tried_at = %s, running = note.running, fault = note.fault, attempts = note.attempts
FROM unnest(%s::bigint[], %s::int[], %s::text[], %s::int[]) AS note (pk, running, fault, attempts)
WHERE move.id = note.pk
"""


def tell_nodes() -> None:
    """The nodes of all moves that are due have been told, many at once, and what they answered is written."""
    ends_at_s = monotonic() + PASS_MOST_S
    due = due_moves(timezone.now())
    for first in range(0, len(due), BATCH):
        if monotonic() > ends_at_s:
            return
        batch = due[first : first + BATCH]
        lists = queries.access_of(move.project_id for move in batch if move.project_id)
        answers = loop.ensure_many([_order(move, lists) for move in batch])
        # After the answers: what a reading shows from here on, it shows after the switch.
        answered_at = timezone.now()
        _write([_outcome(move, answer) for move, answer in zip(batch, answers, strict=True)], answered_at)


def due_moves(now: datetime) -> list[Move]:
    """Agreed, draining and switching moves that are not in a back-off; those of nodes that answer first."""
    moves = (
        Move.objects.filter(state__in=TOLD)
        .select_related("gpu__node", "project")
        .order_by(Case(When(fault="", then=0), default=1), F("tried_at").asc(nulls_first=True), "pk")
    )
    return [move for move in moves if _due_at(move) <= now]


def _due_at(move: Move) -> datetime:
    if not move.fault or move.tried_at is None:
        return move.proposed_at
    doublings = min(move.attempts - 1, 10)
    return move.tried_at + timedelta(seconds=min(BACK_OFF_MOST_S, BACK_OFF_S * 2**doublings))


def _order(move: Move, lists: Mapping[tuple[int, str], Access]) -> UnitOrder:
    # A unit without uuid is none that an agent knows; it refuses that as any other.
    uuid = move.gpu.uuid or f"unit-{move.gpu_id}"
    node = move.gpu.node
    access = lists.get((move.project_id or 0, queries.realm_of(node)), Access())
    order = Order(move.to_holder, move.generation, access.revision, access.unix_ids)
    return UnitOrder(facts.address_of(node), uuid, order)


def _outcome(move: Move, answer: Applied | InventoryError) -> Outcome:
    if isinstance(answer, Applied):
        return Outcome(move, State.DRAINING if answer.state == "draining" else State.SWITCHING, answer.running)
    detail = answer.detail if isinstance(answer, NodeError) else str(answer)
    if not isinstance(answer, NodeRefused):
        return Outcome(move, None, move.running, answer.code, detail)
    state = State.FAILED if answer.node_code in FINAL else None
    return Outcome(move, state, move.running, answer.node_code, detail, answer.generation)


@transaction.atomic
def _write(outcomes: Sequence[Outcome], at: datetime) -> None:
    """The moves are where the answers put them, set-wise."""
    ours = _ours(outcomes)
    notes = [(outcome, _attempts(outcome)) for outcome in ours if outcome.state != State.FAILED]
    agreed = [
        one.move for one in ours if one.move.state == State.AGREED and one.state in (State.DRAINING, State.SWITCHING)
    ]
    back = [one.move for one in ours if one.move.state == State.SWITCHING and one.state == State.DRAINING]
    Move.objects.advance_many(agreed, State.DRAINING, draining_at=at)
    Move.objects.advance_many(back, State.DRAINING, draining_at=at, switched_at=None)
    switched = [one.move for one in ours if one.move.state == State.DRAINING and one.state == State.SWITCHING]
    Move.objects.advance_many(switched, State.SWITCHING, switched_at=at)
    fail([one for one in ours if one.state == State.FAILED], at)
    _note(notes, at)


def _ours(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those whose moves are as they were when they were told; locked. What another worker moves on is left to it."""
    locked = (
        Move.objects.filter(pk__in=[outcome.move.pk for outcome in outcomes])
        .order_by("pk")
        .select_for_update(skip_locked=True)
    )
    states = dict(locked.values_list("pk", "state"))
    return [outcome for outcome in outcomes if states.get(outcome.move.pk) == outcome.move.state]


def _attempts(outcome: Outcome) -> int:
    """Calls in a row in this state with this kind of luck: a back-off grows with faults, not with a long drain."""
    move = outcome.move
    same = outcome.state in (None, move.state) and bool(move.fault) == bool(outcome.fault)
    return move.attempts + 1 if same else 1


def _note(notes: Iterable[tuple[Outcome, int]], at: datetime) -> None:
    columns = [(one.move.pk, one.running, one.fault, attempts) for one, attempts in notes]
    if columns:
        with connection.cursor() as cursor:
            cursor.execute(NOTE, [at, *map(list, zip(*columns, strict=True))])
