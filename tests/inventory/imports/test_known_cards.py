"""Cards that a file names: there before any survey, and never against what one has seen."""

import pytest

from inventory.imports import DeclaredCard, DeclaredNode, LeftOut, import_fleet
from inventory.models import Event, Gpu
from tests import factories

pytestmark = pytest.mark.django_db
CARD = DeclaredCard("GPU-a", "00000000:1A:00.0", "NVIDIA H100", 81_559, "1652922013325", 2)


def declare(*cards: DeclaredCard, name: str = "n1"):
    node = DeclaredNode(name, "NVIDIA H100", max(1, len(cards)), 1, cards=cards)
    return import_fleet(nodes=[node], source="file:smi.xml", by="import_fleet")


def test_a_card_is_known_in_its_slot_and_has_no_reading():
    declare(CARD)

    [gpu] = Gpu.objects.select_related("node", "model")
    assert (gpu.uuid, gpu.node.name, gpu.pci_bus_id) == ("GPU-a", "n1", "00000000:1A:00.0")
    assert (gpu.model.name, gpu.model.memory_mib, gpu.serial, gpu.minor) == ("NVIDIA H100", 81_559, "1652922013325", 2)
    assert not hasattr(gpu, "reading")


def test_a_repeat_changes_nothing():
    declare(CARD)
    events = Event.objects.count()

    report = declare(CARD)

    assert (Gpu.objects.count(), Event.objects.count(), report.left_out) == (1, events, [])


def test_a_card_that_is_known_elsewhere_stays_there():
    gpu = factories.gpu(factories.node("n2", cards=0), uuid="GPU-a")

    report = declare(CARD)

    gpu.refresh_from_db()
    assert gpu.node.name != "n1"
    assert report.left_out == [LeftOut("GPU-a", f"it is known in {gpu.node}; a reading moves it")]


def test_a_card_whose_slot_shows_another_one_is_left_out():
    declare(CARD)

    report = declare(DeclaredCard("GPU-b", CARD.pci_bus_id, "NVIDIA H100"))

    assert report.left_out == [LeftOut("GPU-b", "another card is known in its slot; a reading replaces it")]
    assert list(Gpu.objects.values_list("uuid", flat=True)) == ["GPU-a"]
