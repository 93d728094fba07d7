"""A file of pitches (CSV) as plain rows; pure. What cannot even be a draft is named with its line and the reason."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, isfinite

from django.utils.translation import gettext as _

from allocations.asks import MOST_GPUS

NEEDED = ("title", "body", "gpus", "hours")
HOURS_A_DAY = 24
LONGEST_CELL = 1 << 20  # of a csv cell; more is no text that somebody wrote
# Escapes that somebody's export left in the text.
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class BadPitchFile(Exception):
    """The file is no table of pitches; nothing of it was imported."""


@dataclass(frozen=True)
class PitchRow:
    """A row as the file has it; `line` is where it begins. Texts that are not there are ""."""

    line: int
    title: str
    body: str
    gpus: int
    days: int
    hardware: tuple[str, ...]
    is_other_hardware: bool
    field: str
    purpose: str
    organisation: str
    requester: str
    project: str
    min_gpus: int | None
    expected_result: str


@dataclass(frozen=True)
class Unreadable:
    """A row that is no ask, and why."""

    line: int
    why: str


def read_pitch_file(content: bytes) -> Iterator[PitchRow | Unreadable]:
    """Every row of the file, in order, none left out. Raises BadPitchFile where it is no such table."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadPitchFile(_("the file is not in UTF-8")) from error
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        missing = [name for name in NEEDED if name not in header]
        if missing:
            raise BadPitchFile(_("the first line names no column %(name)s") % {"name": ", ".join(missing)})
        yield from _rows(reader, header)
    except csv.Error as error:
        raise BadPitchFile(str(error)) from error


def _rows(reader: "csv._reader", header: list[str]) -> Iterator[PitchRow | Unreadable]:  # type: ignore[name-defined]
    begins = reader.line_num + 1
    for cells in reader:
        line, begins = begins, reader.line_num + 1
        if not cells:
            continue
        if len(cells) != len(header):
            why = _("it has %(n)s cells and not %(wanted)s") % {"n": len(cells), "wanted": len(header)}
            yield Unreadable(line, why)
            continue
        yield _row(line, {name: _clean(cell) for name, cell in zip(header, cells, strict=True)})


def _row(line: int, cells: Mapping[str, str]) -> PitchRow | Unreadable:
    gpus, hours = _number(cells["gpus"]), _number(cells["hours"])
    if not cells["title"]:
        return Unreadable(line, _("it has no title"))
    if gpus is None or gpus != int(gpus) or not 1 <= gpus <= MOST_GPUS:
        return Unreadable(line, _("“%(cell)s” is no number of GPUs") % {"cell": cells["gpus"]})
    if hours is None or hours <= 0:
        return Unreadable(line, _("“%(cell)s” is no number of hours") % {"cell": cells["hours"]})
    least = _number(cells.get("min_gpus", ""))
    wanted = (name.strip() for name in cells.get("hardware", "").split(","))
    return PitchRow(
        line=line,
        title=cells["title"],
        body=cells["body"],
        gpus=int(gpus),
        days=max(1, ceil(hours / HOURS_A_DAY)),
        hardware=tuple(name for name in wanted if name),
        is_other_hardware=cells.get("hardware_kind", "gpu") not in ("gpu", ""),
        field=cells.get("field", ""),
        purpose=cells.get("purpose", ""),
        organisation=cells.get("organisation", "") or cells.get("organisation_kind", ""),
        requester=cells.get("requester", ""),
        project=cells.get("project", ""),
        min_gpus=int(least) if least is not None and 1 <= least <= gpus else None,
        expected_result=cells.get("expected_result", ""),
    )


def _clean(cell: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), cell.replace("\x00", "")).strip()


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if isfinite(number) else None
