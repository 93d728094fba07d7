"""The history of readings by whole days: made ahead, dropped when old, with the surveys of their time."""

import re
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, ForeignObjectRel, OuterRef

from inventory.models import Survey

DAYS_AHEAD = 7  # a week of a broken beat or a long holiday costs nothing
SURVEYS_AT_ONCE = 10_000  # a fleet of ten slices makes 3,600 in the hour between two calls; some 0.3 s of work
PARTITION = re.compile(r"inventory_readinghistory_([0-9]{8})")

STRAY_DAYS = "SELECT DISTINCT (requested_at AT TIME ZONE 'UTC')::date FROM ONLY inventory_readinghistory_rest"
# A partition for a day of which the rest has rows is refused, so they are taken out first and put back into it.
TAKE_OUT = """
CREATE TEMPORARY TABLE stray AS
WITH gone AS (
  DELETE FROM inventory_readinghistory_rest WHERE requested_at >= %(begin)s AND requested_at < %(end)s RETURNING *
) SELECT * FROM gone
"""
PARTITIONS = """
SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
WHERE inhparent = 'inventory_readinghistory'::regclass
"""


def keep_history(*, today: date | None = None) -> None:
    """There is a partition for each of the next days, and none that is older than READINGS_KEPT_DAYS.

    Each day is a transaction of its own: where a lock is not to be had, the next call goes on.
    """
    today = today or datetime.now(UTC).date()
    oldest = today - timedelta(days=settings.READINGS_KEPT_DAYS)
    days = {today + timedelta(days=ahead) for ahead in range(-1, DAYS_AHEAD + 1)}
    strays = _stray_days()
    for day in sorted(days | strays):
        if day >= oldest:
            _make_day(day, has_strays=day in strays)
    for day in sorted(_partition_days() | strays):
        if day < oldest:
            _forget_day(day)


def forget_surveys(*, now: datetime | None = None) -> int:
    """Surveys older than the readings that are kept are gone with their faults, unless a plan names them; how many."""
    oldest = (now or datetime.now(UTC)) - timedelta(days=settings.READINGS_KEPT_DAYS)
    old = Survey.objects.filter(finished_at__lt=oldest)
    for relation in Survey._meta.get_fields(include_hidden=True):
        # Facts do not know who builds on a survey, only that somebody does.
        if isinstance(relation, ForeignObjectRel) and relation.on_delete is models.PROTECT:
            builders = relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")})
            old = old.exclude(Exists(builders))
    batch = list(old.order_by("pk").values_list("pk", flat=True)[:SURVEYS_AT_ONCE])
    Survey.objects.filter(pk__in=batch).delete()
    return len(batch)


def _make_day(day: date, *, has_strays: bool) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        if has_strays:
            # Nobody may add strays between taking them out and making the partition. Parent first, as inserts do.
            cursor.execute("LOCK TABLE ONLY inventory_readinghistory IN SHARE UPDATE EXCLUSIVE MODE")
            cursor.execute("LOCK TABLE inventory_readinghistory_rest IN ACCESS EXCLUSIVE MODE")
            cursor.execute(TAKE_OUT, _bounds(day))
        cursor.execute("SELECT inventory_make_day(%s)", [day])
        if has_strays:
            cursor.execute("INSERT INTO inventory_readinghistory SELECT * FROM stray")
            cursor.execute("DROP TABLE stray")


def _forget_day(day: date) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS inventory_readinghistory_{day:%Y%m%d}")
        cursor.execute(
            "DELETE FROM inventory_readinghistory_rest WHERE requested_at >= %(begin)s AND requested_at < %(end)s",
            _bounds(day),
        )


def _bounds(day: date) -> dict[str, datetime]:
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return {"begin": begin, "end": begin + timedelta(days=1)}


def _stray_days() -> set[date]:
    with connection.cursor() as cursor:
        cursor.execute(STRAY_DAYS)
        return {day for (day,) in cursor.fetchall()}


def _partition_days() -> set[date]:
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS)
        found = (PARTITION.fullmatch(name) for (name,) in cursor.fetchall())
        return {datetime.strptime(match[1], "%Y%m%d").replace(tzinfo=UTC).date() for match in found if match}
