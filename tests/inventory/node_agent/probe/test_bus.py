"""Which cards the PCI bus shows."""

from inventory.node_agent.probe.bus import Slot, bus_id, cards_on_bus, slot_of


def test_addresses_are_written_as_the_driver_does():
    said = [bus_id(address) for address in ("0000:1b:00.0", "00000000:1B:00.0", "10de:01:1f.7", "usb1", "")]

    assert said == ["00000000:1B:00.0", "00000000:1B:00.0", "000010DE:01:1F.7", "", ""]


def test_only_cards_that_are_the_drivers_count(node):
    node.plug("1b", "43", "52", "61", "9d")
    (node.pci / "0000:1b:00.0" / "class").write_text("0x030000\n")
    (node.pci / "0000:43:00.0" / "class").write_text("0x040300\n")
    (node.pci / "0000:52:00.0" / "driver").symlink_to("/sys/bus/pci/drivers/vfio-pci")
    (node.pci / "0000:61:00.0" / "physfn").symlink_to("../0000:1b:00.0")
    (node.pci / "0000:9d:00.0" / "driver").symlink_to("/sys/bus/pci/drivers/nouveau")

    assert cards_on_bus(node.pci) == ("00000000:1B:00.0", "00000000:9D:00.0")


def test_a_bus_that_cannot_be_read_is_unknown(tmp_path):
    assert cards_on_bus(tmp_path / "none") is None


def test_the_kernel_remembers_a_card_it_initialised_once(node):
    folder = node.proc / "driver" / "nvidia" / "gpus" / "0000:1b:00.0"
    folder.mkdir(parents=True)
    path, uuid = folder / "information", "GPU-a810a1fc-9f46-0e6f-5cef-bf34c2248e12"
    path.write_text(f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\nDevice Minor: \t 3\n")
    known = slot_of(node.proc, "00000000:1B:00.0")
    path.write_text("Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-????????-????-????-????-????????????\n")

    assert known == Slot(uuid, "NVIDIA H100", 3)
    assert (slot_of(node.proc, "00000000:1B:00.0"), slot_of(node.proc, "00000000:43:00.0")) == (None, None)
