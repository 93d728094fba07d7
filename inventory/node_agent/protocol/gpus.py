"""One GPU and its processes, from the wire: values that cannot be become unknown, never 0."""

from typing import Any

from inventory.node_agent.protocol.fields import (
    Malformed,
    holder,
    listed,
    optional_text,
    optional_truth,
    optional_whole,
    seconds,
    text,
    truth,
    whole,
)
from inventory.node_agent.protocol.orders import UNIX_ID_MOST, UNIX_IDS_MOST
from inventory.node_agent.protocol.values import NOT_REPORTED, Fault, GpuSeen, ProcessSeen, Value

IMPLAUSIBLE = "implausible"
# Drivers have answered 4294967295 % and 9.2e18 % (NVIDIA/DCGM#199, NVIDIA/gpu-monitoring-tools#152).
UTIL_MOST_PCT = 100
# No accelerator draws it; the largest announced board is at 1.4 kW.
POWER_MOST_W = 3000
# 3 kW for ten years.
ENERGY_MOST_J = 1e12
# Silicon shuts itself down far below.
TEMPERATURE_MOST_C = 130
# 4 TiB, some fifteen times the largest card; more does not fit the column either.
MEMORY_MOST_MIB = 4 * 1024 * 1024
# `used` may count firmware reserves that `total` leaves out.
MEMORY_USED_SLACK = 1.01
# Linux's own limit of pid_max.
PID_MOST = 2**22
PROCESSES_MOST = 4096
FAULTS_MOST = 64


def parse_gpu(raw: Any) -> GpuSeen:
    """One GPU of an observation. Raises Malformed with the field."""
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
        None if "holder" in raw and raw["holder"] is None else holder(raw),
        whole(raw, "generation"),
        truth(raw, "draining"),
        _value(values, "util_pct", UTIL_MOST_PCT),
        _value(values, "mem_used_mib", used_most_mib),
        _value(values, "power_w", POWER_MOST_W),
        _value(values, "temperature_c", TEMPERATURE_MOST_C),
        _processes(raw),
        _later_value(values, "util_peak_pct", UTIL_MOST_PCT),
        _later_value(values, "engine_pct", UTIL_MOST_PCT),
        _later_value(values, "mem_reserved_mib", used_most_mib),
        _later_value(values, "energy_j", ENERGY_MOST_J),
        _later_value(values, "power_limit_w", POWER_MOST_W),
        optional_whole(raw, "minor"),
        optional_text(raw, "serial"),
        optional_truth(raw, "unified_memory") or False,
        parse_faults(raw),
        _open_to(raw),
        optional_whole(raw, "access_revision") or 0,
        optional_whole(raw, "ordered_generation") or 0,
    )


def parse_faults(raw: dict[str, Any]) -> tuple[Fault, ...]:
    """The faults of a GPU or a node; none where the other side does not say any. Raises Malformed."""
    if raw.get("faults") is None:
        return ()
    found = []
    for index, item in enumerate(listed(raw, "faults", FAULTS_MOST)):
        if type(item) is not dict:
            raise Malformed(f"faults[{index}]", "not an object")
        try:
            found.append(Fault(text(item, "code"), optional_text(item, "detail"), seconds(item, "since_s")))
        except Malformed as error:
            raise error.under(f"faults[{index}]") from error
    return tuple(found)


def _memory_total(raw: dict[str, Any]) -> int | None:
    total = raw.get("memory_total_mib")
    if total is None:
        return None
    if type(total) is not int:
        raise Malformed("memory_total_mib", "neither a whole number nor null")
    return total if 0 < total <= MEMORY_MOST_MIB else None


def _later_value(values: dict[str, Any], field: str, most: float) -> Value:
    return _value(values, field, most) if field in values else NOT_REPORTED


def _value(values: dict[str, Any], field: str, most: float) -> Value:
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


def _processes(raw: dict[str, Any]) -> tuple[ProcessSeen, ...] | None:
    if "processes" not in raw:
        raise Malformed("processes", "missing; null when unknown")
    if raw["processes"] is None:
        return None
    found = []
    for index, item in enumerate(listed(raw, "processes", PROCESSES_MOST)):
        if type(item) is not dict:
            raise Malformed(f"processes[{index}]", "not an object")
        try:
            process = _process(item)
        except Malformed as error:
            raise error.under(f"processes[{index}]") from error
        if process is None:
            # A garbage row says that the list is garbage: dropping it could make a used GPU look free.
            return None
        found.append(process)
    return tuple(found)


def _process(raw: dict[str, Any]) -> ProcessSeen | None:
    process = ProcessSeen(
        whole(raw, "pid"),
        text(raw, "user"),
        seconds(raw, "started_at_s"),
        _process_memory(raw),
        optional_whole(raw, "uid"),
        optional_text(raw, "name"),
        optional_text(raw, "job"),
        optional_truth(raw, "zombie") or False,
        optional_truth(raw, "allowed"),
    )
    return process if 0 < process.pid <= PID_MOST else None


def _process_memory(raw: dict[str, Any]) -> int | None:
    mem_mib = raw.get("mem_mib")
    if mem_mib is None:
        return None
    if type(mem_mib) is not int:
        raise Malformed("mem_mib", "neither a whole number nor null")
    return mem_mib if 0 <= mem_mib <= MEMORY_MOST_MIB else None


def _open_to(raw: dict[str, Any]) -> tuple[int, ...] | None:
    if raw.get("open_to") is None:
        return None
    ids = listed(raw, "open_to", UNIX_IDS_MOST)
    if any(type(unix_id) is not int or not 0 <= unix_id <= UNIX_ID_MOST for unix_id in ids):
        raise Malformed("open_to", "not a list of user ids")
    return tuple(ids)
