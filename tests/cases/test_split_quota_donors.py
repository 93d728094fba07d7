"""Donors and quotas: no more moves than are missing, plans come to rest, a silent node revokes nothing."""

from datetime import timedelta

import pytest
from django.urls import reverse

from allocations import queries
from allocations.errors import NothingToPlan
from allocations.models import Assignment, Move, Target
from allocations.queries import fleet
from tests import factories
from tests.allocations.machines import assigned, committed, readings_age
from tests.cases.acts import fresh, page_of

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def test_a_node_unreachable_for_a_minute_revokes_nothing(lab, machines, noon, time_machine):
    """kueue PR#12999: a node was gone for 60 s, and what ran on it lost its place."""
    cards = machines.rack("n1", gpus=4)
    grant = factories.grant(lab.project, gpus=4)
    machines.give(cards, lab.project, grant)
    machines.nodes["n1"].killed = True
    for seconds in (10, 60, 3600):
        time_machine.move_to(noon + timedelta(seconds=seconds), tick=False)
        machines.settle(passes=1)
        with pytest.raises(NothingToPlan):
            committed(factories.grant(lab.applied_project, gpus=1), lab.ops)

    assert assigned(cards) == ["protein-folding"] * 4
    assert list(queries.needs().filter(pk=grant.pk)) == []
    assert (Move.objects.count(), fresh(grant).ended_at) == (0, None)
    assert not Assignment.objects.filter(gpu__in=cards, during__endswith__isnull=False).exists()


def test_plans_come_to_rest_and_no_two_projects_take_from_each_other_for_ever(lab, machines, noon):
    """kueue#3779: two queues preempted each other without an end."""
    cards = machines.rack(gpus=4)
    one, other = factories.grant(lab.project, gpus=3), factories.grant(lab.applied_project, gpus=3)
    seen = []
    for _round in range(6):
        for grant in (one, other):
            try:
                committed(grant, lab.ops)
            except NothingToPlan:
                continue
        machines.settle()
        seen.append(assigned(cards))

    assert sorted(seen[0]) == ["assistant", *["protein-folding"] * 3]
    assert seen == [seen[0]] * 6
    assert (Move.objects.count(), Target.objects.get().generation) == (4, 2)


@pytest.mark.parametrize("missing", [1, 6, 48])
def test_a_need_disturbs_as_many_as_are_missing_and_nobody_below_the_own_promise(lab, machines, noon, missing):
    """kai-scheduler/KAI-Scheduler PR#1565, volcano-sh/volcano#4408: 48 asked, 376 evicted; six short, 300 taken."""
    free = machines.rack(gpus=2)
    left = machines.rack(gpus=60)
    held = machines.rack(gpus=8)
    a100 = machines.rack(gpus=8, model=factories.model("A100"))
    donor = factories.project("donor")
    machines.give(left, donor, factories.grant(donor, gpus=60, starts_at=noon - 9 * DAY, ends_at=noon - DAY))
    machines.give(held, donor, factories.grant(donor, gpus=8))
    grant = factories.grant(lab.project, gpus=missing + 2)

    plan = committed(grant, lab.ops)

    taken = set(plan.moves.values_list("gpu_id", flat=True))
    assert len(taken) == missing + 2
    assert {card.pk for card in free} <= taken
    assert taken <= {card.pk for card in [*free, *left]}
    assert assigned([*held, *a100]) == ["donor"] * 8 + [""] * 8


@pytest.mark.parametrize("busy", [1, 64, 130])
def test_a_number_of_the_fleet_opens_to_exactly_these(lab, client, noon, busy):
    """fw-ai/cookbook PR#652: "64 used" opens to the 64."""
    cards = factories.fleet(gpus=140)
    for number, card in enumerate(cards):
        factories.reading(card, lab.project.slug if number < busy else "", util_pct=80.0 if number < busy else 0.0)
    readings_age(cards[-3:], noon - DAY)
    page = page_of(client, lab.stranger, "fleet")
    counts = {kind.value: count for kind, _label, count in [*page.context["busy"], *page.context["others"]]}

    opened = {kind: _rows(client, doing=kind) for kind in counts}

    assert counts == {"active": busy, "free": 137 - busy, "unknown": 3}
    assert {kind: len(rows) for kind, rows in opened.items()} == counts
    assert opened["active"] == {card.pk for card in cards[:busy]}
    assert all(f"?as=table&amp;doing={kind}" in page.content.decode() for kind in counts)
    assert fleet.doing_counts() == counts


def _rows(client, **filters) -> set[int]:
    """The GPUs of every page of the table."""
    found: list[int] = []
    asked: dict[str, object] = {"as": "table", **filters}
    while True:
        page = client.get(reverse("fleet"), asked).context["page"]
        found += [row.pk for row in page.rows]
        if page.before is None:
            assert len(found) == len(set(found))
            return set(found)
        asked["before"] = page.before
