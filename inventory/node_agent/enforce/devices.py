"""Which device nodes a GPU or MIG instance is, by the driver's minor number and never by an index."""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inventory.node_agent.enforce.access_lists import READ, READ_WRITE
from inventory.node_agent.enforce.layout import Layout
from inventory.node_agent.protocol import GpuSeen
from inventory.node_agent.seen import NodeSeen

# Documentation/admin-guide/devices.txt: the major number of /dev/nvidiaN.
NVIDIA_MAJOR = 195
GPU_NODE = re.compile(r"nvidia\d+")
CAPABILITY = re.compile(r"(gpu\d+/gi\d+(?:/ci\d+)?/access) (\d+)")
# Before driver 470 an instance was named after its card: MIG-GPU-<uuid>/<GPU instance>/<compute instance>.
OLD_MIG_UUID = re.compile(r"MIG-GPU-[0-9a-fA-F-]+/(\d+)/(\d+)")

# What tells one device from another: ("number", st_rdev, 0) for a driver's, ("inode", st_dev, st_ino) for a stand-in.
Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """One node in /dev and what its users need to do with it."""

    path: Path
    permission: int
    key: Key
    inode: tuple[int, int]
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class Unit:
    """A GPU or MIG instance: the nodes that are its own, those it shares (a MIG instance's card), or why none is known.

    A process holds the unit if it has one of `nodes` open.
    """

    uuid: str
    nodes: tuple[DeviceNode, ...] = ()
    shared: tuple[DeviceNode, ...] = ()
    problem: str = ""
    is_divided: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """A card in the driver's own table, /proc/driver/nvidia/gpus. `uuid` "" until the driver has started it."""

    bus: str
    uuid: str
    minor: int


def cards(layout: Layout) -> tuple[Card, ...]:
    """The driver's own table of cards; it needs no NVML."""
    found = []
    for path in sorted((layout.driver / "gpus").glob("*/information")):
        fields = dict(re.findall(r"^([^:]+):\s*(.*?)\s*$", path.read_text(errors="replace"), re.M))
        if fields.get("Device Minor", "").isdigit():
            uuid = fields.get("GPU UUID", "")
            found.append(Card(bus_id(path.parent.name), "" if "?" in uuid else uuid, int(fields["Device Minor"])))
    return tuple(found)


def bus_id(said: str) -> str:
    """NVML's 00000000:1A:00.0 and the kernel's 0000:1a:00.0 as one text."""
    domain, _, rest = said.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def units(seen: NodeSeen, layout: Layout) -> dict[str, Unit]:
    """Unit uuid -> its nodes: all that the probe saw, and cards that only the driver's own table still names."""
    table = cards(layout)
    by_bus = {card.bus: card for card in table}
    divided = {gpu.parent_uuid for gpu in seen.gpus if gpu.kind == "mig"}
    minors: dict[str, int | str] = {
        gpu.uuid: _minor(gpu, by_bus.get(bus_id(gpu.pci_bus_id))) for gpu in seen.gpus if gpu.kind == "gpu"
    }
    seen_at = {bus_id(gpu.pci_bus_id) for gpu in seen.gpus}
    minors |= {card.uuid: card.minor for card in table if card.uuid and card.bus not in seen_at}
    times = Counter(minors.values())
    found = {
        uuid: _card_unit(uuid, minor, times[minor], layout, is_divided=uuid in divided)
        for uuid, minor in minors.items()
    }
    named = capability_minors(layout)
    for gpu in seen.gpus:
        if gpu.kind == "mig":
            card = found.get(gpu.parent_uuid or "")
            found[gpu.uuid] = _instance(gpu.uuid, card, minors, gpu.parent_uuid, seen, named, layout)
    return found


def nodes_of_nobody(claimed: Iterable[Unit], layout: Layout) -> list[DeviceNode]:
    """Nodes of GPUs and MIG instances that exist and are no unit's: another card may be behind them by now."""
    known = {node.path for unit in claimed for node in (*unit.nodes, *unit.shared)}
    found = []
    for path in sorted(layout.devices.glob("nvidia*")):
        if GPU_NODE.fullmatch(path.name) and path not in known:
            found.append(device_node(path, READ_WRITE, layout))
    for minor in capability_minors(layout).values():
        path = _capability_path(minor, layout)
        if path not in known and path.exists():
            found.append(device_node(path, READ, layout))
    return [node for node in found if not isinstance(node, str)]


def device_node(path: Path, permission: int, layout: Layout, number: int | None = None) -> DeviceNode | str:
    """The node at `path`, or why it is not the one that is wanted. `number`: what its device number must be."""
    try:
        status = path.lstat()
    except OSError as error:
        return f"{path}: {error.strerror}"
    if not stat.S_ISCHR(status.st_mode):
        return f"{path} is no character device"
    if layout.are_stand_ins:
        key: Key = ("inode", status.st_dev, status.st_ino)
    elif number is not None and status.st_rdev != number:
        return f"{path} is device {os.major(status.st_rdev)}:{os.minor(status.st_rdev)}, not the driver's"
    else:
        key = ("number", status.st_rdev, 0)
    return DeviceNode(path, permission, key, (status.st_dev, status.st_ino), status)


def capability_minors(layout: Layout) -> dict[str, int]:
    """`gpu0/gi1/ci0/access` -> N of /dev/nvidia-caps/nvidia-capN; empty where there is no MIG."""
    try:
        text = layout.mig_minors.read_text()
    except OSError:
        return {}
    return {match[1]: int(match[2]) for match in map(CAPABILITY.fullmatch, text.splitlines()) if match}


def instance_ids(uuid: str, seen: NodeSeen) -> tuple[int, int] | None:
    """The ids of the GPU instance and the compute instance of a MIG unit."""
    if uuid in seen.instances:
        return seen.instances[uuid]
    match = OLD_MIG_UUID.fullmatch(uuid)
    return (int(match[1]), int(match[2])) if match else None


def _minor(gpu: GpuSeen, card: Card | None) -> int | str:
    if card is None:
        return f"the driver's own table has no card at {gpu.pci_bus_id}"
    if card.uuid and card.uuid != gpu.uuid:
        return f"the driver's own table says {card.uuid} at {gpu.pci_bus_id}"
    if gpu.minor is not None and gpu.minor != card.minor:
        return f"NVML says minor {gpu.minor}, the driver's own table {card.minor}"
    return card.minor


def _card_unit(uuid: str, minor: int | str, times: int, layout: Layout, *, is_divided: bool) -> Unit:
    if isinstance(minor, str):
        return Unit(uuid, problem=minor)
    if times > 1:
        return Unit(uuid, problem=f"two cards say minor {minor}")
    path = layout.devices / f"nvidia{minor}"
    node = device_node(path, READ_WRITE, layout, os.makedev(NVIDIA_MAJOR, minor))
    return Unit(uuid, problem=node) if isinstance(node, str) else Unit(uuid, (node,), is_divided=is_divided)


def _instance(
    uuid: str,
    card: Unit | None,
    minors: dict[str, int | str],
    parent: str | None,
    seen: NodeSeen,
    named: dict[str, int],
    layout: Layout,
) -> Unit:
    if card is None or card.problem:
        return Unit(uuid, problem=card.problem if card else "its card is not seen")
    ids = instance_ids(uuid, seen)
    if ids is None:
        return Unit(uuid, problem="its instance ids are not known")
    within = f"gpu{minors[parent or '']}/gi{ids[0]}"
    nodes = []
    for name in (f"{within}/access", f"{within}/ci{ids[1]}/access"):
        if name not in named:
            return Unit(uuid, problem=f"the driver's table of MIG devices has no {name}")
        node = device_node(_capability_path(named[name], layout), READ, layout)
        if isinstance(node, str):
            return Unit(uuid, problem=node)
        nodes.append(node)
    return Unit(uuid, tuple(nodes), card.nodes)


def _capability_path(minor: int, layout: Layout) -> Path:
    return layout.devices / "nvidia-caps" / f"nvidia-cap{minor}"
