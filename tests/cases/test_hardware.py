"""Hardware: a card is its UUID; one that falls off, is drained, replaced or renamed takes nobody else with it."""

from datetime import timedelta

import pytest
from django.urls import reverse

from allocations import plans, queries
from allocations.errors import NothingToPlan
from allocations.models import Assignment
from allocations.queries.standing import with_gpus
from inventory.models import Gpu, Node, Reading
from tests import factories
from tests.allocations.machines import assigned, commit, readings_age
from tests.cases.acts import page_of
from tests.inventory.survey.seen import NOON, card, later, said, survey

pytestmark = pytest.mark.django_db

CARDS = [f"GPU-{letter}" for letter in "abcdefgh"]


@pytest.fixture
def node(lab, time_machine):
    """Eight free cards that a first survey has seen."""
    time_machine.move_to(later(20), tick=False)
    row = factories.node("n1", gpus=8, cards=0)
    survey(said(row, *(card(uuid, slot) for slot, uuid in enumerate(CARDS))))
    return row


def held(lab, uuids) -> object:
    """A grant of these, all assigned."""
    grant = factories.grant(lab.project, gpus=len(uuids))
    for uuid in uuids:
        factories.assignment(Gpu.objects.get(uuid=uuid), lab.project, grant=grant)
    return grant


def offered() -> list[str]:
    """The cards that a plan may take."""
    return sorted(unit.uuid for unit in queries.build_snapshot().units if unit.source == "free")


@pytest.mark.parametrize("how", ["says lost", "is missing"])
@pytest.mark.parametrize("slot", [0, 3, 7])
def test_one_card_of_eight_that_falls_off_leaves_seven_and_comes_back(lab, client, node, how, slot):
    """NVIDIA/k8s-device-plugin#2038: all eight went with the one; #1014: fixed, it never came back."""
    rest = [card(uuid, at) for at, uuid in enumerate(CARDS) if at != slot]
    gone = [card(CARDS[slot], slot, lost=True, util=None)] if how == "says lost" else []

    survey(said(node, *rest, *gone, at=later(10)), at=later(10))

    assert offered() == [uuid for uuid in CARDS if uuid != CARDS[slot]]
    page = page_of(client, lab.ops, "fleet").context
    assert {kind.value: count for kind, _label, count in page["others"]} == {"lost": 1, "free": 7}

    offers = []
    for seconds in (20, 30, 40):
        survey(said(node, *rest, card(CARDS[slot], slot), at=later(seconds)), at=later(seconds))
        offers.append(offered() == CARDS)

    assert offers == [False, False, True]


@pytest.mark.parametrize("shift", [1, 3])
def test_grants_follow_the_uuid_when_indices_and_slots_shift(lab, node, shift):
    """gpustack/gpustack#1633: a drained card shifted the others' index, and they were taken for others."""
    grant = held(lab, CARDS[2:6])
    stay = [card(uuid, slot) for slot, uuid in enumerate(CARDS[shift:])]

    survey(said(node, *stay, at=later(10)), at=later(10))

    rows = Assignment.objects.filter(grant=grant).order_by("gpu__uuid")
    assert list(rows.values_list("gpu__uuid", "during__endswith")) == [(uuid, None) for uuid in CARDS[2:6]]
    assert {row.uuid for row in Gpu.objects.filter(lost_at=None, retired_at=None)} == set(CARDS[shift:])


def test_a_replaced_card_is_retired_its_grant_is_short_and_history_stays(lab, client, node):
    """truenas/middleware PR#19499: the new card in the slot was taken for the old one."""
    grant = held(lab, CARDS[:2])
    survey(
        said(node, card("GPU-new", 0), *(card(uuid, slot) for slot, uuid in enumerate(CARDS) if slot), at=later(10)),
        at=later(10),
    )

    [need] = queries.needs()
    assert (need.pk, need.missing_gpus) == (grant.pk, 1)
    assert with_gpus(type(grant).objects.filter(pk=grant.pk)).get().assigned_gpus == 1
    assert page_of(client, lab.pitcher, "grant", grant.public_id).context["missing"] == 1
    old = Gpu.objects.get(uuid=CARDS[0])
    assert (old.retired_at, Reading.objects.filter(gpu=old).exists()) == (later(10), True)
    assert old.assignments.filter(grant=grant).exists()
    assert "GPU-new" in offered()


def test_a_renamed_node_keeps_its_grants_and_its_history(lab, client, node):
    """rancher/k3os#159: a node of another name was another node."""
    grant = held(lab, CARDS)
    Node.objects.filter(pk=node.pk).update(name="hall-2-n1")

    survey(said(Node.objects.get(), *(card(uuid, slot) for slot, uuid in enumerate(CARDS)), at=later(10)), at=later(10))

    assert Gpu.objects.count() == Reading.objects.count() == 8
    assert assigned(Gpu.objects.all()) == [lab.project.slug] * 8
    assert list(queries.needs()) == []
    client.force_login(lab.ops)
    assert client.get(reverse("node", args=["hall-2-n1"])).status_code == 200
    assert with_gpus(type(grant).objects.all()).get().assigned_gpus == 8


@pytest.mark.parametrize("silent_for", [timedelta(minutes=5), timedelta(days=30)])
def test_the_cards_of_a_dead_node_are_not_offered(lab, node, time_machine, silent_for):
    """beclab/Olares PR#4051: a node that was down was offered on."""
    other = factories.node("n2", gpus=1)
    time_machine.move_to(NOON + silent_for, tick=False)
    factories.reading(other.gpus.get(), "")
    readings_age(node.gpus.all(), NOON)

    assert offered() == [other.gpus.get().uuid]
    with pytest.raises(NothingToPlan):
        plans.propose_plan(grant=factories.grant(lab.project, gpus=1, model=factories.model("A100")), by=lab.ops)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=8), by=lab.ops)
    assert list(plan.steps.values_list("gpu__node__name", flat=True)) == ["n2"]


def test_what_a_team_already_runs_on_is_adopted_into_its_grant(lab, node):
    """russellb/canhazgpu#26, coldfront/coldfront#531: running work had to be stopped to be booked."""
    grant = factories.grant(lab.project, gpus=2)
    theirs = [card(uuid, slot, holder=lab.project.slug, generation=3) for slot, uuid in enumerate(CARDS[:2])]
    rest = [card(uuid, slot) for slot, uuid in enumerate(CARDS) if slot > 1]
    survey(said(node, *theirs, *rest, at=later(20)), at=later(20))

    commit(plans.propose_adoption(by=lab.ops), lab.ops)

    rows = Assignment.objects.filter(during__endswith=None).order_by("gpu__uuid")
    assert list(rows.values_list("gpu__uuid", "grant")) == [(CARDS[0], grant.pk), (CARDS[1], grant.pk)]
    assert list(queries.needs()) == []
