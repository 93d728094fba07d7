"""What a node needs before enforcement may be switched on, each with what to do about it."""

import grp
import pwd
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inventory.node_agent.enforce.access_lists import read_list
from inventory.node_agent.enforce.devices import DeviceNode, Unit
from inventory.node_agent.enforce.layout import Layout

MODPROBE_LINE = "options nvidia NVreg_DeviceFileUID=0 NVreg_DeviceFileGID=0 NVreg_DeviceFileMode=0660"
RELOAD = "then run update-initramfs -u and reboot"
SET_PARAMETERS = f"Write `{MODPROBE_LINE}` to /etc/modprobe.d/allot.conf, {RELOAD}."
# The driver prints the mode as a decimal number: 432 is 0660.
WANTED_PARAMETERS = {"DeviceFileUID": 0, "DeviceFileGID": 0, "DeviceFileMode": 0o660, "ModifyDeviceFiles": 1}
# Members of these become root by a container that they start, and root opens everything.
AS_GOOD_AS_ROOT = ("root", "docker", "lxd", "incus-admin")
# linux/capability.h
CAPABILITIES = {
    "CAP_DAC_READ_SEARCH": 2,
    "CAP_FOWNER": 3,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_SYS_PTRACE": 19,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found, and one sentence on what to do if it is not as it must be."""

    name: str
    passed: bool
    found: str
    remedy: str


def parameter_checks(layout: Layout) -> list[Check]:
    """The driver's parameters: otherwise nvidia-modprobe undoes every access list."""
    path = layout.driver / "params"
    try:
        text = path.read_text()
    except OSError as error:
        return [Check("driver parameters", False, f"{path}: {error.strerror}", "Install and load NVIDIA's driver.")]
    said = {name: int(value) for name, value in re.findall(r"^(\w+): (\d+)$", text, re.M)}
    return [_parameter(name, said.get(name), wanted) for name, wanted in WANTED_PARAMETERS.items()]


def _parameter(name: str, value: int | None, wanted: int) -> Check:
    found = "not shown" if value is None else f"{value} (0{value:o})" if name == "DeviceFileMode" else str(value)
    if name == "DeviceFileMode" and value == 660:
        remedy = f"The leading 0 of 0660 was left out. {SET_PARAMETERS}"
    elif name == "ModifyDeviceFiles":
        remedy = f"Remove NVreg_ModifyDeviceFiles=0 from /etc/modprobe.d, {RELOAD}: nobody would make the devices."
    else:
        remedy = SET_PARAMETERS
    return Check(f"driver parameter {name}", value == wanted, found, remedy)


def device_checks(units: Iterable[Unit]) -> list[Check]:
    """Each GPU has its device, closed to others, on a file system that keeps access lists."""
    checks = []
    for unit in units:
        if unit.problem:
            remedy = "Run nvidia-smi as root once, which makes the devices; if it persists, reboot the node."
            checks.append(Check(f"device of {unit.uuid}", False, unit.problem, remedy))
        checks += [_access(node) for node in unit.nodes if not unit.shared]
    return checks or [Check("devices", False, "no GPU is seen", "See what the driver says: nvidia-smi, dmesg.")]


def _access(node: DeviceNode) -> Check:
    name = f"access to {node.path}"
    try:
        read_list(node.path)
    except OSError as error:
        return Check(name, False, error.strerror or str(error), "Keep /dev on devtmpfs, which has access lists.")
    found = stat.S_IMODE(node.status.st_mode), node.status.st_uid, node.status.st_gid
    return Check(name, found == (0o660, 0, 0), f"{found[0]:o} {found[1]} {found[2]}", SET_PARAMETERS)


def capability_device_checks(units: Iterable[Unit], layout: Layout) -> list[Check]:
    """The driver leaves the capability devices of MIG instances alone."""
    names = {node.path.name.removeprefix("nvidia-cap") for unit in units if unit.shared for node in unit.nodes}
    checks = []
    for path, text in capability_files(layout):
        said = dict(re.findall(r"^(\w+): (\d+)$", text, re.M))
        if said.get("DeviceFileMinor") in names:
            remedy = f"Give the service CAP_DAC_OVERRIDE; or after each MIG change: echo 'DeviceFileModify: 0' > {path}"
            found = f"DeviceFileModify {said.get('DeviceFileModify', 'not shown')}"
            checks.append(Check(f"MIG device {path}", said.get("DeviceFileModify") == "0", found, remedy))
    return checks


def capability_files(layout: Layout) -> list[tuple[Path, str]]:
    """The driver's file of each capability device of MIG instances, and what it says."""
    found = (layout.driver / "capabilities").glob("gpu*/mig/gi*/**/access")
    return [(path, path.read_text(errors="replace")) for path in sorted(found)]


def own_capability_check(proc: Path) -> Check:
    """The agent's own process has the rights that it needs."""
    status = (proc / "self" / "status").read_text()
    match = re.search(r"^CapEff:\s+([0-9a-f]+)$", status, re.M)
    held = int(match[1], 16) if match else 0
    lacking = [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]
    remedy = "Run the agent by its own service file, as root; in a container, give it these and the host's pids."
    return Check("rights of the agent", not lacking, ", ".join(lacking) or "all there", remedy)


def group_check(groups: Sequence[grp.struct_group], users: Sequence[pwd.struct_passwd]) -> Check:
    """Nobody but root is as good as root."""
    found = []
    for group in groups:
        if group.gr_name in AS_GOOD_AS_ROOT:
            first = [user.pw_name for user in users if user.pw_gid == group.gr_gid and user.pw_uid != 0]
            members = sorted({*first, *group.gr_mem} - {"root"})
            found += [f"{name} in {group.gr_name}" for name in members]
    found += [f"{user.pw_name} has uid 0" for user in users if user.pw_uid == 0 and user.pw_name != "root"]
    remedy = "Take these users out of those groups (gpasswd -d USER GROUP): they can open every GPU."
    return Check("users as good as root", not found, ", ".join(found) or "none", remedy)
