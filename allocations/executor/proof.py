"""Proof: a move is done when a reading asked for after the switch shows the new holder, and only then."""

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from allocations.executor import delivery
from allocations.models import Holding, Move
from inventory import trail

ACTOR = "executor"
# The microsecond: should another machine's clock have been ahead, the old holding still ends after it began.
END_HOLDINGS = """
UPDATE allocations_holding held
SET during = tstzrange(lower(held.during), greatest(proof.at, lower(held.during) + interval '1 microsecond'))
FROM unnest(%s::bigint[], %s::timestamptz[]) AS proof (gpu_id, at)
WHERE held.gpu_id = proof.gpu_id AND upper_inf(held.during)
RETURNING held.gpu_id, upper(held.during)
"""
log = logging.getLogger(__name__)


def proven_moves() -> QuerySet[Move]:
    """Switching moves whose GPU's newest reading was asked for after the switch and shows their holder and generation.

    The device may show a later generation: then a newer order says the same.
    """
    return (
        # Annotated apart: inside the filter the join would be an inner one and leave out moves to nobody.
        Move.objects.annotate(new_holder=Coalesce("project__slug", Value("")))
        .filter(
            state=Move.State.SWITCHING,
            gpu__reading__requested_at__gt=F("switched_at"),
            gpu__reading__holder=F("new_holder"),
            gpu__reading__generation__gte=F("generation"),
        )
        .select_related("gpu__reading", "project")
        .order_by("pk")
    )


def prove() -> None:
    """Every move that a later reading proves is done, and its holding written in the same transaction."""
    try:
        _finish(proven_moves())
    except IntegrityError:
        # One GPU whose past contradicts itself must not keep all others from being done.
        for pk in list(proven_moves().values_list("pk", flat=True)):
            _finish_alone(pk)


@transaction.atomic
def _finish(proven: QuerySet[Move]) -> None:
    # Locked and judged in one statement: a move that went back to draining in between is not done by its old switch.
    moves = list(proven.select_for_update(of=("self",), skip_locked=True))
    done = Move.objects.advance_many(moves, Move.State.DONE, done_at=timezone.now(), fault="")
    if not done:
        return
    _hold(done)
    delivery.tell_delivered({move.grant_id for move in done if move.grant_id})
    facts = [(move, {"gpu": str(move.gpu), "before": move.from_holder, "after": move.to_holder}) for move in done]
    trail.record_many("move.done", facts, by=ACTOR)


def _finish_alone(pk: int) -> None:
    try:
        _finish(proven_moves().filter(pk=pk))
    except IntegrityError:
        log.exception("a proven holding contradicts an older one", extra={"move": pk})


def _hold(done: Sequence[Move]) -> None:
    """The old holding of each GPU ends and the new one begins at the instant of the proof."""
    proofs = {move.gpu_id: move.gpu.reading.requested_at for move in done}
    starts: dict[int, datetime] = dict(proofs)
    with connection.cursor() as cursor:
        cursor.execute(END_HOLDINGS, [list(proofs), list(proofs.values())])
        starts.update(cursor.fetchall())
    Holding.objects.bulk_create(
        Holding(
            gpu_id=move.gpu_id,
            project=move.project,
            grant_id=move.grant_id,
            generation=move.generation,
            during=DateTimeTZRange(starts[move.gpu_id], None),
        )
        for move in done
        if move.project
    )
