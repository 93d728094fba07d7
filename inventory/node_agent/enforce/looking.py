"""The probe's GPUs completed with whose they are, as read back from the devices."""

from collections.abc import Collection
from dataclasses import replace

from inventory.node_agent.enforce.access_lists import read_list, wanted_list
from inventory.node_agent.enforce.devices import DeviceNode, Unit
from inventory.node_agent.enforce.drains import may_hold
from inventory.node_agent.enforce.holders import ROOT
from inventory.node_agent.enforce.passes import Pass
from inventory.node_agent.protocol import Fault, GpuSeen, ProcessSeen


def completed(gpu: GpuSeen, last: Pass, service_uids: Collection[int], *, observe_only: bool, now_s: float) -> GpuSeen:
    """`gpu` with holder, generation, drain, and who may open it; a holder that cannot be proven is None."""
    kept, unit = last.kept.get(gpu.uuid), last.units.get(gpu.uuid)
    wrong = _wrong(unit, last) if last.mode == "enforce" else ""
    faults = gpu.faults + last.faults.get(gpu.uuid, ())
    if wrong and unit is not None and not unit.problem:
        faults += (Fault("access_differs", wrong, now_s),)
    is_known = not observe_only and not wrong and not (kept is not None and kept.is_torn)
    settled = None if kept is None else kept.reached
    return replace(
        gpu,
        holder=(settled.holder if settled else "") if is_known else None,
        generation=settled.generation if settled else 0,
        draining=kept is not None and kept.is_switch and not observe_only,
        access_revision=settled.access_revision if settled else 0,
        ordered_generation=kept.order.generation if kept else 0,
        open_to=_open_to(unit, service_uids),
        processes=None
        if gpu.processes is None
        else tuple(replace(seen, allowed=_allowed(seen, gpu.uuid, last, service_uids)) for seen in gpu.processes),
        faults=faults,
    )


def _wrong(unit: Unit | None, last: Pass) -> str:
    if unit is None or unit.problem:
        return "not mapped to a device"
    return next(filter(None, (_wrong_node(node, last) for node in (*unit.nodes, *unit.shared))), "")


def _wrong_node(node: DeviceNode, last: Pass) -> str:
    proof = last.proofs.get(node.path)
    try:
        status, access = node.path.lstat(), read_list(node.path)
    except OSError as error:
        return f"{node.path}: {error.strerror}"
    wanted = wanted_list(status, last.wanted[node.path], node.permission)
    if access != wanted:
        return f"{node.path} is {access}, wanted {wanted}"
    if proof is None or (proof.inode, proof.access) != ((status.st_dev, status.st_ino), access):
        return f"{node.path} was not tested since it changed"
    return f"{node.path}: {proof.wrong}" if proof.wrong else ""


def _open_to(unit: Unit | None, service_uids: Collection[int]) -> tuple[int, ...] | None:
    if unit is None or unit.problem:
        return None
    found: set[int] | None = None
    for node in (*unit.nodes, *unit.shared):
        try:
            users = read_list(node.path).open_to(node.permission)
        except OSError:
            return None
        if users is None:
            return None
        found = set(users) if found is None else found & set(users)
    return tuple(sorted((found or set()) - set(service_uids)))


def _allowed(seen: ProcessSeen, uuid: str, last: Pass, service_uids: Collection[int]) -> bool | None:
    kept, unit = last.kept.get(uuid), last.units.get(uuid)
    # On a card in MIG instances it is the instance that says whose it is.
    if last.mode == "observe" or seen.uid is None or seen.uid == ROOT or (unit is not None and unit.is_divided):
        return None
    return seen.uid in service_uids if kept is None else may_hold(kept, seen.uid, service_uids)
