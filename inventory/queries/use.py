"""Whether a GPU is used: the one definition for pages, standings and the ledger's seconds.

The judgement of the last quarter of an hour says it; where nobody judged lately, the newest reading does, by the line
that rollups draw as well.
"""

from datetime import datetime, timedelta

from django.db.models import Q

from inventory.activity import BUSY_FROM_PCT
from inventory.models import Activity
from inventory.queries.freshness import fresh_after

# Rounds come each minute; two may be lost.
VERDICT_FRESH_FOR = timedelta(minutes=3)


def judged_as(*states: Activity.State, gpu: str = "", now: datetime) -> Q:
    """GPUs that were judged so lately. `gpu`: the way to the GPU, as `gpu__`."""
    return Q((f"{gpu}activity__judged_at__gte", now - VERDICT_FRESH_FOR), (f"{gpu}activity__state__in", states))


def use_is_known(*, gpu: str = "", now: datetime) -> Q:
    """GPUs of which a fresh reading tells the use."""
    told = Q((f"{gpu}reading__util_pct__isnull", False)) | Q((f"{gpu}reading__engine_pct__isnull", False))
    return Q((f"{gpu}reading__requested_at__gte", fresh_after(now))) & told


def is_busy(*, gpu: str = "") -> Q:
    """GPUs whose newest reading shows work, as `activity.Reading.is_busy`."""
    lines = (f"{gpu}reading__{value}__gte" for value in ("util_pct", "engine_pct"))
    return Q(*((line, BUSY_FROM_PCT) for line in lines), _connector=Q.OR)


def is_used(*, gpu: str = "", now: datetime) -> Q:
    """GPUs that work: judged active, or busy by the newest reading where no verdict stands; never without a reading."""
    rest = (state for state in Activity.State if state not in (Activity.State.ACTIVE, Activity.State.UNKNOWN))
    works = judged_as(Activity.State.ACTIVE, gpu=gpu, now=now) | (
        is_busy(gpu=gpu) & _not_judged_as(*rest, gpu=gpu, now=now)
    )
    return use_is_known(gpu=gpu, now=now) & works


def _not_judged_as(*states: Activity.State, gpu: str, now: datetime) -> Q:
    """GPUs without such a verdict. Written without NOT, which Django makes a query of its own for each row."""
    none = Q((f"{gpu}activity__isnull", True))
    old = Q((f"{gpu}activity__judged_at__lt", now - VERDICT_FRESH_FOR))
    others = [state for state in Activity.State if state not in states]
    return none | old | Q((f"{gpu}activity__state__in", others))
