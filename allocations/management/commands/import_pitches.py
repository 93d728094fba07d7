"""Take in pitches that were written elsewhere: `manage.py import_pitches FILE --project SLUG [--as LOGIN]`."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from allocations.errors import AllocationsError
from allocations.imports import BadPitchFile, ImportedPitches, import_pitches, read_pitch_file
from allocations.models import Person, Project
from inventory.models import GpuModel

LONGEST_NAME = 180  # leaves room for the line in the column


class Command(BaseCommand):
    """Reads, imports, and says what became of every row."""

    help = "Take in pitches from a CSV file (columns title, body, gpus, hours and more) as drafts. May be repeated."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", metavar="SLUG", help=_("where rows go that name no project of their own"))
        parser.add_argument("--as", dest="login", metavar="LOGIN", help=_("whose drafts they are; else the lead's"))

    def handle(self, *args: Any, file: Path, project: str | None, login: str | None, **options: Any) -> None:
        to = _project(project)
        by = _person(login) if login else to.lead
        if not GpuModel.objects.exists():
            raise CommandError(_("There is no GPU model yet: import the fleet first. Nothing was imported."))
        try:
            rows = list(read_pitch_file(file.read_bytes()))
            done = import_pitches(rows=rows, source=file.name[:LONGEST_NAME], project=to, by=by)
        except OSError as error:
            raise CommandError(_("%(file)s cannot be read: %(why)s") % {"file": file, "why": error.strerror}) from error
        except (BadPitchFile, AllocationsError) as error:
            why = str(error).rstrip(".")
            raise CommandError(_("%(file)s: %(why)s. Nothing was imported.") % {"file": file, "why": why}) from error
        for line in lines_of(done):
            self.stdout.write(line)


def lines_of(done: ImportedPitches) -> list[str]:
    """The report as lines for a terminal."""
    counts = {
        "rows": done.rows, "drafts": len(done.drafts), "known": done.known, "refused": len(done.refused),
    }  # fmt: skip
    lines = [_("%(rows)s rows: %(drafts)s drafts, %(known)s here already, %(refused)s not taken") % counts]
    lines += [f"  {code}: {count}" for code, count in done.findings.most_common()]
    lines += [_("line %(line)s was not taken: %(why)s") % {"line": row.line, "why": row.why} for row in done.refused]
    return lines


def _project(slug: str | None) -> Project:
    found = Project.objects.filter(slug=slug or "").select_related("lead", "division").first()
    if found is None:
        active = Project.objects.filter(state=Project.State.ACTIVE).order_by("slug").values_list("slug", flat=True)[:10]
        raise CommandError(
            _("Name a project with --project, such as one of: %(slugs)s.") % {"slugs": ", ".join(active) or "-"}
        )
    return found


def _person(login: str) -> Person:
    person = Person.objects.filter(username=login).first()
    if person is None:
        raise CommandError(_("There is no person with the login %(login)s.") % {"login": login})
    return person
