"""The text page of a dcgm-exporter as an observation: what it does not say is unknown, never 0."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from inventory.drivers.base import Fault, GpuSeen, Observation, Value
from inventory.node_agent.protocol import ENERGY_MOST_J, IMPLAUSIBLE, NOT_REPORTED, POWER_MOST_W, TEMPERATURE_MOST_C

# Fields of DCGM (dcgm_fields.h) that the exporter's default or usual counter files name.
UTIL = "DCGM_FI_DEV_GPU_UTIL"  # %
GRAPHICS_ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"  # 0..1; the only one that says something under MIG
ENGINES = ("DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL")  # %
MEMORY_USED, MEMORY_FREE, MEMORY_RESERVED = (
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_FB_RESERVED",
)  # MiB
POWER = "DCGM_FI_DEV_POWER_USAGE"  # W
ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"  # mJ
TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"  # C
ROWS_FAILED = "DCGM_FI_DEV_ROW_REMAP_FAILURE"  # 0 or 1
STARTED = "process_start_time_seconds"
# The exporter collects every 30 s unless told otherwise, and does not say when it did.
AGE_S = 30.0
MIB_MOST = 4 * 1024 * 1024


class BadPage(ValueError):
    """The page is none of a dcgm-exporter; the message says where."""


def read_page(page: bytes, *, node: str, sequence: int) -> Observation:
    """What the page says of the GPUs of `node`. Raises BadPage.

    A card in MIG mode is shown with its instances, as far as the exporter names them.
    """
    boot_id, units = "dcgm", defaultdict[tuple[str, str], dict[str, float]](dict)
    labels: dict[tuple[str, str], dict[str, str]] = {}
    for sample in _samples(page):
        if sample.name == STARTED:
            boot_id = f"dcgm-{sample.value:.0f}"
        if not sample.name.startswith("DCGM_FI_") or not sample.labels.get("UUID"):
            continue
        unit = sample.labels["UUID"], sample.labels.get("GPU_I_ID", "")
        if not all(text.isprintable() for text in sample.labels.values()):
            raise BadPage(f"a label of {sample.name} cannot be printed")
        labels.setdefault(unit, sample.labels)
        units[unit][sample.name] = sample.value
    if not units:
        raise BadPage("no DCGM_FI_ field with a UUID")
    cut = {uuid for uuid, instance in units if instance}
    gpus = tuple(_unit(*unit, labels[unit], values, unit[0] in cut) for unit, values in _with_cards(units, labels))
    driver = next((seen["DCGM_FI_DRIVER_VERSION"] for seen in labels.values() if "DCGM_FI_DRIVER_VERSION" in seen), "")
    return Observation(node, boot_id, sequence, gpus, mode="observe", driver=driver)


def _samples(page: bytes) -> Iterable[Any]:
    try:
        for family in text_string_to_metric_families(page.decode()):
            yield from family.samples
    except (ValueError, IndexError, KeyError) as error:
        raise BadPage(f"not a page of metrics ({error})") from error


def _with_cards(
    units: dict[tuple[str, str], dict[str, float]], labels: dict[tuple[str, str], dict[str, str]]
) -> list[tuple[tuple[str, str], dict[str, float]]]:
    """The units, each card before its instances; a card that only its instances name is there without values."""
    for uuid, instance in list(units):
        if instance and (uuid, "") not in units:
            labels[uuid, ""] = labels[uuid, instance]
            units[uuid, ""] = {}
    return sorted(units.items())


def _unit(uuid: str, instance: str, labels: dict[str, str], values: dict[str, float], is_cut: bool) -> GpuSeen:
    total_mib = _total_mib(values)
    util_pct = _number(values, UTIL, 100)
    if instance or is_cut:
        # Under MIG the card's own use is not measured: what stands there is 0 or stale (dcgm-exporter#105, #216).
        util_pct = Value(None, "mig", AGE_S)
    if GRAPHICS_ACTIVE in values and (instance or util_pct.value is None):
        util_pct = _number(values, GRAPHICS_ACTIVE, 100, times=100)
    engines = [_number(values, name, 100) for name in ENGINES if name in values]
    return GpuSeen(
        uuid=f"MIG-{uuid}/{instance}/0" if instance else uuid,
        pci_bus_id=labels.get("pci_bus_id", "").upper() or f"gpu{labels.get('gpu', '?')}",
        kind="mig" if instance else "gpu",
        parent_uuid=uuid if instance else None,
        model=labels.get("modelName") or "unknown",
        memory_total_mib=total_mib,
        lost=False,
        holder=None,
        generation=0,
        draining=False,
        util_pct=util_pct,
        mem_used_mib=_number(values, MEMORY_USED, total_mib or MIB_MOST),
        power_w=_number(values, POWER, POWER_MOST_W),
        temperature_c=_number(values, TEMPERATURE, TEMPERATURE_MOST_C),
        processes=None,
        engine_pct=max(engines, key=lambda one: -1 if one.value is None else one.value, default=NOT_REPORTED),
        mem_reserved_mib=_number(values, MEMORY_RESERVED, total_mib or MIB_MOST),
        energy_j=_number(values, ENERGY, ENERGY_MOST_J, times=0.001),
        faults=(Fault("remap_failure", f"{ROWS_FAILED} is 1", 0.0),) if values.get(ROWS_FAILED) == 1 else (),
    )


def _total_mib(values: dict[str, float]) -> int | None:
    parts = [values.get(name) for name in (MEMORY_USED, MEMORY_FREE)]
    if None in parts:
        return None
    total = sum(part for part in parts if part is not None) + values.get(MEMORY_RESERVED, 0)
    return int(total) if 0 < total <= MIB_MOST else None


def _number(values: dict[str, float], name: str, most: float, *, times: float = 1) -> Value:
    if name not in values:
        return NOT_REPORTED
    value = values[name] * times
    # NaN fails both comparisons.
    return Value(value, None, AGE_S) if 0 <= value <= most else Value(None, IMPLAUSIBLE, AGE_S)
