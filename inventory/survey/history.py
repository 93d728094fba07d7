"""History in partitions: made ahead, dropped whole when old, with the surveys of their time."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, ForeignObjectRel, OuterRef

from inventory.models import Survey

DAYS_AHEAD = 7  # a week of a broken beat or a long holiday costs nothing
SURVEYS_AT_ONCE = 10_000  # a fleet of ten slices makes 3,600 in the hour between two calls; some 0.3 s of work


class Kept(NamedTuple):
    """A table in partitions by UTC time: its column of the instant, and the setting of how many days it is kept."""

    table: str
    at: str
    setting: str
    by_month: bool = False

    def first(self, day: date) -> date:
        """The first day of the partition in which `day` lies."""
        return day.replace(day=1) if self.by_month else day

    def after(self, first: date) -> date:
        """The first day of the next partition."""
        return (first + timedelta(days=31)).replace(day=1) if self.by_month else first + timedelta(days=1)

    def partition(self, first: date) -> str:
        """Its name."""
        return f"{self.table}_{first:%Y%m}" if self.by_month else f"{self.table}_{first:%Y%m%d}"


KEPT = (
    Kept("inventory_readinghistory", "requested_at", "READINGS_KEPT_DAYS"),
    Kept("inventory_usage5min", "begins_at", "USAGE_5MIN_KEPT_DAYS"),
    Kept("inventory_usagehour", "begins_at", "USAGE_HOURS_KEPT_DAYS", by_month=True),
)


def keep_history(*, today: date | None = None) -> None:
    """There is a partition for each of the next days, and none that is older than its table is kept for.

    Each partition is a transaction of its own: where a lock is not to be had, the next call goes on.
    """
    today = today or datetime.now(UTC).date()
    for kept in KEPT:
        _keep(kept, today)


def _keep(kept: Kept, today: date) -> None:
    oldest = kept.first(today - timedelta(days=getattr(settings, kept.setting)))
    wanted = {kept.first(today + timedelta(days=ahead)) for ahead in range(-1, DAYS_AHEAD + 1)}
    there, strays = _partitions(kept), _stray_partitions(kept)
    for first in sorted(wanted | strays):
        if first >= oldest and (first in strays or first not in there):
            _make(kept, first, has_strays=first in strays)
    for first in sorted(there | strays):
        if first < oldest:
            _forget(kept, first)


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


def _make(kept: Kept, first: date, *, has_strays: bool) -> None:
    rest = f"{kept.table}_rest"
    with transaction.atomic(), connection.cursor() as cursor:
        if has_strays:
            # Nobody may add strays between taking them out and making the partition. Parent first, as inserts do.
            cursor.execute(f"LOCK TABLE ONLY {kept.table} IN SHARE UPDATE EXCLUSIVE MODE")
            cursor.execute(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE")
            # A partition for a time of which the rest has rows is refused: they are taken out, and put back into it.
            cursor.execute(
                f"CREATE TEMPORARY TABLE stray AS WITH gone AS (DELETE FROM {rest} WHERE {_within(kept)} RETURNING *) "  # noqa: S608
                "SELECT * FROM gone",
                _bounds(kept, first),
            )
        begin, end = _bounds(kept, first).values()
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {kept.partition(first)} PARTITION OF {kept.table} "
            f"FOR VALUES FROM ('{begin.isoformat()}') TO ('{end.isoformat()}')"
        )
        if has_strays:
            cursor.execute(f"INSERT INTO {kept.table} SELECT * FROM stray")  # noqa: S608
            cursor.execute("DROP TABLE stray")


def _forget(kept: Kept, first: date) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {kept.partition(first)}")
        cursor.execute(f"DELETE FROM {kept.table}_rest WHERE {_within(kept)}", _bounds(kept, first))  # noqa: S608


def _within(kept: Kept) -> str:
    return f"{kept.at} >= %(begin)s AND {kept.at} < %(end)s"


def _bounds(kept: Kept, first: date) -> dict[str, datetime]:
    return {"begin": _midnight(first), "end": _midnight(kept.after(first))}


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _stray_partitions(kept: Kept) -> set[date]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT ({kept.at} AT TIME ZONE 'UTC')::date FROM ONLY {kept.table}_rest")  # noqa: S608
        return {kept.first(day) for (day,) in cursor.fetchall()}


def _partitions(kept: Kept) -> set[date]:
    pattern = re.compile(f"{kept.table}_([0-9]{{6,8}})")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid "
            "WHERE inhparent = %s::regclass",
            [kept.table],
        )
        found = [match[1] for (name,) in cursor.fetchall() if (match := pattern.fullmatch(name))]
    return {date(int(text[:4]), int(text[4:6]), int(text[6:] or 1)) for text in found}
