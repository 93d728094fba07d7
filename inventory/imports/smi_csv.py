"""What `nvidia-smi --query-gpu=... --format=csv` says of one machine."""

from inventory.errors import BadFleetFile
from inventory.imports.cards import card, machine
from inventory.imports.csv_files import csv_rows, decoded
from inventory.imports.declared import DeclaredNode

# Two more names are old ones of the same column.
NEEDED = {"uuid": ("uuid", "gpu_uuid"), "pci.bus_id": ("pci.bus_id", "gpu_bus_id"), "name": ("name", "gpu_name")}


def read_smi_csv(content: bytes, *, node: str) -> DeclaredNode:
    """The machine `node` with its cards. Columns may stand in any order, and drivers have different ones.

    Raises BadFleetFile.
    """
    lines = list(csv_rows(decoded(content)))
    header = [cell.strip() for cell in lines[0][1]]
    places = {name: _place(header, name, others) for name, others in NEEDED.items()}
    cards = []
    for line, cells in lines[1:]:
        if len(cells) != len(header):
            raise BadFleetFile(line, "1", f"{len(cells)} cells where the header has {len(header)}")
        values = [cell.strip() for cell in cells]
        rest = dict(zip(header, values, strict=True))
        try:
            cards.append(
                card(
                    uuid=values[places["uuid"]],
                    pci_bus_id=values[places["pci.bus_id"]],
                    model=values[places["name"]],
                    memory=rest.get("memory.total [MiB]", ""),
                    serial=rest.get("serial", ""),
                )
            )
        except BadFleetFile as error:
            raise BadFleetFile(line, error.column, error.why) from error
    return machine(node, cards)


def is_smi_csv(header: list[str]) -> bool:
    """Whether a query of GPUs has such a header."""
    return "pci.bus_id" in header or {"uuid", "name"} <= set(header)


def _place(header: list[str], name: str, others: tuple[str, ...]) -> int:
    for column in others:
        if column in header:
            return header.index(column)
    raise BadFleetFile(1, name, "this column is missing; ask with --query-gpu=uuid,pci.bus_id,name,memory.total,serial")
