"""One pass over all that has a due time; the clock calls it, late, twice or twice at once as it may be."""

from collections.abc import Callable

import structlog
from django.db.models import QuerySet
from django.utils import timezone

from allocations.errors import AllocationsError
from allocations.reminders import answers, changes, pitches

log = structlog.get_logger(__name__)


def remind() -> int:
    """Everybody who is due to hear has heard, once for each time; returns about how many things.

    Each row is locked, looked at again and stamped in the transaction that writes the notices: whoever comes second
    finds the stamp, and a worker that dies leaves neither. What is locked by somebody waits for the next pass.
    """
    now = timezone.now()
    jobs: list[tuple[QuerySet, Callable[..., bool]]] = [
        (pitches.candidates(now), pitches.remind_of),
        (answers.candidates(now), answers.remind_of),
        (changes.candidates(now), changes.remind_of),
    ]
    return sum(_done(job, pk) for rows, job in jobs for pk in rows.order_by("pk").values_list("pk", flat=True))


def _done(job: Callable[..., bool], pk: int) -> bool:
    try:
        return job(pk)
    except AllocationsError as refusal:
        log.info("reminder_put_off", pk=pk, why=str(refusal))
        return False
