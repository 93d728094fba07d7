"""Need, plan, moves, proof and undo on simulated nodes over real HTTP and TLS, with real surveys."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import executor, plans, queries
from allocations.models import Move, Target
from inventory.drivers import loop
from inventory.models import Gpu, Node
from inventory.survey import survey_nodes
from tests import factories
from tests.allocations.machines import assigned, commit, committed
from tests.inventory.simulated import simulated


@pytest.fixture
def fleet(lab, tmp_path):
    """Two simulated nodes with two GPUs each, declared and surveyed; n0 is the assistant's, whose grant has ended."""
    model = factories.model("NVIDIA H100")
    with simulated(tmp_path, nodes=2, gpus=2) as fleet:
        fleet.control.seed_holders(dict.fromkeys(fleet.uuids("n0"), ("assistant", 1)))
        for address in fleet.nodes():
            factories.node(
                address.name,
                model=model,
                gpus=2,
                cards=0,
                address=address.address,
                token=address.token,
                certificate_sha256=address.certificate_sha256,
            )
        survey_nodes(Node.objects.all())
        Target.objects.create(pk=1, generation=1)
        now = timezone.now()
        old = factories.grant(lab.applied_project, gpus=2, model=model, starts_at=now - timedelta(hours=2), ends_at=now)
        for gpu in Gpu.objects.filter(node__name="n0"):
            factories.assignment(gpu, lab.applied_project, grant=old)
            factories.holding(gpu, lab.applied_project, grant=old)
        yield fleet
    loop.close()


def go_on(fleet) -> None:
    """A pass, time for drains to end, another pass, a survey, a pass."""
    Move.objects.update(tried_at=None)
    executor.run_pass()
    fleet.clock.advance(10)
    executor.run_pass()
    survey_nodes(Node.objects.all())
    executor.run_pass()


def holders(fleet) -> list[str]:
    """Who has each GPU, as its simulated device says, by node."""
    gpus = fleet.control.gpus()
    return [gpus[uuid]["holder"] for uuid in Gpu.objects.order_by("node__name").values_list("uuid", flat=True)]


def states(plan) -> list[str]:
    """The states of the plan's moves, by node."""
    return list(plan.moves.order_by("gpu__node__name").values_list("state", flat=True))


def test_a_plan_is_carried_out_on_real_agents_survives_a_silent_node_and_is_undone(lab, fleet):
    cards = list(Gpu.objects.order_by("node__name"))
    grant = factories.grant(lab.project, gpus=4, model=factories.model("NVIDIA H100"))
    plan = committed(grant, lab.ops)
    fleet.control.kill("n1")
    go_on(fleet)
    with_one_silent = states(plan), holders(fleet)
    fleet.control.revive("n1")
    go_on(fleet)
    whole = states(plan), holders(fleet), [row.project.slug for row in queries.holdings_now()]

    undo = commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops)
    go_on(fleet)

    assert with_one_silent == (["done", "done", "agreed", "agreed"], ["protein-folding"] * 2 + [""] * 2)
    assert whole == (["done"] * 4, ["protein-folding"] * 4, ["protein-folding"] * 4)
    assert states(undo) == ["done"] * 4
    assert holders(fleet) == assigned(cards) == ["assistant", "assistant", "", ""]
    assert list(queries.drift()) == []


def test_a_real_agent_that_accepts_and_does_nothing_never_gets_a_move_done(lab, fleet):
    plan = committed(factories.grant(lab.project, gpus=4, model=factories.model("NVIDIA H100")), lab.ops)
    fleet.control.disobey("n0")
    go_on(fleet)
    go_on(fleet)
    believed = states(plan)

    fleet.control.obey("n0")
    go_on(fleet)

    assert believed == ["switching", "switching", "done", "done"]
    assert states(plan) == ["done"] * 4
