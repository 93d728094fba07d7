"""Declare the nodes of a fleet file: `manage.py import_fleet FILE [--node NAME] [--island-size 64] [--dry-run]`."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from inventory.errors import BadFleetFile
from inventory.imports import ImportReport, import_fleet, read_fleet_file

# A terminal shows that many names at a glance; the trail has all of them.
NAMES_SHOWN = 5


class Command(BaseCommand):
    """Reads, imports, and says what it added, changed and left out."""

    help = (
        "Declare the nodes of a fleet file (CSV, nvidia-smi -q -x, query CSV, Kubernetes; see docs/fleet-files.md). "
        "May be repeated; retires nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--node", default="", metavar="NAME", help="the machine an output of nvidia-smi comes from")
        parser.add_argument(
            "--island-size",
            type=_positive,
            metavar="NODES",
            help="group equal nodes without an island, so many together",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would change and write nothing")

    def handle(self, *args: Any, file: Path, node: str, island_size: int | None, dry_run: bool, **options: Any) -> None:
        try:
            content = read_fleet_file(file.read_bytes(), node=node)
        except OSError as error:
            raise CommandError(_("%(file)s cannot be read: %(why)s") % {"file": file, "why": error.strerror}) from error
        except BadFleetFile as error:
            raise CommandError(_("%(file)s: %(why)s. Nothing was imported.") % {"file": file, "why": error}) from error
        report = import_fleet(
            nodes=content.nodes,
            left_out=content.left_out,
            source=f"file:{file.name}"[:200],
            by="import_fleet",
            island_size=island_size,
            dry_run=dry_run,
        )
        for line in lines_of(report):
            self.stdout.write(line)
        if dry_run:
            self.stdout.write(_("Nothing was written (--dry-run)."))


def lines_of(report: ImportReport) -> list[str]:
    """The report as lines for a terminal."""
    declared = len(report.added) + len(report.changed) + report.unchanged
    lines = [
        ngettext("%(nodes)d node with %(gpus)d GPUs declared", "%(nodes)d nodes with %(gpus)d GPUs declared", declared)
        % {"nodes": declared, "gpus": report.gpus},
        _("added: %(nodes)d") % {"nodes": len(report.added)},
        _("changed: %(nodes)d") % {"nodes": len(report.changed)},
    ]
    for change in report.changed[:NAMES_SHOWN]:
        fields = ", ".join(f"{field} {before!r} -> {after!r}" for field, (before, after) in change.fields.items())
        lines.append(f"  {change.name}: {fields}")
    lines.append(_("unchanged: %(nodes)d") % {"nodes": report.unchanged})
    reasons = {row.why for row in report.left_out}
    for why in sorted(reasons):
        lines += _named(_("left out, %(why)s") % {"why": why}, [row.name for row in report.left_out if row.why == why])
    lines += _named(_("known from this file and not in it now (not retired)"), report.absent)
    lines += _named(_("declared elsewhere"), report.elsewhere)
    return lines


def _named(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
    return [f"{what}: {len(names)} ({shown})"]


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(text)
    return int(text)
