"""The filters of the API's lists; each is a query parameter of that name."""

import django_filters as filters
from django.db.models import Q, QuerySet

from allocations.models import Grant, Move, Pitch, Plan, Project, Split
from allocations.queries.fleet import Doing
from inventory.models import Arrival, Event, Finding, Gpu, Node


class NodeFilter(filters.FilterSet):
    """Nodes by place, model and whether they answer."""

    site = filters.CharFilter()
    island = filters.CharFilter()
    model = filters.CharFilter("model__name")
    silent = filters.BooleanFilter("silent_since", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Node
        fields: list[str] = []


class GpuFilter(filters.FilterSet):
    """GPUs by what they do, where they are, and whose they are (held by, or assigned to)."""

    doing = filters.ChoiceFilter(choices=Doing.choices)
    model = filters.CharFilter("model__name")
    node = filters.CharFilter("node__name")
    island = filters.CharFilter("node__island")
    project = filters.CharFilter(method="of_project")

    class Meta:
        model = Gpu
        fields: list[str] = []

    def of_project(self, rows: QuerySet[Gpu], name: str, value: str) -> QuerySet[Gpu]:
        """Those that the project of that slug holds or shall hold."""
        return rows.filter(Q(holder=value) | Q(assigned_to=value))


class ProjectFilter(filters.FilterSet):
    """Projects by division and state."""

    division = filters.CharFilter("division__slug")
    state = filters.ChoiceFilter(choices=Project.State.choices)

    class Meta:
        model = Project
        fields: list[str] = []


class PitchFilter(filters.FilterSet):
    """Pitches by project, model, pitcher (a login) and state."""

    project = filters.CharFilter("project__slug")
    model = filters.CharFilter("model__name")
    pitcher = filters.CharFilter("pitcher__username")
    state = filters.ChoiceFilter(choices=Pitch.State.choices)

    class Meta:
        model = Pitch
        fields: list[str] = []


class SplitFilter(filters.FilterSet):
    """Splits by state."""

    state = filters.ChoiceFilter(choices=Split.State.choices)

    class Meta:
        model = Split
        fields: list[str] = []


class GrantFilter(filters.FilterSet):
    """Grants by project, model and the instant at which they are in force."""

    project = filters.CharFilter("project__slug")
    model = filters.CharFilter("model__name")
    at = filters.IsoDateTimeFilter(method="in_force")

    class Meta:
        model = Grant
        fields: list[str] = []

    def in_force(self, rows: QuerySet[Grant], name: str, value: object) -> QuerySet[Grant]:
        """Those that run at that instant."""
        return rows.filter(starts_at__lte=value, ends_at__gt=value)


class PlanFilter(filters.FilterSet):
    """Plans by purpose, grant, and whether they were committed."""

    purpose = filters.ChoiceFilter(choices=Plan.Purpose.choices)
    grant = filters.UUIDFilter("grant__public_id")
    committed = filters.BooleanFilter("generation", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Plan
        fields: list[str] = []


class MoveFilter(filters.FilterSet):
    """Moves by plan, state, node, the project they go to, and whether they are still under way."""

    plan = filters.UUIDFilter("plan__public_id")
    state = filters.ChoiceFilter(choices=Move.State.choices)
    node = filters.CharFilter("gpu__node__name")
    to = filters.CharFilter("project__slug")
    open = filters.BooleanFilter(method="under_way")

    class Meta:
        model = Move
        fields: list[str] = []

    def under_way(self, rows: QuerySet[Move], name: str, value: bool) -> QuerySet[Move]:
        """Those that are open, or those that are not."""
        return rows.filter(state__in=Move.OPEN) if value else rows.exclude(state__in=Move.OPEN)


class FindingFilter(filters.FilterSet):
    """Findings by place, code and how bad, and whether they have not ended."""

    node = filters.CharFilter("node__name")
    island = filters.CharFilter("node__island")
    gpu = filters.CharFilter("gpu__uuid")
    code = filters.CharFilter()
    severity = filters.ChoiceFilter(choices=Finding.Severity.choices)
    open = filters.BooleanFilter("ended_at", lookup_expr="isnull")

    class Meta:
        model = Finding
        fields: list[str] = []


class ArrivalFilter(filters.FilterSet):
    """Arrivals by model, and whether they are still to come."""

    model = filters.CharFilter("model__name")
    coming = filters.BooleanFilter(method="to_come")

    class Meta:
        model = Arrival
        fields: list[str] = []

    def to_come(self, rows: QuerySet[Arrival], name: str, value: bool) -> QuerySet[Arrival]:
        """Those that are still to come, or those that came or were cancelled."""
        coming = Q(arrived_at=None, cancelled_at=None)
        return rows.filter(coming) if value else rows.exclude(coming)


class EventFilter(filters.FilterSet):
    """Events by verb, subject and actor, and by time."""

    verb = filters.CharFilter()
    kind = filters.CharFilter("subject_kind")
    subject = filters.CharFilter("subject_id")
    actor = filters.CharFilter()
    since = filters.IsoDateTimeFilter("at", lookup_expr="gte")
    until = filters.IsoDateTimeFilter("at", lookup_expr="lt")

    class Meta:
        model = Event
        fields: list[str] = []
