"""Decisions about one thing are made one after the other: what they lock, and what a person hears who cannot wait."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, models, transaction
from django.db.models import Count, Subquery, Value
from django.utils.translation import gettext as _
from psycopg.errors import DeadlockDetected, LockNotAvailable

from allocations.errors import Stale
from allocations.models import Division, Project, ProjectTerms, Share, Target
from inventory.models import GpuModel

P = ParamSpec("P")
R = TypeVar("R")


def one_at_a_time(service: Callable[P, R]) -> Callable[P, R]:
    """`service` in a transaction of its own; a lock that is not to be had in the database's `lock_timeout` is Stale."""

    @wraps(service)
    def decided(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with transaction.atomic():
                return service(*args, **kwargs)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                raise Stale(
                    _("Somebody else decides on this at this moment. Nothing was changed; look again.")
                ) from error
            raise

    return decided


def lock_row(row: models.Model) -> None:
    """`row` shows what the database says now, and nobody else changes it until the transaction ends."""
    # Not FOR UPDATE: rows that only refer to this one may still be written.
    rows = type(row)._default_manager.select_for_update(no_key=True, of=("self",))
    # Only rows that never change come along: who waits for the lock reads the others as they were before it.
    lasting = getattr(type(row), "LASTING", ())
    row.refresh_from_db(from_queryset=rows.select_related(*lasting) if lasting else rows)


def lock_shares(model: GpuModel | None = None) -> None:
    """Promises of that model (of every model: None) are made one at a time until the transaction ends.

    Locks the shares of all divisions in pk order, since a promise to one takes from the healthy GPUs of all. A share
    that is missing is made.
    """
    models_in_order = [model] if model else list(GpuModel.objects.order_by("pk"))
    shares = Share.objects.filter(model__in=models_in_order).order_by("pk").select_for_update(no_key=True)
    divisions = Division.objects.order_by().annotate(all=Value(1)).values("all").annotate(count=Count("pk"))
    locked = list(shares.values_list("pk", Subquery(divisions.values("count"))))
    if not locked or len(locked) < locked[0][1] * len(models_in_order):
        pairs = [(division, each) for each in models_in_order for division in Division.objects.order_by("pk")]
        Share.objects.bulk_create((Share(division=d, model=m) for d, m in pairs), ignore_conflicts=True)
        list(shares.values_list("pk"))


def lock_target() -> Target:
    """The one target, as it is now; commits of plans are made one at a time until the transaction ends."""
    Target.objects.get_or_create(pk=1)
    return Target.objects.select_for_update().get(pk=1)


def lock_quotas(project: Project) -> bool:
    """Promises to a project with a quota are made one at a time, whatever the model; after `lock_shares`.

    Whether it has any.
    """
    rows = ProjectTerms.objects.filter(project=project, quota_gpus__isnull=False).order_by("pk")
    return bool(rows.select_for_update(no_key=True).values_list("pk"))
