"""The fleet and the needs as planning sees them: rows become plain values, each GPU with the right it is held by."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, F
from django.utils import timezone

from allocations import planner
from allocations.models import Grant, Move, Project, ProjectTerms
from allocations.queries.lending import with_due_gpus
from allocations.queries.plans import assignments_now, needs, target, with_assigned_gpus
from inventory import queries as facts
from inventory.models import Cordon, Survey

DRIFT = "drift"  # the planner's `detail` for a GPU that another holder has than the one it is assigned to

_UNIT_COLUMNS = (
    "pk", "uuid", "node__name", "node_id", "node__island", "node__site", "node__labels", "model__name", "first_seen_at",
    "lost_at", "reading__requested_at", "reading__holder", "reading__running",
)  # fmt: skip


def build_snapshot(gpus: Collection[int] | None = None, *, now: datetime | None = None) -> planner.Snapshot:
    """The fleet (or only `gpus`, by pk) as planning sees it now, in a constant number of queries.

    The target's generation is read first: what is committed while the rest is read is newer than the snapshot says,
    and the commit of a plan made from it finds out.
    """
    generation = target().generation
    survey_id = Survey.objects.order_by("-pk").values_list("pk", flat=True).first()
    now = now or timezone.now()
    units = facts.units() if gpus is None else facts.units().filter(pk__in=gpus)
    rows = list(units.order_by("pk").values_list(*_UNIT_COLUMNS))
    judge = _Judge(now, gpus)
    healthy: Mapping[int, int] = dict(
        facts.units().filter(lost_at=None).order_by().values_list("node").annotate(gpus=Count("pk"))
    )
    return planner.Snapshot(
        units=tuple(judge.free_surplus([judge.unit(row, healthy) for row in rows])),
        generation=generation,
        survey_id=survey_id,
        taken_at=now,
    )


def need_of(grant: Grant, *, now: datetime | None = None) -> planner.Need | None:
    """What the grant still lacks, as planning sees it; None when it lacks nothing or is no need."""
    row: Any = needs(now).filter(pk=grant.pk).first()
    if row is None:
        return None
    places = (
        assignments_now()
        .filter(grant=grant, gpu__retired_at=None, gpu__node__retired_at=None)
        .values_list("gpu__node__name", "gpu__node__island", "gpu__node__site")
        .annotate(gpus=Count("pk"))
        .order_by("gpu__node__name")
    )
    return planner.Need(
        grant_id=row.pk,
        project=row.project.slug,
        model=row.model.name,
        gpus=row.missing_gpus,
        whole_nodes=row.whole_nodes,
        one_island=row.one_island,
        labels=_as_marks(row.required_labels),
        starts_at=row.starts_at,
        already_on=tuple(planner.Place(*place) for place in places),
    )


def _as_marks(labels: Mapping[str, object]) -> frozenset[str]:
    return frozenset(f"{key}={value}" for key, value in labels.items())


def _surplus(now: datetime) -> dict[int, int]:
    """Grant pk -> GPUs assigned to it above what it has a right to now."""
    grants: Any = with_assigned_gpus(with_due_gpus(Grant.objects.filter(starts_at__lte=now, ends_at__gt=now), now))
    over = grants.filter(assigned_gpus__gt=F("due_gpus")).order_by()
    return {pk: assigned - due for pk, assigned, due in over.values_list("pk", "assigned_gpus", "due_gpus")}


class _Assigned(NamedTuple):
    project: str
    project_id: int
    state: str
    releases_at: datetime | None
    grant_id: int | None
    grant_ends_at: datetime | None


class _Judge:
    """Says of each GPU why it may be taken or may not, from rows read once."""

    def __init__(self, now: datetime, gpus: Collection[int] | None) -> None:
        self.now = now
        self.fresh_after = facts.fresh_after(now)
        assigned, moves = assignments_now(), Move.objects.filter(state__in=Move.OPEN)
        if gpus is not None:
            assigned, moves = assigned.filter(gpu__in=gpus), moves.filter(gpu__in=gpus)
        columns = (
            "project__slug",
            "project_id",
            "project__state",
            "project__releases_at",
            "grant_id",
            "grant__ends_at",
        )
        rows: Iterable[tuple[Any, ...]] = assigned.values_list("gpu_id", *columns)
        self.assigned = {gpu_id: _Assigned(*values) for gpu_id, *values in rows}
        self.surplus = _surplus(now)
        self.moving = set(moves.values_list("gpu_id", flat=True))
        self.cordoned = set(Cordon.objects.filter(during__contains=now).values_list("node_id", flat=True))
        self.protected = set(
            ProjectTerms.objects.filter(protected=True, during__contains=now).values_list("project_id", flat=True)
        )

    def unit(self, row: tuple[Any, ...], healthy: Mapping[int, int]) -> planner.Unit:
        gpu_id, uuid, node, node_id, island, site, labels, model, first_seen_at, *observation = row
        lost_at, requested_at, observed, running = observation
        holding = self.assigned.get(gpu_id)
        source, detail, releases_at = self._source(gpu_id, node_id, lost_at, requested_at, observed, running)
        return planner.Unit(
            gpu_id=gpu_id,
            uuid=uuid,
            node=node,
            node_gpus=healthy.get(node_id, 0),
            island=island,
            site=site,
            model=model,
            labels=_as_marks(facts.labels_of(site, labels)),
            source=source,
            holder=holding.project if holding else "",
            grant_id=holding.grant_id if holding else None,
            running=running,
            seen_age_s=max(0.0, (self.now - (requested_at or first_seen_at)).total_seconds()),
            releases_at=releases_at,
            detail=detail,
        )

    def free_surplus(self, units: list[planner.Unit]) -> list[planner.Unit]:
        """What a grant has above its due, since it became smaller or is lent just now, is its project's no more.

        The empty ones first, then node by node. Where only some GPUs are looked at, those that a grant keeps outside of
        them are counted, too.
        """
        spare = dict(self.surplus)
        over = set()
        for unit in sorted(units, key=lambda each: (each.running != 0, each.node, each.gpu_id)):
            if unit.source is planner.Source.HELD and unit.grant_id and spare.get(unit.grant_id, 0) > 0:
                spare[unit.grant_id] -= 1
                over.add(unit.gpu_id)
        return [replace(unit, source=planner.Source.ENDED) if unit.gpu_id in over else unit for unit in units]

    def _source(
        self,
        gpu_id: int,
        node_id: int,
        lost_at: datetime | None,
        requested_at: datetime | None,
        observed: str | None,
        running: int | None,
    ) -> tuple[planner.Source, str, datetime | None]:
        holding = self.assigned.get(gpu_id)
        detail = ""
        if lost_at is not None:
            detail = planner.Unusable.LOST
        elif node_id in self.cordoned:
            detail = planner.Unusable.CORDONED
        elif gpu_id in self.moving:
            return planner.Source.MOVING, "", None
        elif requested_at is None or requested_at < self.fresh_after:
            detail = planner.Unusable.STALE
        elif observed is None or (holding is None and running is None):
            detail = planner.Unusable.UNKNOWN
        elif holding is None:
            detail = planner.Unusable.GHOST if observed or running else ""
        elif observed != holding.project:
            detail = DRIFT
        elif holding.project_id in self.protected and holding.state != Project.State.ENDED:
            detail = planner.Unusable.PROTECTED
        if detail:
            return planner.Source.UNUSABLE, detail, None
        return self._right(holding)

    def _right(self, holding: _Assigned | None) -> tuple[planner.Source, str, datetime | None]:
        """By what right the holder has it, and until when."""
        if holding is None:
            return planner.Source.FREE, "", None
        if holding.state == Project.State.ENDED or (holding.grant_ends_at and holding.grant_ends_at <= self.now):
            return planner.Source.ENDED, "", holding.grant_ends_at
        if holding.state == Project.State.WINDING_DOWN:
            return planner.Source.WINDING_DOWN, "", holding.releases_at
        return planner.Source.HELD, "", holding.grant_ends_at
