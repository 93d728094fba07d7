"""A fleet file in CSV becomes declared nodes, or one sentence that names line and column."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from inventory.errors import BadFleetFile
from inventory.imports.declared import DeclaredNode, FleetFile

# An NVL72 rack that poses as one machine has 72; more is a slip of the keyboard.
MOST_GPUS = 128
# The columns of Node and GpuModel.
LONGEST = {"sn": 120, "name": 120, "site": 60, "island": 80, "model": 80}
LONGEST_LABEL = 200
# Thousandths of a CPU and MiB of a very large machine have eight digits.
WHOLE = re.compile(r"[0-9]{1,12}")
LABEL = "label:"
TRACE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
OWN_COLUMNS = ("name", "site", "island", "model", "gpus")


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column, and the line on which it begins."""

    line: int
    cells: dict[str, str]

    def text(self, column: str, *, empty: bool = False) -> str:
        """The cell without the blanks around it. Raises BadFleetFile when it is empty, too long or not printable."""
        value = self.cells[column].strip()
        longest = LONGEST.get(column, LONGEST_LABEL)
        if not value and not empty:
            raise BadFleetFile(self.line, column, "is empty")
        if len(value) > longest:
            raise BadFleetFile(self.line, column, f"has {len(value)} characters, at most {longest} are possible")
        if not value.isprintable():
            raise BadFleetFile(self.line, column, f"{value!r} has characters that cannot be printed")
        return value

    def host(self, column: str) -> str:
        """The cell as the name of a node, which stands in the address of its page. Raises BadFleetFile."""
        value = self.text(column)
        if not can_stand_in_an_address(value):
            raise BadFleetFile(self.line, column, f"{value!r} is no name of a node: it is . or .. or has a /")
        return value

    def whole(self, column: str, most: int | None = None) -> int:
        """The cell as a whole number of 0 or more. Raises BadFleetFile."""
        value = self.cells[column].strip()
        if not WHOLE.fullmatch(value):
            raise BadFleetFile(self.line, column, f"{value!r} is not a whole number of 0 or more")
        if most is not None and int(value) > most:
            raise BadFleetFile(self.line, column, f"{value} is more than {most}")
        return int(value)


def can_stand_in_an_address(name: str) -> bool:
    """Whether a page of that name can be addressed."""
    return "/" not in name and name not in {".", ".."}


def read_csv(content: bytes) -> FleetFile:
    """What the file declares. Raises BadFleetFile with line and column; then nothing of it is of use."""
    rows = csv_rows(decoded(content))
    first = next(rows, None)
    if first is None:
        raise BadFleetFile(1, "1", "the file is empty")
    header = [cell.strip() for cell in first[1]]
    read = _layout(header)
    nodes: dict[str, DeclaredNode] = {}
    lines: dict[str, int] = {}
    without_gpus: list[tuple[str, str]] = []
    for line, cells in rows:
        row = Row(line, _by_column(header, cells, line))
        node = read(row)
        if node.name in lines:
            raise BadFleetFile(line, header[0], f"{node.name!r} stands on line {lines[node.name]} already")
        lines[node.name] = line
        if node.gpus == 0:
            without_gpus.append((node.name, _("it has no GPU")))
        else:
            nodes[node.name] = node
    if not lines:
        raise BadFleetFile(2, header[0], "the file has a header and no node")
    return FleetFile(list(nodes.values()), without_gpus)


def decoded(content: bytes) -> str:
    """The file as text. Raises BadFleetFile."""
    try:
        # utf-8-sig: spreadsheets put a byte order mark in front.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise BadFleetFile(line, str(column), f"byte 0x{content[error.start]:02x} is not UTF-8") from error


def csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, cells) of each row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadFleetFile(line, "1", f"not CSV from here on ({error}); a quote that does not close?") from error
        if any(cell.strip() for cell in cells):
            yield line, cells


def _layout(header: Sequence[str]) -> Callable[[Row], DeclaredNode]:
    if "sn" in header:
        _check_header(header, TRACE_COLUMNS, labels=False)
        return _trace_node
    _check_header(header, OWN_COLUMNS, labels=True)
    return _own_node


def _check_header(header: Sequence[str], wanted: Sequence[str], *, labels: bool) -> None:
    for position, column in enumerate(header, start=1):
        if column in header[: position - 1]:
            raise BadFleetFile(1, str(position), f"the column {column!r} stands there twice")
        if not column.isprintable() or len(column) > len(LABEL) + LONGEST_LABEL:
            raise BadFleetFile(1, str(position), "the column's name is too long or cannot be printed")
        if column not in wanted and not (labels and column.startswith(LABEL) and column != LABEL):
            more = f" and {LABEL}..." if labels else ""
            raise BadFleetFile(1, str(position), f"unknown column {column!r}; known are {', '.join(wanted)}{more}")
    for column in wanted:
        if column not in header:
            raise BadFleetFile(1, column, "this column is missing")


def _by_column(header: Sequence[str], cells: Sequence[str], line: int) -> dict[str, str]:
    if len(cells) < len(header):
        raise BadFleetFile(
            line, header[len(cells)], f"is missing: {len(cells)} cells where the header has {len(header)}"
        )
    if len(cells) > len(header):
        raise BadFleetFile(line, str(len(header) + 1), f"{len(cells)} cells where the header has {len(header)}")
    return dict(zip(header, cells, strict=True))


def _trace_node(row: Row) -> DeclaredNode:
    """A row of the layout in which public cluster traces list their nodes."""
    gpus = row.whole("gpu", MOST_GPUS)
    return DeclaredNode(
        name=row.host("sn"),
        model=row.text("model", empty=gpus == 0),
        gpus=gpus,
        line=row.line,
        labels={"cpu_milli": row.whole("cpu_milli"), "memory_mib": row.whole("memory_mib")},
    )


def _own_node(row: Row) -> DeclaredNode:
    gpus = row.whole("gpus", MOST_GPUS)
    labels = {
        column.removeprefix(LABEL): row.text(column, empty=True) for column in row.cells if column.startswith(LABEL)
    }
    return DeclaredNode(
        name=row.host("name"),
        model=row.text("model", empty=gpus == 0),
        gpus=gpus,
        line=row.line,
        site=row.text("site", empty=True),
        island=row.text("island", empty=True),
        labels={key: value for key, value in labels.items() if value},
    )
