"""Many nodes at once: each for itself, in order, never more at a time than asked for."""

import asyncio
from datetime import UTC, datetime

import pytest

from inventory.drivers import registry
from inventory.drivers.base import Applied, NodeAddress, Observation, Observed, Order, UnitOrder
from inventory.drivers.fleet import Fleet
from inventory.errors import InventoryError
from tests.inventory.simulated import simulated


class Crowd:
    """A driver that lets nobody go until `together` ask at once."""

    def __init__(self, together: int) -> None:
        self.inside = self.most = 0
        self.barrier = asyncio.Barrier(together)

    async def observe(self, node: NodeAddress) -> Observed:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self.barrier.wait()
        self.inside -= 1
        return Observed(Observation(node.name, "b", 1, ()), datetime.now(UTC))

    async def ensure_unit(self, node: NodeAddress, uuid: str, order: Order) -> Applied:
        return Applied("switched", 0, order.generation // (0 if uuid == "GPU-bad" else 1), 0)

    async def close(self) -> None:
        pass


def of_crowd(name: str) -> NodeAddress:
    return NodeAddress(name, "", "", "", "crowd")


def run(work):
    async def body():
        fleet = Fleet()
        try:
            return await work(fleet)
        finally:
            await fleet.close()

    return asyncio.run(body())


def test_bad_nodes_among_many_do_not_disturb_the_others(tmp_path):
    with simulated(tmp_path, nodes=12) as world:
        world.control.kill("n3")
        nodes = world.nodes()
        nodes[5] = NodeAddress("n5", nodes[5].address, "wrong", nodes[5].certificate_sha256)
        nodes[7] = NodeAddress("n7", nodes[7].address, nodes[7].token, "ab" * 32)
        nodes[9] = NodeAddress("n9", nodes[9].address, nodes[9].token, nodes[9].certificate_sha256, "telepathy")

        answers = run(lambda fleet: fleet.observe_many(nodes, concurrency=4))

    codes = {name: answer.code for name, answer in answers if isinstance(answer, InventoryError)}
    assert codes == {
        "n3": "node_unreachable",
        "n5": "bad_token",
        "n7": "certificate_mismatch",
        "n9": "unknown_driver",
    }
    assert [name for name, _ in answers] == [f"n{index}" for index in range(12)]
    assert [answer.observation.node for _, answer in answers if isinstance(answer, Observed)] == [
        f"n{index}" for index in range(12) if f"n{index}" not in codes
    ]


@pytest.mark.parametrize("concurrency", [1, 3, 6])
def test_never_more_nodes_at_a_time_than_asked_for_and_no_fewer(monkeypatch, concurrency):
    crowd = []

    def make():
        crowd.append(Crowd(concurrency))
        return crowd[0]

    monkeypatch.setitem(registry.DRIVERS, "crowd", make)

    answers = run(lambda fleet: fleet.observe_many([of_crowd(f"n{i}") for i in range(6)], concurrency=concurrency))

    assert len(answers) == 6
    assert crowd[0].most == concurrency
    assert len(crowd) == 1


def test_no_node_is_no_answer():
    assert run(lambda fleet: fleet.observe_many([])) == []


def test_orders_are_answered_in_their_order_and_a_fault_of_ours_costs_one(monkeypatch, caplog):
    monkeypatch.setitem(registry.DRIVERS, "crowd", lambda: Crowd(1))
    orders = [UnitOrder(of_crowd("n0"), uuid, Order("deep-sea", 3)) for uuid in ("GPU-1", "GPU-bad", "GPU-2")]

    first, bad, second = run(lambda fleet: fleet.ensure_many(orders))

    assert (first, second) == (Applied("switched", 0, 3, 0),) * 2
    assert (bad.code, bad.detail) == ("bad_answer", "driver failed: ZeroDivisionError")
    assert [record.node for record in caplog.records] == ["n0"]
