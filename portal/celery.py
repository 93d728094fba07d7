"""The Celery app and the whole beat schedule.

The broker carries hints only: every tick reads what to do from the database, so a lost message changes nothing.
"""

import os

from celery import Celery
from celery.signals import setup_logging, worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

from django.conf import settings

from portal.services.tether import die_with_parent

TIME_LIMIT_S = 300  # a task that takes longer hangs; must stay below the visibility timeout
SOFT_TIME_LIMIT_S = 240
# A connection is kept to each node, some 40 KiB: 0.6 GB for 12,500. A slot that is replaced opens all of them anew.
WORKER_MOST_KIB = 1_200_000
VISIBILITY_TIMEOUT_S = 900  # a message of a lost worker comes back after this at the latest
APPLY_INTERVAL_S = 3.0  # how soon a commit, a consent or a new reading moves a move on
OUTBOX_INTERVAL_S = 5.0
ADMIT_INTERVAL_S = 10.0  # a leaver's access ends with the next poll or so
TEND_INTERVAL_S = 60.0  # nobody waits for it: what ends on its second does so by its interval
REMIND_INTERVAL_S = 60.0
SEAL_INTERVAL_S = 30.0
JUDGE_INTERVAL_S = 60.0  # a verdict rests on a quarter of an hour; 100,000 GPUs take some seconds
ROLL_UP_INTERVAL_S = 300.0  # the length of the shortest span
HOUSEKEEPING_INTERVAL_S = 3600.0

app = Celery("allot", broker=settings.REDIS_URL, set_as_current=True)
app.conf.update(
    broker_transport_options={
        "visibility_timeout": VISIBILITY_TIMEOUT_S,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,  # a killed worker's tasks come back in seconds
    },
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_max_tasks_per_child=2000,
    worker_max_memory_per_child=WORKER_MOST_KIB,
    worker_hijack_root_logger=False,
    task_time_limit=TIME_LIMIT_S,
    task_soft_time_limit=SOFT_TIME_LIMIT_S,
    task_ignore_result=True,
    task_default_queue="default",
    task_routes={
        "inventory.tasks.*": {"queue": "poll"},
        "allocations.tasks.execute": {"queue": "apply"},
        "allocations.tasks.admit": {"queue": "apply"},
    },
    task_serializer="json",
    accept_content=["json"],
    timezone="UTC",
    enable_utc=True,
)


def every(task: str, seconds: float) -> dict[str, object]:
    """A beat entry whose hint is dropped when the next one is due."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds}}


app.conf.beat_schedule = {
    "poll": every("inventory.tasks.poll", float(settings.POLL_INTERVAL_S)),
    "tell_modes": every("inventory.tasks.tell_modes", float(settings.POLL_INTERVAL_S)),
    "execute": every("allocations.tasks.execute", APPLY_INTERVAL_S),
    "admit": every("allocations.tasks.admit", ADMIT_INTERVAL_S),
    "deliver": every("allocations.tasks.deliver", OUTBOX_INTERVAL_S),
    "tend": every("allocations.tasks.tend", TEND_INTERVAL_S),
    "remind": every("allocations.tasks.remind", REMIND_INTERVAL_S),
    "seal": every("inventory.tasks.seal", SEAL_INTERVAL_S),
    "judge": every("inventory.tasks.judge", JUDGE_INTERVAL_S),
    "roll_up": every("inventory.tasks.roll_up", ROLL_UP_INTERVAL_S),
    "housekeeping": every("inventory.tasks.housekeeping", HOUSEKEEPING_INTERVAL_S),
}
app.autodiscover_tasks()


@setup_logging.connect
def use_django_logging(**_kwargs: object) -> None:
    """Django's logging settings hold in workers too."""


@worker_process_init.connect
def go_with_the_worker(**_kwargs: object) -> None:
    """A slot of a killed worker does not go on with its task beside the next worker."""
    die_with_parent()
