"""What the clock starts for the facts. Each call reads from the database what to do; the next tick is the retry."""

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from inventory import judging, modes, rollups, survey, trail

# A database that restarts or a lock that is not to be had is one line in the log and not a stack trace at each tick.
PASSING = (OperationalError, InterfaceError)


@shared_task(ignore_result=True, throws=PASSING)
def poll() -> None:
    """The fleet is asked: one slice here, the others by whoever is free. A message a tick late is void."""
    mine, *others = slices = survey.slices_in_turn(now=timezone.now())
    for slice_no in others:
        wait_s = survey.jitter_s()
        poll_slice.apply_async((slice_no, len(slices)), countdown=wait_s, expires=settings.POLL_INTERVAL_S)
    survey.survey_slice(mine, len(slices))


@shared_task(ignore_result=True, throws=PASSING)
def poll_slice(slice_no: int, slices: int) -> None:
    """One slice of the fleet is asked."""
    survey.survey_slice(slice_no, slices)


@shared_task(ignore_result=True, throws=PASSING)
def tell_modes() -> None:
    """Nodes that work otherwise than wanted are told."""
    modes.tell_modes()


@shared_task(ignore_result=True, throws=PASSING)
def seal() -> None:
    """Events that have no seal yet get their link of the chain."""
    trail.seal()


@shared_task(ignore_result=True, throws=PASSING)
def judge() -> None:
    """Every GPU has its verdict."""
    judging.judge_units()


@shared_task(ignore_result=True, throws=PASSING)
def roll_up() -> None:
    """What was read is summed up by spans of time."""
    rollups.roll_up()


@shared_task(ignore_result=True, throws=PASSING)
def housekeeping() -> None:
    """Partitions of history are made ahead and dropped when old, and so are surveys."""
    survey.keep_history()
    survey.forget_surveys()
