"""The reshuffle desk: needs, donors, plans; live moves, drift, what was done lately."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from allocations import queries, rules
from allocations.models import Grant, IdleCase, Move, Person, Plan
from allocations.queries import donors
from allocations.queries import lanes as live_moves
from portal import why
from portal.problems import Problem
from portal.views.plan_story import PlanStory

HOUR = timedelta(hours=1)
PROPOSALS_FRESH = timedelta(days=1)  # an older one rests on a fleet of yesterday: it is proposed again
PROPOSALS_SHOWN = 6
RECENT_SHOWN = 8
COMING_WITHIN = timedelta(days=14)
COMING_SHOWN = 20
PARTS = frozenset({"needs", "donors", "proposals", "lanes", "idle", "troubles", "recent"})


@dataclass(frozen=True)
class NeedRow:
    """A grant that lacks GPUs, and what the wait has cost: GPU-hours promised and not had."""

    grant: Grant
    waiting_gpu_hours: float
    starts_later: bool


class Drift(NamedTuple):
    """GPUs of one node that show one holder and are meant for another ("" nobody)."""

    node: str
    model: str
    holder: str
    intended: str


@dataclass(frozen=True)
class Lane:
    """The groups of moves in one state."""

    state: str
    label: str
    gpus: int
    groups: list[live_moves.Group]


class Board:
    """The desk as one viewer sees it; each part is read when a template asks for it."""

    def __init__(self, viewer: Person, plan_id: str) -> None:
        self._viewer = viewer
        self._plan_id = plan_id
        self.now: datetime = timezone.now()
        self.may_propose = rules.can(viewer, "propose_plan")

    @cached_property
    def address(self) -> str:
        """Where its parts are asked for again, also on a page that answered a form."""
        chosen = f"?plan={self.chosen.plan.public_id}" if self.chosen else ""
        return f"{reverse('reshuffle')}{chosen}"

    @cached_property
    def needs(self) -> list[NeedRow]:
        """The oldest first."""
        return [self._need(grant) for grant in queries.needs(self.now)]

    @cached_property
    def coming(self) -> list[Grant]:
        """What becomes a need within the next weeks."""
        return list(queries.needs_to_come(self.now, until=self.now + COMING_WITHIN)[:COMING_SHOWN])

    @cached_property
    def missing_gpus(self) -> int:
        """What all needs lack together."""
        return sum(row.grant.missing_gpus for row in self.needs)

    @cached_property
    def supply(self) -> donors.Supply:
        """Who could give, and what cannot be planned with."""
        return donors.supply(queries.build_snapshot(now=self.now))

    @cached_property
    def left(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """Per model what stays, and why."""
        return [(model, why.left_out({"skipped": counts})) for model, counts in self.supply.left.items()]

    @cached_property
    def chosen(self) -> PlanStory | None:
        """The plan that the address names."""
        try:
            public_id = UUID(self._plan_id)
        except ValueError:
            return None
        row = Plan.objects.select_related("grant__project", "grant__model", "proposed_by", "committed_by").filter(
            public_id=public_id
        )
        found = row.first()
        return PlanStory(found, self._viewer) if found else None

    @cached_property
    def proposals(self) -> list[Plan]:
        """Plans that wait for a commit, newest first."""
        return list(live_moves.proposals().filter(proposed_at__gte=self.now - PROPOSALS_FRESH)[:PROPOSALS_SHOWN])

    @cached_property
    def recent(self) -> list[Plan]:
        """Committed plans, newest first."""
        done = live_moves.plans_with_outcome().filter(generation__isnull=False)
        return list(done.order_by("-generation")[:RECENT_SHOWN])

    @cached_property
    def groups(self) -> list[live_moves.Group]:
        """All live moves."""
        return live_moves.lanes()

    @cached_property
    def lanes(self) -> list[Lane]:
        """One lane a state, in the order in which a move goes through them."""
        return list(self._lanes())

    @cached_property
    def idle(self) -> list[IdleCase]:
        """Idle GPUs whose people were asked twice and said nothing, the longest first."""
        return list(queries.open_cases().filter(state=IdleCase.State.ON_DESK).order_by("idle_since"))

    @cached_property
    def failed(self) -> list[live_moves.Group]:
        """Moves that were given up and not mended."""
        return [group for group in self.groups if group.state == Move.State.FAILED]

    @cached_property
    def drift(self) -> list[tuple[Drift, int]]:
        """Where nodes show another holder than intended: how many GPUs, those of a node together, the most first."""
        fields = ("node__name", "model__name", "reading__holder", "intended_holder")
        return Counter(Drift(*row) for row in queries.drift(self.now).values_list(*fields)).most_common()

    def _need(self, grant: Any) -> NeedRow:
        waited = max(self.now - grant.starts_at, timedelta(0))
        return NeedRow(grant, waited / HOUR * grant.missing_gpus, grant.starts_at > self.now)

    def _lanes(self) -> Iterator[Lane]:
        for state in live_moves.LANES:
            groups = [group for group in self.groups if group.state == state]
            yield Lane(state.value, str(state.label), sum(group.gpus for group in groups), groups)


@login_required
@require_safe
@vary_on_headers("HX-Target")
def reshuffle(request: HttpRequest) -> HttpResponse:
    """The whole desk, or the part that the live refresh asks for."""
    return board(request)


def board(request: HttpRequest, *, refused: Problem | None = None) -> HttpResponse:
    """The desk; with `refused` it says why there is no plan to propose."""
    rules.require(request.user, "see_trail")
    context: dict[str, Any] = {"board": Board(request.user, request.GET.get("plan", "")), "refused": refused}
    if refused is not None:
        context["refused_why"] = why.left_out(refused.facts.get("why") or {"left": refused.facts.get("left") or {}})
        context["refused_short"] = why.shortfall(refused.facts.get("why") or {})
    target = request.htmx.target if request.htmx and request.method != "POST" else ""
    part = f"#{target}" if target in PARTS else ""
    return render(request, f"reshuffle/desk.html{part}", context, status=refused.status if refused else 200)
