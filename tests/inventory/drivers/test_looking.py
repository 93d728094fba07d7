"""What every driver keeps that looks at nodes, whether they take orders or not."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from inventory.drivers import registry
from inventory.errors import BadToken, CertificateMismatch, NodeUnreachable
from inventory.models import Node
from tests.inventory.drivers.worlds import agent_world, dcgm_world, fake_world


@pytest.fixture(params=[fake_world, agent_world, dcgm_world], ids=["fake", "agent", "dcgm"])
def world(request, tmp_path):
    yield from request.param(tmp_path)


def test_every_driver_that_a_node_may_name_exists():
    assert set(registry.DRIVERS) == set(Node.Driver.values)


def test_each_gpu_has_an_identity_and_a_slot_of_its_own(world):
    gpus = world.observe().observation.gpus

    assert len({gpu.uuid for gpu in gpus}) == len({gpu.pci_bus_id for gpu in gpus}) == 2


def test_the_proof_clock_is_the_portals_instant_of_asking(world):
    before = datetime.now(UTC)
    asked = world.observe().requested_at
    after = datetime.now(UTC)

    assert before <= asked <= after


def test_the_sequence_grows_within_one_boot(world):
    first, second = world.observe().observation, world.observe().observation

    assert first.boot_id == second.boot_id
    assert second.sequence > first.sequence


def test_a_wrong_token_is_refused(world):
    with pytest.raises(BadToken):
        world.run(world.driver.observe(replace(world.node, token="another")))


def test_a_killed_node_is_unreachable(world):
    world.kill()

    with pytest.raises(NodeUnreachable):
        world.observe()


@pytest.mark.parametrize("make", [agent_world, dcgm_world], ids=["agent", "dcgm"])
def test_another_certificate_gets_no_token(make, tmp_path):
    for world in make(tmp_path):
        with pytest.raises(CertificateMismatch):
            world.run(world.driver.observe(replace(world.node, certificate_sha256="ab" * 32)))
