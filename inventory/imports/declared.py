"""Nodes and cards as files declare them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeclaredCard:
    """A card that a machine's own output names. `serial` "" and `minor` None: it does not say."""

    uuid: str
    pci_bus_id: str
    model: str
    memory_mib: int | None = None
    serial: str = ""
    minor: int | None = None


@dataclass(frozen=True, slots=True)
class DeclaredNode:
    """One node. `site` and `island` "": the file does not say; `labels` are added to those the node has.

    `cards`: those it is known to have, none where the file only counts them.
    """

    name: str
    model: str
    gpus: int
    line: int
    site: str = ""
    island: str = ""
    labels: dict[str, str | int] = field(default_factory=dict)
    cards: tuple[DeclaredCard, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetFile:
    """`nodes` in the order of the file; `left_out`: (name, why) of what is there and not ours to declare."""

    nodes: list[DeclaredNode]
    left_out: list[tuple[str, str]] = field(default_factory=list)
