"""Work that workers do on the timer: each reads from the database what to do, so a lost or doubled call is no harm."""

from celery import shared_task

from allocations import outbox


@shared_task(ignore_result=True)
def deliver() -> None:
    """Everything that is due has left the outbox, or waits for the mail server."""
    outbox.deliver_due()
