"""What every driver of nodes that take orders keeps: the fake in memory and the real one run the same tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from inventory.drivers.base import Eviction, Order, Settings
from inventory.errors import BadToken, NodeRefused, NodeUnreachable
from tests.inventory.drivers.worlds import agent_world, fake_world


@pytest.fixture(params=[fake_world, agent_world], ids=["fake", "agent"])
def world(request, tmp_path):
    yield from request.param(tmp_path)


def test_a_new_node_shows_its_gpus_as_nobodys(world):
    seen = world.observe().observation

    assert [(gpu.holder, gpu.generation, gpu.draining, gpu.processes) for gpu in seen.gpus] == [("", 0, False, ())] * 2
    assert all(2 <= gpu.mem_used_mib.value <= 30 for gpu in seen.gpus)


def test_a_free_gpu_is_given_at_once_and_only_that_one(world):
    first, second = world.uuids()

    applied = world.ensure(first, Order("deep-sea", 1, 1, (1005,)))

    assert (applied.state, applied.running, applied.generation) == ("switched", 0, 1)
    assert (world.gpu(first).holder, world.gpu(first).generation) == ("deep-sea", 1)
    assert world.gpu(second).holder == ""


def test_a_held_gpu_drains_and_then_switches(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))

    applied = world.ensure(uuid, Order("sky", 2))
    draining = world.gpu(uuid)
    world.clock.advance(60)
    switched = world.gpu(uuid)

    assert (applied.state, applied.running) == ("draining", len(draining.processes))
    assert (draining.holder, draining.generation, draining.draining) == ("deep-sea", 1, True)
    assert (switched.holder, switched.generation, switched.draining) == ("sky", 2, False)


def test_an_order_may_be_repeated(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))
    world.ensure(uuid, Order("sky", 2))
    world.clock.advance(1)

    again = world.ensure(uuid, Order("sky", 2))
    world.clock.advance(5)
    after = world.ensure(uuid, Order("sky", 2))

    assert again.state == "draining"
    assert (after.state, after.running) == ("switched", 0)


def test_a_gpu_can_be_freed(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))
    world.ensure(uuid, Order("", 2))
    world.clock.advance(60)

    assert (world.gpu(uuid).holder, world.gpu(uuid).processes) == ("", ())


def test_a_kept_holder_takes_a_later_generation_without_a_drain(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))
    pids = world.gpu(uuid).processes

    applied = world.ensure(uuid, Order("deep-sea", 5))

    assert (applied.state, world.gpu(uuid).generation, world.gpu(uuid).processes) == ("switched", 5, pids)


def test_an_undo_while_it_drains_leaves_the_old_holder_undisturbed(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))
    pids = world.gpu(uuid).processes
    world.ensure(uuid, Order("sky", 2))

    world.ensure(uuid, Order("deep-sea", 3))
    world.clock.advance(60)
    kept = world.gpu(uuid)

    assert (kept.holder, kept.generation, kept.draining, kept.processes) == ("deep-sea", 3, False, pids)


def test_an_older_order_is_refused(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 7))

    with pytest.raises(NodeRefused) as refused:
        world.ensure(uuid, Order("sky", 6))

    assert (refused.value.node_code, refused.value.generation) == ("older_generation", 7)
    assert world.gpu(uuid).holder == "deep-sea"


def test_an_older_order_is_refused_while_a_later_one_drains(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))
    world.ensure(uuid, Order("sky", 3))

    with pytest.raises(NodeRefused) as refused:
        world.ensure(uuid, Order("deep-sea", 2))

    assert refused.value.node_code == "older_generation"


def test_one_generation_with_two_holders_is_refused(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 7))

    with pytest.raises(NodeRefused) as refused:
        world.ensure(uuid, Order("sky", 7))

    assert refused.value.node_code == "generation_conflict"
    assert world.gpu(uuid).holder == "deep-sea"


def test_an_earlier_list_of_members_does_not_replace_a_later_one(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1, 4, (1005,)))

    late = world.ensure(uuid, Order("deep-sea", 1, 3, (1005, 1006)))

    assert late.access_revision == 4
    assert {process.user for process in world.gpu(uuid).processes} == {"1005"}


def test_a_leaver_goes_without_a_new_generation(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1, 3, (1006,)))

    applied = world.ensure(uuid, Order("deep-sea", 1, 4, (1005,)))

    assert (applied.state, applied.access_revision) == ("switched", 4)
    assert {process.user for process in world.gpu(uuid).processes} == {"1005"}


def test_authority_to_evict_ends_processes_early_and_an_expired_one_does_not(world):
    first, second = world.uuids()
    valid = Eviction("ops", "the lead", datetime.fromtimestamp(world.clock(), UTC) + timedelta(hours=1))
    expired = replace(valid, until=datetime.fromtimestamp(world.clock(), UTC) - timedelta(seconds=1))
    for uuid in (first, second):
        world.ensure(uuid, Order("deep-sea", 1))

    world.ensure(first, Order("sky", 2, eviction=valid))
    world.ensure(second, Order("sky", 2, eviction=expired))
    world.clock.advance(1.5)

    assert (world.gpu(first).holder, world.gpu(second).holder) == ("sky", "deep-sea")


def test_a_gpu_that_is_not_there_is_refused(world):
    with pytest.raises(NodeRefused) as refused:
        world.ensure("GPU-of-another-node", Order("deep-sea", 1))

    assert refused.value.node_code == "unknown_gpu"


def test_a_mig_uuid_with_slashes_reaches_the_node(world):
    with pytest.raises(NodeRefused) as refused:
        world.ensure("MIG-GPU-6e2f/1/0", Order("deep-sea", 1))

    assert refused.value.detail == "MIG-GPU-6e2f/1/0 is not in this node"


def test_a_lost_gpu_is_unknown_and_refuses_while_its_neighbour_goes_on(world):
    lost, healthy = world.uuids()
    world.lose(lost)

    with pytest.raises(NodeRefused) as refused:
        world.ensure(lost, Order("deep-sea", 1))
    world.ensure(healthy, Order("deep-sea", 1))

    seen = world.gpu(lost)
    assert refused.value.node_code == "gpu_lost"
    assert (seen.lost, seen.util_pct.value, seen.util_pct.reason, seen.processes) == (True, None, "lost", None)
    assert world.gpu(healthy).holder == "deep-sea"


def test_a_disobedient_node_says_yes_and_shows_its_old_holder(world):
    uuid = world.uuids()[0]
    world.ensure(uuid, Order("deep-sea", 1))
    world.disobey()

    applied = world.ensure(uuid, Order("sky", 2))
    world.clock.advance(600)

    assert (applied.state, applied.generation) == ("switched", 2)
    assert (world.gpu(uuid).holder, world.gpu(uuid).generation) == ("deep-sea", 1)


def test_a_wrong_token_is_refused_for_both_verbs(world):
    uuid = world.uuids()[0]
    stranger = replace(world.node, token="another")

    with pytest.raises(BadToken):
        world.run(world.driver.observe(stranger))
    with pytest.raises(BadToken):
        world.ensure(uuid, Order("deep-sea", 1), stranger)

    assert world.gpu(uuid).holder == ""


def test_a_killed_node_is_unreachable_for_both_verbs(world):
    uuid = world.uuids()[0]
    world.kill()

    with pytest.raises(NodeUnreachable):
        world.observe()
    with pytest.raises(NodeUnreachable):
        world.ensure(uuid, Order("deep-sea", 1))


def test_a_node_works_in_the_mode_it_was_told_and_says_so(world):
    for mode in ("shadow", "observe", "observe", "enforce"):
        world.run(world.driver.ensure_settings(world.node, Settings(mode)))

        assert world.observe().observation.mode == mode


def test_the_old_token_is_good_until_the_new_one_was_used_once(world):
    renewed = replace(world.node, token="another-token")
    world.run(world.driver.ensure_settings(world.node, Settings("enforce", "another-token")))

    before = world.observe().observation.node
    world.run(world.driver.observe(renewed))

    assert before == world.node.name
    with pytest.raises(BadToken):
        world.observe()
    assert world.run(world.driver.observe(renewed)).observation.node == world.node.name


def test_a_token_that_was_never_used_is_replaced_by_a_later_one(world):
    for token in ("lost-on-the-way", "another-token"):
        world.run(world.driver.ensure_settings(world.node, Settings("enforce", token)))

    with pytest.raises(BadToken):
        world.run(world.driver.observe(replace(world.node, token="lost-on-the-way")))
    assert world.run(world.driver.observe(replace(world.node, token="another-token"))).observation.mode == "enforce"
