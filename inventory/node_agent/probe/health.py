"""How a card does: what the driver counts against it. Numbers only; what they mean stands in `faults`."""

from inventory.node_agent.probe.asking import Asking
from inventory.node_agent.probe.cards import union_number
from inventory.node_agent.probe.loading import nvml

EVERY_S = 60.0
# Field ids of nvml.h: one call for what would be eight.
FIELDS = {
    4: "ecc_uncorrected",
    29: "retired_single",
    30: "retired_double",
    31: "retire_pending",
    143: "rows_remapped",
    144: "remap_pending",
    145: "remap_failure",
    230: "recovery_action",
}


def look(asking: Asking, handle: object) -> dict[str, int]:
    """What is known now, by name; what the card does not tell is left out."""
    found = _fields(asking, handle) or _one_by_one(asking, handle)
    throttle = asking.ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if throttle.reason == "no_function":
        throttle = asking.ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    persistence = asking.ask("nvmlDeviceGetPersistenceMode", handle)
    for name, answer in (("throttle", throttle), ("persistence", persistence)):
        if answer.reason is None:
            found[name] = int(answer.value)
    return found


def _fields(asking: Asking, handle: object) -> dict[str, int]:
    answer = asking.ask("nvmlDeviceGetFieldValues", handle, list(FIELDS))
    if answer.reason is not None:
        return {}
    # Each value carries its own verdict; the call as a whole says nothing.
    return {
        FIELDS[row.fieldId]: int(union_number(row.valueType, row.value))
        for row in answer.value
        if row.nvmlReturn == 0 and row.fieldId in FIELDS
    }


def _one_by_one(asking: Asking, handle: object) -> dict[str, int]:
    """The same from drivers that know no fields."""
    found = {}
    ecc = asking.ask(
        "nvmlDeviceGetTotalEccErrors", handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
    )
    if ecc.reason is None:
        found["ecc_uncorrected"] = int(ecc.value)
    rows = asking.ask("nvmlDeviceGetRemappedRows", handle)
    if rows.reason is None:
        _, found["rows_remapped"], found["remap_pending"], found["remap_failure"] = rows.value
    pending = asking.ask("nvmlDeviceGetRetiredPagesPendingStatus", handle)
    if pending.reason is None:
        found["retire_pending"] = int(pending.value)
    return found
