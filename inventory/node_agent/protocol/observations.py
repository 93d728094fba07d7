"""What a node sees, to and from the wire: values that cannot be become unknown, never 0."""

from typing import Any

from inventory.node_agent.protocol.fields import (
    PROTOCOL,
    Malformed,
    holder,
    known_protocol,
    listed,
    read_object,
    seconds,
    text,
    truth,
    whole,
    write_object,
)
from inventory.node_agent.protocol.values import GpuSeen, Health, Observation, ProcessSeen, Value

IMPLAUSIBLE = "implausible"
# Drivers have answered 4294967295 % and 9.2e18 % (NVIDIA/DCGM#199, NVIDIA/gpu-monitoring-tools#152).
UTIL_MOST_PCT = 100
# No accelerator draws it; the largest announced board is at 1.4 kW.
POWER_MOST_W = 3000
# Silicon shuts itself down far below.
TEMPERATURE_MOST_C = 130
# 4 TiB, some fifteen times the largest card; more does not fit the column either.
MEMORY_MOST_MIB = 4 * 1024 * 1024
# `used` may count firmware reserves that `total` leaves out.
MEMORY_USED_SLACK = 1.01
# Linux's own limit of pid_max.
PID_MOST = 2**22
# 16 cards of 7 MIG instances each are 128 units with their parents.
UNITS_MOST = 512
PROCESSES_MOST = 4096


def parse_observation(body: bytes) -> Observation:
    """The observation in `body`. Raises Malformed with the field, as `gpus[3].values.util_pct`."""
    raw = read_object(body)
    known_protocol(raw)
    gpus: list[GpuSeen] = []
    for index, item in enumerate(listed(raw, "gpus", UNITS_MOST)):
        try:
            gpus.append(_parse_gpu(item))
        except Malformed as error:
            raise error.under(f"gpus[{index}]") from error
    if len({gpu.uuid for gpu in gpus}) != len(gpus):
        raise Malformed("gpus", "one uuid stands twice")
    return Observation(text(raw, "node"), text(raw, "boot_id"), whole(raw, "sequence"), tuple(gpus))


def _parse_gpu(raw: Any) -> GpuSeen:
    if type(raw) is not dict:
        raise Malformed("gpu", "not an object")
    kind = raw.get("kind")
    if kind not in ("gpu", "mig"):
        raise Malformed("kind", "neither gpu nor mig")
    if kind == "gpu" and raw.get("parent_uuid") is not None:
        raise Malformed("parent_uuid", "a whole GPU has no parent")
    values = raw.get("values")
    if type(values) is not dict:
        raise Malformed("values", "not an object")
    total_mib = _memory_total(raw)
    used_most_mib = (total_mib or MEMORY_MOST_MIB) * MEMORY_USED_SLACK
    return GpuSeen(
        text(raw, "uuid"),
        text(raw, "pci_bus_id"),
        kind,
        None if kind == "gpu" else text(raw, "parent_uuid"),
        text(raw, "model"),
        total_mib,
        truth(raw, "lost"),
        holder(raw),
        whole(raw, "generation"),
        truth(raw, "draining"),
        _parse_value(values, "util_pct", UTIL_MOST_PCT),
        _parse_value(values, "mem_used_mib", used_most_mib),
        _parse_value(values, "power_w", POWER_MOST_W),
        _parse_value(values, "temperature_c", TEMPERATURE_MOST_C),
        _parse_processes(raw),
    )


def _memory_total(raw: dict[str, Any]) -> int | None:
    total = raw.get("memory_total_mib")
    if total is None:
        return None
    if type(total) is not int:
        raise Malformed("memory_total_mib", "neither a whole number nor null")
    return total if 0 < total <= MEMORY_MOST_MIB else None


def _parse_value(values: dict[str, Any], field: str, most: float) -> Value:
    item = values.get(field)
    if type(item) is not dict or "value" not in item:
        raise Malformed(f"values.{field}", "not an object with value, reason and age_s")
    value = item["value"]
    try:
        age_s = seconds(item, "age_s")
        if value is None:
            return Value(None, text(item, "reason"), age_s)
    except Malformed as error:
        raise error.under(f"values.{field}") from error
    if type(value) not in (int, float):
        raise Malformed(f"values.{field}.value", "neither a number nor null")
    # NaN fails both comparisons.
    return Value(value, None, age_s) if 0 <= value <= most else Value(None, IMPLAUSIBLE, age_s)


def _parse_processes(raw: dict[str, Any]) -> tuple[ProcessSeen, ...] | None:
    if "processes" not in raw:
        raise Malformed("processes", "missing; null when unknown")
    if raw["processes"] is None:
        return None
    found = []
    for index, item in enumerate(listed(raw, "processes", PROCESSES_MOST)):
        if type(item) is not dict:
            raise Malformed(f"processes[{index}]", "not an object")
        try:
            pid = whole(item, "pid")
            process = ProcessSeen(pid, text(item, "user"), seconds(item, "started_at_s"), _process_memory(item))
        except Malformed as error:
            raise error.under(f"processes[{index}]") from error
        if not 0 < pid <= PID_MOST:
            # A garbage row says that the list is garbage: dropping it could make a used GPU look free.
            return None
        found.append(process)
    return tuple(found)


def _process_memory(raw: dict[str, Any]) -> int | None:
    mem_mib = raw.get("mem_mib")
    if mem_mib is None:
        return None
    if type(mem_mib) is not int:
        raise Malformed("mem_mib", "neither a whole number nor null")
    return mem_mib if 0 <= mem_mib <= MEMORY_MOST_MIB else None


def dump_observation(observation: Observation) -> bytes:
    """The bytes that `parse_observation` reads back as the same observation."""
    return write_object(
        {
            "protocol": PROTOCOL,
            "node": observation.node,
            "boot_id": observation.boot_id,
            "sequence": observation.sequence,
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
        "values": {
            "util_pct": _dump_value(gpu.util_pct),
            "mem_used_mib": _dump_value(gpu.mem_used_mib),
            "power_w": _dump_value(gpu.power_w),
            "temperature_c": _dump_value(gpu.temperature_c),
        },
        "processes": None
        if gpu.processes is None
        else [
            {"pid": seen.pid, "user": seen.user, "started_at_s": seen.started_at_s, "mem_mib": seen.mem_mib}
            for seen in gpu.processes
        ],
    }


def _dump_value(value: Value) -> dict[str, Any]:
    return {"value": value.value, "reason": value.reason, "age_s": value.age_s}


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
