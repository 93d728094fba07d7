"""After the restore of an older backup: the target is lifted above what nodes know, and what they hold is adopted."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from allocations import plans, queries
from allocations.errors import NothingToPlan, Stale
from allocations.models import Assignment, Project, Target
from inventory.drivers.base import Order
from inventory.models import Event
from tests import factories
from tests.allocations.machines import assigned, commit, committed, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def restored(lab, machines):
    """Four GPUs: two were moved at generation 700, one drains at 800, one is as the database says."""
    cards = machines.rack(gpus=4)
    machines.give(cards, lab.project, factories.grant(lab.project, gpus=4))
    for card in cards[:2]:
        machines.device(card).seed("assistant", 700, machines.clock())
    machines.device(cards[2]).ensure(Order("assistant", 800), now=machines.clock(), drain_s=3600, obeys=True)
    machines.see()
    return cards


def lift(**options) -> list[str]:
    out = StringIO()
    call_command("lift_generations", stdout=out, **options)
    return out.getvalue().splitlines()


def intended() -> list[tuple]:
    return list(Assignment.objects.order_by("pk").values_list("gpu", "project", "during"))


def test_the_target_is_lifted_above_what_devices_show_and_above_what_they_were_only_told(lab, machines, restored):
    lines = lift()

    assert Target.objects.get().generation == 800
    assert lines[:2] == [
        f"1 of 1 nodes answered; the highest generation is 800 ({restored[0].node}).",
        "Lifted from 1 to 800.",
    ]


def test_it_changes_no_holder_and_no_intention(lab, machines, restored):
    holders, before = machines.holders(restored), intended()

    lift()

    assert (machines.holders(restored), intended()) == (holders, before)


def test_it_lists_what_somebody_else_holds_than_intended(lab, machines, restored):
    lines = lift()

    assert lines[2:] == [
        "GPUs that somebody else holds than intended: 2",
        f"  {restored[0].node}: 2 held by assistant, meant for protein-folding",
        "On the reshuffle page: adopt what is there, or propose a repair that gives them back.",
    ]


def test_a_repeat_and_a_dry_run_change_nothing(lab, machines, restored):
    dry = lift(dry_run=True)
    after_dry = Target.objects.get().generation
    lift()

    lines = lift()

    assert (dry[1], after_dry) == ("In force: 1. Nothing was written (--dry-run).", 1)
    assert lines[1] == "In force: 800, which is above all of them."
    assert Event.objects.filter(verb="target.lifted").count() == 1


def test_the_next_commit_succeeds_where_nodes_would_have_refused_it(lab, machines, restored):
    lift()
    more = machines.rack(gpus=1)
    machines.device(more[0]).seed("", 750, machines.clock())
    machines.see(more)

    plan = committed(factories.grant(lab.project, gpus=1), lab.ops)
    machines.settle()

    assert (plan.generation, states(plan)) == (801, ["done"])


def test_a_silent_node_is_named(lab, machines, restored):
    machines.nodes[restored[0].node.name].killed = True

    lines = lift()

    assert lines[0] == "0 of 1 nodes answered; the highest generation is 0."
    assert lines[-1] == f"Did not answer: 1 ({restored[0].node}). Repeat this when they are back."


def test_a_node_that_says_nonsense_is_not_believed_unless_somebody_does(lab, machines, restored):
    machines.device(restored[3]).seed(lab.project.slug, 2**60, machines.clock())

    with pytest.raises(CommandError) as refused:
        lift()
    before = Target.objects.get().generation
    lift(believe=True)

    assert str(refused.value).endswith("That is no lost history. Look at that node, or repeat with --believe.")
    assert (before, Target.objects.get().generation) == (1, 2**60)


class TestAdoption:
    def test_what_nodes_show_becomes_the_intention_and_nobody_is_moved(self, lab, machines, restored):
        grant = factories.grant(lab.applied_project, gpus=1)
        lift()

        plan = commit(plans.propose_adoption(by=lab.ops), lab.ops)
        machines.settle()

        assert machines.holders(restored)[:2] == ["assistant", "assistant"]
        assert assigned(restored)[:2] == ["assistant", "assistant"]
        assert states(plan) == ["done", "done"]
        assert list(plan.steps.order_by("gpu").values_list("grant", flat=True)) == [grant.pk, None]

    def test_a_gpu_that_nobody_holds_is_given_up(self, lab, machines):
        cards = machines.rack(gpus=1)
        machines.give(cards, lab.project, factories.grant(lab.project, gpus=1))
        machines.device(cards[0]).seed("", 5, machines.clock())
        machines.see()

        commit(plans.propose_adoption(by=lab.ops), lab.ops)
        machines.settle()

        assert (assigned(cards), list(queries.drift())) == ([""], [])

    @pytest.mark.parametrize("is_known", [False, True])
    def test_a_holder_that_is_no_project_any_more_is_left(self, lab, machines, is_known):
        cards = machines.rack(gpus=1)
        if is_known:
            project = factories.project("squatter")
            Project.objects.filter(pk=project.pk).update(state="ended", ended_at=project.lead.date_joined)
        machines.device(cards[0]).seed("squatter", 5, machines.clock())
        machines.see()

        with pytest.raises(NothingToPlan) as refused:
            plans.propose_adoption(by=lab.ops)

        assert refused.value.facts["left"] == {"unknown holder": [str(cards[0])]}

    def test_what_changed_hands_since_the_proposal_is_not_adopted(self, lab, machines, restored):
        plan = plans.propose_adoption(by=lab.ops)
        machines.device(restored[0]).seed("", 900, machines.clock())
        machines.see()

        with pytest.raises(Stale):
            commit(plan, lab.ops)
