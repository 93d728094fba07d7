"""Which kind of file it is: read by its reader, or refused with the sentence what to ask the machine instead."""

from inventory.errors import BadFleetFile
from inventory.imports.csv_files import csv_rows, decoded, read_csv
from inventory.imports.declared import FleetFile
from inventory.imports.kubernetes import read_kubernetes
from inventory.imports.smi_csv import is_smi_csv, read_smi_csv
from inventory.imports.smi_xml import read_smi_xml

ASK_XML = "ask the machine with: nvidia-smi -q -x"
# What the first characters, or a word near the beginning, give away -> why it is not read.
REFUSED = (
    ("==============NVSMI LOG", f"nvidia-smi -q for people to read; {ASK_XML}"),
    ("DCGM_FI_", "a page of a dcgm-exporter: give the node the driver dcgm and the page's address, and it is polled"),
    ("NVRM: ", "a kernel log: it says what went wrong and not what is there; the node agent reports Xids by itself"),
    ("CPU Affinity", f"a topology, which names no UUIDs; {ASK_XML}"),
    ("Link 0:", f"a state of links, which names no slots; {ASK_XML}"),
    ("(UUID: GPU-", f"nvidia-smi -L, which names no slots; {ASK_XML}"),
    ('"GPU ID": "0x', "rocm-smi of an AMD card: AMD is not supported, only NVIDIA GPUs are"),
    ("VBIOS version", "rocm-smi of an AMD card: AMD is not supported, only NVIDIA GPUs are"),
)
LOOK_AT = 4096


def read_fleet_file(content: bytes, *, node: str = "") -> FleetFile:
    """What the file declares: CSV of ours or of a trace, nvidia-smi's XML or query CSV, Kubernetes nodes.

    `node`: the machine from which an output of nvidia-smi comes. Raises BadFleetFile with the reason; then nothing of
    it is of use.
    """
    start = content[:LOOK_AT].decode("utf-8-sig", errors="replace").lstrip()
    if start.startswith("<"):
        return FleetFile([read_smi_xml(content, node=_named(node))])
    if start.startswith(("apiVersion:", "kind:", "---", "items:")):
        return read_kubernetes(content)
    for mark, why in REFUSED:
        if mark in start:
            raise BadFleetFile(1, "1", why)
    header = _header(content)
    if "used_gpu_memory [MiB]" in header or "pid" in header:
        raise BadFleetFile(1, "pid", f"a list of processes, which names no idle card; {ASK_XML}")
    if is_smi_csv(header):
        return FleetFile([read_smi_csv(content, node=_named(node))])
    return read_csv(content)


def _header(content: bytes) -> list[str]:
    first = next(csv_rows(decoded(content)), None)
    return [cell.strip() for cell in first[1]] if first else []


def _named(node: str) -> str:
    if not node:
        raise BadFleetFile(1, "1", "the output of one machine, which does not say its name; add --node NAME")
    return node
