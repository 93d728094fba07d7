"""The driver's library by way of nvidia-ml-py: which package answers to `pynvml`, and what its failures mean.

Only the probe's child imports this: NVML is loaded nowhere else.
"""

from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

try:
    import pynvml
except ImportError:
    pynvml = None

nvml: Any = pynvml
# The mismatch is no NVMLError; garbage from the driver is no UTF-8 (gpustat#170), and None meets ctypes (TypeError).
CAUGHT: tuple[type[Exception], ...] = (
    UnicodeDecodeError,
    TypeError,
    *(getattr(nvml, name) for name in ("NVMLError", "NVMLLibraryMismatchError") if hasattr(nvml, name)),
)

NO_PERMISSION = 4
NOT_FOUND = 6
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
LIB_RM_VERSION_MISMATCH = 18
# Codes of nvml.h by which a value is unknown; the others are named by their number.
REASONS = {
    2: "invalid",
    3: "not_supported",
    NO_PERMISSION: "no_permission",
    NOT_FOUND: "not_found",
    8: "power_missing",
    DRIVER_NOT_LOADED: "driver_not_loaded",
    TIMEOUT: "timeout",
    11: "interrupt",
    FUNCTION_NOT_FOUND: "no_function",
    14: "corrupted_inforom",
    GPU_IS_LOST: "lost",
    16: "reset_required",
    999: "unknown",
}
INIT_FAULTS = {
    DRIVER_NOT_LOADED: ("driver_not_loaded", "the NVIDIA kernel module is not loaded: modprobe nvidia, then dmesg"),
    LIBRARY_NOT_FOUND: ("no_library", "libnvidia-ml.so.1 was not found: install the driver's libraries"),
    LIB_RM_VERSION_MISMATCH: (
        "library_mismatch",
        "library and kernel module are of different driver versions: reload the module or reboot",
    ),
}


def package_refusal() -> tuple[str, str] | None:
    """Why this `pynvml` cannot be used, as code and sentence; None if it can."""
    if nvml is None:
        return "no_pynvml", "no module pynvml: pip install nvidia-ml-py"
    # The old package is a folder `pynvml/` and hides nvidia-ml-py's `pynvml.py`.
    if Path(nvml.__file__ or "").name == "pynvml.py":
        return None
    owners = sorted(set(packages_distributions().get("pynvml", ())) - {"nvidia-ml-py"}) or ["pynvml"]
    return (
        "wrong_pynvml",
        f"{nvml.__file__} is not nvidia-ml-py: pip uninstall {' '.join(owners)}, then pip install --force-reinstall "
        "nvidia-ml-py",
    )


def code_of(error: Exception) -> int | None:
    """NVML's number for it; None for what is no answer of NVML."""
    if isinstance(error, getattr(nvml, "NVMLLibraryMismatchError", ())):
        return FUNCTION_NOT_FOUND
    value = getattr(error, "value", None)
    return value if isinstance(value, int) else None


def reason_of(error: Exception) -> str:
    """Why a value is unknown: a word that never changes."""
    code = code_of(error)
    return "not_readable" if code is None else REASONS.get(code, f"nvml_{code}")


def init_refusal(error: Exception) -> tuple[str, str]:
    """Why NVML does not start, as the code and the detail of a node's fault."""
    code = code_of(error)
    return INIT_FAULTS.get(code or 0, ("nvml_unknown", f"nvmlInit: {error} ({reason_of(error)})"))
