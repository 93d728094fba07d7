"""A worker killed with -9 in the middle of moves, a broker that forgets everything: it converges all the same."""

import time

import pytest

from allocations import plans, queries
from allocations.models import Holding, Move, Target
from inventory.drivers import loop
from inventory.models import Event, Gpu, Node
from inventory.survey import survey_nodes
from tests import factories
from tests.allocations.machines import assigned, commit, committed
from tests.faults.workers import flush_broker, hint, until, worker
from tests.inventory.simulated import simulated

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

EXECUTE, POLL = "allocations.tasks.execute", "inventory.tasks.poll"


@pytest.fixture
def fleet(lab, tmp_path):
    """Two simulated nodes with two free GPUs each, declared and surveyed; drains take a second of real time."""
    model = factories.model("NVIDIA H100")
    with simulated(tmp_path, nodes=2, gpus=2, drain_s=1.0, clock=time.time) as fleet:
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
        yield fleet
    loop.close()


def ordered(fleet, node: str) -> set[int]:
    """The generations that the node's GPUs were ordered to be at."""
    return {gpu["ordered_generation"] for gpu in fleet.control.gpus().values() if gpu["node"] == node}


def holders(fleet) -> list[str]:
    return [gpu["holder"] for gpu in fleet.control.gpus().values()]


def test_a_worker_killed_between_effect_and_row_and_a_flushed_broker_lose_nothing(lab, fleet, tmp_path):
    grant = factories.grant(lab.project, gpus=4, model=factories.model("NVIDIA H100"))
    plan = committed(grant, lab.ops)
    log = tmp_path / "worker.log"

    # n1 accepts connections and answers nothing: the pass waits for it, with n0's orders done and no row written.
    fleet.control.hang("n1")
    with worker(log) as first:
        until(lambda: ordered(fleet, "n0") == {plan.generation}, tick=lambda: hint(EXECUTE))
        written = set(plan.moves.values_list("state", flat=True))
        first.kill()
    flush_broker()
    fleet.control.revive("n1")

    # The next one is killed with the moves on their way, and the broker forgets again.
    with worker(log) as second:
        until(lambda: plan.moves.filter(state="switching").count() == 4, tick=lambda: hint(EXECUTE))
        second.kill()
    flush_broker()

    with worker(log):
        until(lambda: plan.moves.filter(state="done").count() == 4, tick=lambda: hint(EXECUTE, POLL))
        undo = commit(plans.propose_undo(plan=plan, by=lab.ops), lab.ops)
        until(lambda: undo.moves.filter(state="draining").exists(), tick=lambda: hint(EXECUTE))
    flush_broker()
    with worker(log):
        until(lambda: undo.moves.filter(state="done").count() == 4, tick=lambda: hint(EXECUTE, POLL))

    assert written == {"agreed"}
    assert holders(fleet) == assigned(list(Gpu.objects.all())) == [""] * 4
    assert list(queries.drift()) == []
    assert Holding.objects.filter(project=lab.project, during__endswith__isnull=False).count() == 4
    assert queries.holdings_now().count() == 0
    assert Event.objects.filter(verb="move.done").count() == 8
    assert Move.objects.filter(state__in=Move.OPEN).count() == 0
