"""The fleet in slices: which nodes a poll asks now, one survey of a slice at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from random import shuffle, uniform

from django.conf import settings
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from inventory.models import Node, Survey
from inventory.queries import polled_nodes
from inventory.survey.surveying import survey_nodes

# About 1 s of CPU and a transaction of 4,000 readings: a slice ends within one interval also when some of its nodes
# hang, and the fleet of most labs is one or two messages.
SLICE_NODES = 500
# A node that reboots is back within minutes and is asked at every tick. One that stays away longer costs its timeout
# (3 to 5 s of one of 64 places) at each tick: every sixth is often enough then.
SILENT_FOR = timedelta(minutes=5)
SILENT_EVERY = 6
# Of an interval: enough to part the slices, too little to make a reading old.
JITTER_SHARE = 0.1
SURVEY_LOCK = 0x50_11  # first half of an advisory lock; the second is the slice


def slices_in_turn(*, now: datetime) -> list[int]:
    """The numbers of the slices that the polled nodes make, at least one; another one is first in each interval.

    So each has its turn also where a worker is so slow that only the first is done before the next tick.
    """
    slices = max(1, -(-polled_nodes().count() // SLICE_NODES))
    return [(_tick(now) + place) % slices for place in range(slices)]


def due_nodes(slice_no: int, slices: int, *, now: datetime) -> QuerySet[Node]:
    """The nodes of one slice that are asked at `now`, by id; those silent for long only in every sixth interval.

    Slices are by id modulo `slices`, so that a node stays in its slice when others come and go.
    """
    in_turn = Q(silent_since=None) | Q(silent_since__gt=now - SILENT_FOR) | Q(turn=0)
    nodes = polled_nodes().annotate(part=F("pk") % slices, turn=(F("pk") + _tick(now)) % SILENT_EVERY)
    return nodes.filter(in_turn, part=slice_no).order_by("pk")


def survey_slice(slice_no: int, slices: int) -> Survey | None:
    """The due nodes of the slice are surveyed; None if there are none, or another worker is at this slice right now."""
    with _alone(slice_no) as alone:
        nodes = list(due_nodes(slice_no, slices, now=timezone.now())) if alone else []
        # In another order each time: no node is always asked at the same instant as its neighbours in the rack.
        shuffle(nodes)
        return survey_nodes(nodes) if nodes else None


def jitter_s() -> float:
    """How long another slice than the first waits before it begins, so that they do not all ask at one instant."""
    return uniform(0, JITTER_SHARE * settings.POLL_INTERVAL_S)  # noqa: S311 - nothing secret


def _tick(now: datetime) -> int:
    return int(now.timestamp()) // int(settings.POLL_INTERVAL_S)


@contextmanager
def _alone(slice_no: int) -> Iterator[bool]:
    """Whether nobody else is at this slice. A killed worker holds up nobody: its connection takes the lock along."""
    # A lock of the session, not of a transaction: the nodes are asked while it is held.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [SURVEY_LOCK, slice_no])
        [alone] = cursor.fetchone()
    try:
        yield alone
    finally:
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [SURVEY_LOCK, slice_no])
