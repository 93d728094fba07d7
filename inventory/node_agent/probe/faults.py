"""From what the driver counts to what is wrong: codes that never change, with their evidence. Pure.

What to do about each code stands in docs/node-agent.md.
"""

from collections.abc import Iterator, Mapping

# What a card answers instead of a value -> the code of the fault.
CARD_ERRORS = {
    4: "no_permission",
    8: "power_missing",
    11: "interrupt",
    14: "corrupted_inforom",
    15: "lost",
    16: "reset_required",
}
LOST = 15
# Clocks held down by what is no choice of anybody: hardware slowdown, heat (two kinds), power brake.
THROTTLES = {
    0x08: "the hardware slows down",
    0x20: "too hot (driver)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}
RECOVERY_ACTIONS = {
    1: "reset the GPU",
    2: "reboot the node",
    3: "drain peer-to-peer traffic",
    4: "drain and reset the GPU",
    5: "recover the IMEX domain",
    6: "reset the bus",
    7: "reboot the system",
}


def of_errors(errors: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Code and detail for what the card itself answered. `errors`: NVML's number -> the call."""
    for number, call in sorted(errors.items()):
        yield CARD_ERRORS.get(number, "not_answering"), f"{call} answered {number}"


def of_health(health: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Code and detail for each counter that says something; one that is not known says nothing."""
    if count := health.get("ecc_uncorrected"):
        yield "ecc_uncorrected", f"{count} uncorrected memory errors since the driver was loaded"
    if health.get("remap_failure"):
        yield "remap_failed", f"a memory row could not be replaced ({health.get('rows_remapped', '?')} were before)"
    if health.get("remap_pending"):
        yield "remap_pending", "a memory row is replaced at the next reset of the GPU"
    if health.get("retire_pending"):
        yield "retire_pending", "memory pages are taken out of use at the next reset of the GPU"
    if pages := health.get("retired_double"):
        yield "pages_retired", f"{pages} memory pages are out of use after double-bit errors"
    if action := health.get("recovery_action"):
        yield "recovery_needed", f"the driver asks: {RECOVERY_ACTIONS.get(action, f'action {action}')}"
    if reasons := [said for bit, said in THROTTLES.items() if health.get("throttle", 0) & bit]:
        yield "throttled", "; ".join(reasons)
    if health.get("persistence") == 0:
        yield "persistence_off", "each first use initialises the GPU anew"
