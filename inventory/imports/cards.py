"""Cards from the words of nvidia-smi: units inside the values, and many words for "not there"."""

import re
from collections import Counter
from collections.abc import Sequence

from inventory.errors import BadFleetFile
from inventory.imports.csv_files import MOST_GPUS
from inventory.imports.declared import DeclaredCard, DeclaredNode

UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
BUS_ID = re.compile(r"[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]")
MIB = re.compile(r"([0-9]{1,8}) MiB")
SERIAL = re.compile(r"[0-9A-Za-z]{4,40}")
# Serials that are made up of one sign are blanks of whoever gave the output away.
BLANK_SERIAL = re.compile(r"(.)\1*|REDACTED")
LONGEST_MODEL = 80


def card(*, uuid: str, pci_bus_id: str, model: str, memory: str, serial: str = "", minor: str = "") -> DeclaredCard:
    """The card, with null for what does not say anything. Raises BadFleetFile when it has no identity."""
    slot = pci_bus_id.upper()
    if not UUID.fullmatch(uuid):
        raise BadFleetFile(1, "uuid", f"{uuid[:60]!r} is no UUID of a card")
    if not BUS_ID.fullmatch(slot):
        raise BadFleetFile(1, "pci.bus_id", f"{pci_bus_id[:40]!r} is no place on a PCI bus")
    if not model or not model.isprintable():
        raise BadFleetFile(1, "name", f"the card in {slot} has no name")
    size = MIB.fullmatch(memory)
    known = SERIAL.fullmatch(serial) and not BLANK_SERIAL.fullmatch(serial)
    return DeclaredCard(
        uuid=uuid,
        pci_bus_id=slot,
        model=model[:LONGEST_MODEL],
        memory_mib=int(size[1]) if size else None,
        serial=serial if known else "",
        minor=int(minor) if minor.isdecimal() and int(minor) < 256 else None,
    )


def machine(node: str, cards: Sequence[DeclaredCard], *, attached: str = "") -> DeclaredNode:
    """The node that has these cards; its model is that of most of them. Raises BadFleetFile.

    `attached`: how many it says it has, which is more where only some were asked about.
    """
    if not cards:
        raise BadFleetFile(1, "gpu", "the machine says that it has no GPU")
    gpus = max(len(cards), int(attached) if attached.isdecimal() else 0)
    if gpus > MOST_GPUS:
        raise BadFleetFile(1, "gpu", f"{gpus} cards are more than {MOST_GPUS}")
    for name in ("uuid", "pci_bus_id"):
        twice = [value for value, count in Counter(getattr(one, name) for one in cards).items() if count > 1]
        if twice:
            raise BadFleetFile(1, name, f"{twice[0]} stands there twice")
    [(model, _count)] = Counter(one.model for one in cards).most_common(1)
    return DeclaredNode(name=node, model=model, gpus=gpus, line=1, cards=tuple(cards))
