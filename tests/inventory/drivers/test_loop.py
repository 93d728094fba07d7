"""Nodes spoken to from ordinary code: connections live on between calls, a fork starts afresh."""

import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest

from inventory.drivers import loop
from inventory.drivers.base import Observed, Order, UnitOrder
from inventory.errors import NodeUnreachable
from tests.inventory.simulated import simulated


@pytest.fixture(autouse=True)
def closed_after():
    yield
    loop.close()


def connections_of(world, name: str) -> int:
    return len(world.fleet.nodes[name]._server.connections)


def test_connections_live_on_between_calls(tmp_path):
    with simulated(tmp_path, nodes=3) as world:
        for _ in range(3):
            loop.observe_many(world.nodes())

        assert [connections_of(world, f"n{index}") for index in range(3)] == [1, 1, 1]


def test_a_fleet_with_more_nodes_than_linux_lets_a_process_open_files_at_first_is_polled(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with simulated(tmp_path, nodes=30) as world:
        in_use = len([*Path("/proc/self/fd").iterdir()])
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 40, hard))
        try:
            answers = loop.observe_many(world.nodes())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert {type(answer) for _, answer in answers} == {Observed}


def test_orders_go_out_and_come_true(tmp_path):
    with simulated(tmp_path, nodes=2) as world:
        orders = [UnitOrder(node, world.uuids(node.name)[0], Order("deep-sea", 1)) for node in world.nodes()]

        applied = loop.ensure_many(orders)
        answers = loop.observe_many(world.nodes())

    assert [answer.state for answer in applied] == ["switched", "switched"]
    assert [observed.observation.gpus[0].holder for _, observed in answers] == ["deep-sea", "deep-sea"]


def test_after_a_close_the_next_call_starts_anew(tmp_path):
    with simulated(tmp_path) as world:
        loop.observe_many(world.nodes())
        loop.close()

        assert type(loop.observe_many(world.nodes())[0][1]) is Observed


def test_a_forked_child_polls_by_itself_while_the_parent_goes_on(tmp_path):
    with simulated(tmp_path) as world:
        nodes = world.nodes()
        loop.observe_many(nodes)

        child = os.fork()
        if child == 0:
            # The parent's loop does not run here: waiting for it would be for ever.
            signal.alarm(20)
            os._exit(0 if type(loop.observe_many(nodes)[0][1]) is Observed else 3)
        _, status = os.waitpid(child, 0)

        assert os.waitstatus_to_exitcode(status) == 0
        assert type(loop.observe_many(nodes)[0][1]) is Observed


def test_a_time_limit_ends_the_wait_and_the_loop_goes_on(tmp_path):
    class TimeIsUp(Exception):
        pass

    def ring(number, frame):
        raise TimeIsUp

    ended = threading.Event()

    async def observe_and_tell(fleet):
        try:
            return await fleet.observe_many(world.nodes()[:1])
        finally:
            ended.set()

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with simulated(tmp_path, nodes=2) as world:
            world.control.hang("n0")
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            began = time.monotonic()
            with pytest.raises(TimeIsUp):
                loop.run(observe_and_tell)
            assert ended.wait(timeout=2)
            waited_s = time.monotonic() - began

            [(_, answer)] = loop.observe_many(world.nodes()[1:])
    finally:
        signal.signal(signal.SIGALRM, before)

    assert waited_s < 3
    assert type(answer) is Observed


def test_a_silent_node_is_an_answer_of_its_own(tmp_path):
    with simulated(tmp_path, nodes=2) as world:
        world.control.kill("n1")

        answers = dict(loop.observe_many(world.nodes()))

    assert type(answers["n0"]) is Observed
    assert type(answers["n1"]) is NodeUnreachable
