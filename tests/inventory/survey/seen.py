"""What nodes say, as plain values for tests that need no wire: each says what it says, and nothing else."""

from datetime import UTC, datetime, timedelta

from inventory.drivers.base import GpuSeen, Observation, Observed, Value
from inventory.errors import NodeUnreachable
from inventory.models import Survey
from inventory.survey import Answer, store_survey

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def card(uuid="GPU-a", slot=0, *, holder="", util=0.0, age_s=0.0, lost=False, **fields) -> GpuSeen:
    """A card as its node shows it; `util` None is a value that the node does not have."""

    def value(number, reason="not supported"):
        return Value(number, reason if number is None else None, age_s)

    values = {
        "uuid": uuid,
        "pci_bus_id": f"00000000:{slot + 1:02X}:00.0",
        "kind": "gpu",
        "parent_uuid": None,
        "model": "H100",
        "memory_total_mib": 81_559,
        "lost": lost,
        "holder": holder,
        "generation": 0,
        "draining": False,
        "util_pct": value(util),
        "mem_used_mib": value(12.0),
        "power_w": value(70.5),
        "temperature_c": value(30.0),
        "processes": (),
    }
    return GpuSeen(**{**values, **fields})


def instance(uuid, parent: GpuSeen, **fields) -> GpuSeen:
    """A MIG instance of that card: no utilisation, as on many cards."""
    return card(uuid, kind="mig", parent_uuid=parent.uuid, pci_bus_id=parent.pci_bus_id, util=None, **fields)


_sequence = iter(range(1, 1_000_000))


def said(node, *gpus, at=NOON, boot="boot-1", sequence=None, **fields) -> Answer:
    """The node was asked at `at` and shows these GPUs; `fields` of the second version of the wire."""
    number = next(_sequence) if sequence is None else sequence
    return Answer(node.pk, Observed(Observation(node.name, boot, number, gpus, **fields), at))


def silent(node, error=None) -> Answer:
    """The node did not answer."""
    return Answer(node.pk, error or NodeUnreachable(node.name, "no answer in time"))


def survey(*answers, at=NOON) -> Survey:
    """A survey that began at `at` and brought these answers is stored."""
    return store_survey(answers, started_at=at)


def later(seconds) -> datetime:
    """That many seconds after noon of the day on which these tests play."""
    return NOON + timedelta(seconds=seconds)
