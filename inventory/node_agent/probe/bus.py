"""The NVIDIA cards that the PCI bus shows, whether or not the driver does."""

import re
from pathlib import Path
from typing import NamedTuple

NVIDIA = "0x10de"
# Display and 3D controllers; audio, USB and bridges of the same boards are other classes.
CARD_CLASSES = ("0x0300", "0x0302")
ADDRESS = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")

# Question marks stand there until the card was initialised once.
UUID = re.compile(r"GPU-[0-9a-f-]{36}")


def bus_id(address: str) -> str:
    """The PCI address as NVML writes it, `00000000:1B:00.0`; "" if it is none."""
    found = ADDRESS.fullmatch(address)
    if not found:
        return ""
    domain, bus, device, function = (int(part, 16) for part in found.groups())
    return f"{domain:08X}:{bus:02X}:{device:02X}.{function}"


def cards_on_bus(devices: Path) -> tuple[str, ...] | None:
    """The bus ids of the cards that should be the driver's, sorted; None where the bus cannot be read.

    Left out are cards given away to virtual machines, and the virtual functions of a card.
    """
    try:
        folders = sorted(devices.iterdir())
    except OSError:
        return None
    return tuple(bus_id(folder.name) for folder in folders if _is_card(folder))


class Slot(NamedTuple):
    """What the kernel module remembers of the card in a slot."""

    uuid: str
    model: str
    minor: int | None


def slot_of(proc: Path, bus: str) -> Slot | None:
    """The card that NVML does not open; None where the module was not loaded, or never got so far itself."""
    # Here a PCI domain has four digits.
    path = proc / "driver" / "nvidia" / "gpus" / bus[4:].lower() / "information"
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    said = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    minor = said.get("Device Minor", "")
    if not UUID.fullmatch(said.get("GPU UUID", "")):
        return None
    return Slot(said["GPU UUID"], said.get("Model") or "NVIDIA GPU", int(minor) if minor.isdecimal() else None)


def _is_card(folder: Path) -> bool:
    given_away = (folder / "driver").is_symlink() and (folder / "driver").readlink().name == "vfio-pci"
    return (
        bool(bus_id(folder.name))
        and _word(folder / "vendor") == NVIDIA
        and _word(folder / "class")[:6] in CARD_CLASSES
        and not given_away
        and not (folder / "physfn").exists()
    )


def _word(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip().lower()
    except OSError:
        # The card may leave the bus while we look.
        return ""
