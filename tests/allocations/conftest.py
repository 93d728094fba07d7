"""The lab of the decisions' tests: 100 H100 on ten nodes, of which Research may promise 60 and Applied 40."""

from datetime import UTC, datetime

import pytest

from inventory.drivers import loop, registry
from tests import factories
from tests.allocations.machines import Machines, committed, ended_grant

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def noon(time_machine, settings) -> datetime:
    """It is noon on 1 March 2027 and stays so; people type days in UTC."""
    settings.SITE_TIME_ZONE = "UTC"
    time_machine.move_to(NOON, tick=False)
    return NOON


@pytest.fixture
def world(lab):
    factories.fleet(gpus=100, per_node=10)
    factories.split()
    return lab


@pytest.fixture
def machines(lab, monkeypatch):
    """Fake machines in place of agents, none yet: `machines.rack()` adds a node."""
    fleet = Machines()
    monkeypatch.setitem(registry.DRIVERS, "agent", lambda: fleet)
    yield fleet
    loop.close()


@pytest.fixture
def ended(lab, machines):
    """Three GPUs of two nodes that an ended grant of the assistant left in its hands, busy."""
    cards = [*machines.rack(gpus=2), *machines.rack(gpus=1)]
    machines.give(cards, lab.applied_project, ended_grant(lab.applied_project, gpus=3))
    return cards


@pytest.fixture
def plan(lab, ended):
    """The plan, committed, that gives all three to protein folding."""
    return committed(factories.grant(lab.project, gpus=3), lab.ops)
