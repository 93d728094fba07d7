"""How bad each fault is, and which ones no good reading can disprove: pure."""

import re

# What surveys find themselves; every other code is an agent's.
LOST, STALE, CONFLICT, CARDS_MISSING, SILENT = "lost", "stale", "uuid_conflict", "cards_missing", "silent"
OWN = frozenset({LOST, STALE, CONFLICT, CARDS_MISSING, SILENT})

# Nothing can be computed there, or what is computed may be wrong. What is in neither list: look soon.
OUT = frozenset({
    LOST, SILENT, CONFLICT, "hung", "not_answering", "no_permission", "power_missing", "interrupt",
    "corrupted_inforom", "reset_required", "ecc_uncorrected", "remap_failed", "recovery_needed",
    "driver_not_loaded", "no_library", "library_mismatch", "nvml_unknown", "no_pynvml", "wrong_pynvml", "probe_stuck",
})  # fmt: skip
NOTE = frozenset({"persistence_off", "pages_retired", "not_ready_to_enforce"})

XID = re.compile(r"xid[ _]?(?P<number>[0-9]+)?")
# Faults of the application, not of the card: NVIDIA/k8s-device-plugin skips the same ones.
APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
# Memory, NVLink, bus and firmware, in NVIDIA's list of Xids: a reset, a reboot or a new card.
BAD_XIDS = frozenset({48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 149})
NUMBER = re.compile(r"[0-9]+")


def severity(code: str, evidence: str) -> str:
    """`out`, `warn` or `note`; "" for what is no ill health."""
    if XID.match(code):
        number = xid(code, evidence)
        return "" if number in APPLICATION_XIDS else "out" if number in BAD_XIDS else "warn"
    return "out" if code in OUT else "note" if code in NOTE else "warn"


def xid(code: str, evidence: str) -> int | None:
    """The number of an Xid, which stands in the code or comes first in the evidence."""
    match = XID.match(code)
    said = (match["number"] if match else None) or ((first := NUMBER.search(evidence)) and first[0])
    return int(said) if said else None


def is_told_once(code: str) -> bool:
    """Whether the driver says it once, so that an agent that began anew cannot know of it."""
    return XID.match(code) is not None
