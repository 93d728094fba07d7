"""What a node sees and how it does, to and from the wire."""

from typing import Any

from inventory.node_agent.protocol.fields import (
    PROTOCOL,
    Malformed,
    known_protocol,
    listed,
    optional_text,
    optional_whole,
    read_object,
    text,
    whole,
    write_object,
)
from inventory.node_agent.protocol.gpus import parse_faults, parse_gpu
from inventory.node_agent.protocol.orders import parse_mode
from inventory.node_agent.protocol.values import NOT_REPORTED, Fault, GpuSeen, Health, Observation, ProcessSeen, Value

# 16 cards of 7 MIG instances each are 128 units with their parents.
UNITS_MOST = 512
FIRST_VALUES = ("util_pct", "mem_used_mib", "power_w", "temperature_c")
LATER_VALUES = ("util_peak_pct", "engine_pct", "mem_reserved_mib", "energy_j", "power_limit_w")


def parse_observation(body: bytes) -> Observation:
    """The observation in `body`. Raises Malformed with the field, as `gpus[3].values.util_pct`."""
    raw = read_object(body)
    known_protocol(raw)
    gpus: list[GpuSeen] = []
    for index, item in enumerate(listed(raw, "gpus", UNITS_MOST)):
        try:
            gpus.append(parse_gpu(item))
        except Malformed as error:
            raise error.under(f"gpus[{index}]") from error
    if len({gpu.uuid for gpu in gpus}) != len(gpus):
        raise Malformed("gpus", "one uuid stands twice")
    return Observation(
        text(raw, "node"),
        text(raw, "boot_id"),
        whole(raw, "sequence"),
        tuple(gpus),
        # An agent that knows no modes enforces, as all did then.
        parse_mode(raw) if "mode" in raw else "enforce",
        optional_text(raw, "agent"),
        optional_text(raw, "driver"),
        optional_whole(raw, "cards_on_bus"),
        parse_faults(raw),
    )


def dump_observation(observation: Observation) -> bytes:
    """The bytes that `parse_observation` reads back as the same observation."""
    return write_object(
        {
            "protocol": PROTOCOL,
            "node": observation.node,
            "boot_id": observation.boot_id,
            "sequence": observation.sequence,
            "mode": observation.mode,
            "agent": observation.agent,
            "driver": observation.driver,
            "cards_on_bus": observation.cards_on_bus,
            "faults": _dump_faults(observation.faults),
            "gpus": [_dump_gpu(gpu) for gpu in observation.gpus],
        }
    )


def _dump_gpu(gpu: GpuSeen) -> dict[str, Any]:
    return {
        "uuid": gpu.uuid,
        "pci_bus_id": gpu.pci_bus_id,
        "kind": gpu.kind,
        "parent_uuid": gpu.parent_uuid,
        "model": gpu.model,
        "memory_total_mib": gpu.memory_total_mib,
        "lost": gpu.lost,
        "holder": gpu.holder,
        "generation": gpu.generation,
        "draining": gpu.draining,
        "minor": gpu.minor,
        "serial": gpu.serial,
        "unified_memory": gpu.unified_memory,
        "faults": _dump_faults(gpu.faults),
        "access_revision": gpu.access_revision,
        "ordered_generation": gpu.ordered_generation,
        "open_to": None if gpu.open_to is None else list(gpu.open_to),
        "values": _dump_values(gpu),
        "processes": None if gpu.processes is None else [_dump_process(seen) for seen in gpu.processes],
    }


def _dump_values(gpu: GpuSeen) -> dict[str, Any]:
    values = {name: _dump_value(getattr(gpu, name)) for name in FIRST_VALUES}
    later = {name: value for name in LATER_VALUES if (value := getattr(gpu, name)) != NOT_REPORTED}
    return values | {name: _dump_value(value) for name, value in later.items()}


def _dump_value(value: Value) -> dict[str, Any]:
    return {"value": value.value, "reason": value.reason, "age_s": value.age_s}


def _dump_process(seen: ProcessSeen) -> dict[str, Any]:
    return {
        "pid": seen.pid,
        "user": seen.user,
        "started_at_s": seen.started_at_s,
        "mem_mib": seen.mem_mib,
        "uid": seen.uid,
        "name": seen.name,
        "job": seen.job,
        "zombie": seen.zombie,
        "allowed": seen.allowed,
    }


def _dump_faults(faults: tuple[Fault, ...]) -> list[dict[str, Any]]:
    return [{"code": fault.code, "detail": fault.detail, "since_s": fault.since_s} for fault in faults]


def parse_health(body: bytes) -> Health:
    """The health in `body`. Raises Malformed."""
    raw = read_object(body)
    known_protocol(raw)
    versions = raw.get("versions")
    if type(versions) is not dict:
        raise Malformed("versions", "not an object")
    return Health(
        text(raw, "node"),
        text(raw, "boot_id"),
        {text({"name": part}, "name"): text(versions, part) for part in versions},
    )


def dump_health(health: Health) -> bytes:
    """The bytes that `parse_health` reads back."""
    return write_object(
        {"protocol": PROTOCOL, "node": health.node, "boot_id": health.boot_id, "versions": health.versions}
    )
