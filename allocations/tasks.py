"""Work that workers do on the timer: each reads from the database what to do, so a lost or doubled call is no harm."""

from celery import shared_task
from django.db import InterfaceError, OperationalError

from allocations import access, alarms, changes, emergencies, executor, idle, loans, outbox, pitches, reminders, results

# A database that restarts or a lock that is not to be had is one line in the log and not a stack trace at each tick.
PASSING = (OperationalError, InterfaceError)


@shared_task(ignore_result=True, throws=PASSING)
def deliver() -> None:
    """Everything that is due has left the outbox, or waits for the mail server."""
    outbox.deliver_due()


@shared_task(ignore_result=True, throws=PASSING)
def execute() -> None:
    """Every open move is as far as its donor, its node and its readings let it be."""
    executor.run_pass()


@shared_task(ignore_result=True, throws=PASSING)
def admit() -> None:
    """Who works in a project is on its list, and nodes that answer have the newest one."""
    access.refresh()
    executor.tell_access()


@shared_task(ignore_result=True, throws=PASSING)
def tend() -> None:
    """What the clock does to promises has happened, and what it asks or shows has been asked and shown."""
    alarms.tell_troubles()
    idle.tend()
    changes.tend()
    emergencies.tend()
    loans.tend()
    results.tend()
    pitches.point_out_waitlisted()


@shared_task(ignore_result=True, throws=PASSING)
def remind() -> None:
    """Whoever lets something wait has heard of it, once for each time; nothing is decided."""
    reminders.remind()
