"""The rows of a file become drafts, each once however often it is imported, and none is lost."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone

from allocations import grants, pitches, rules
from allocations.days import day_of
from allocations.errors import AllocationsError
from allocations.imports.findings import Findings
from allocations.imports.matching import usual_spellings
from allocations.imports.read import PitchRow, Unreadable
from allocations.imports.terms import Lab, terms_of
from allocations.models import Person, Pitch, Project
from inventory import queries as facts
from inventory.models import GpuModel


@dataclass
class ImportedPitches:
    """What became of every row: drafts that were made, rows that were here already, rows that can be no draft."""

    drafts: list[Pitch] = field(default_factory=list)
    known: int = 0
    refused: list[Unreadable] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """All rows of the file."""
        return len(self.drafts) + self.known + len(self.refused)


def import_pitches(
    *, rows: Iterable[PitchRow | Unreadable], source: str, project: Project, by: Person
) -> ImportedPitches:
    """Each row is a draft with findings, under its own project or `project`, of its requester or `by`.

    `source` and the line of a row say whether it is here already; a repeat makes no second draft and changes none.
    Rows are written one by one: what is refused is reported and stops no other. Raises NotAllowed where `by` may not
    pitch for `project`.
    """
    rules.require(by, "pitch_for", project)
    rows, done = list(rows), ImportedPitches()
    lab = _lab(row for row in rows if isinstance(row, PitchRow))
    known = set(Pitch.objects.filter(imported_from__startswith=f"{source}:").values_list("imported_from", flat=True))
    for row in rows:
        mark = f"{source}:{row.line}"
        if isinstance(row, Unreadable):
            done.refused.append(row)
        elif mark in known:
            done.known += 1
        else:
            _import(row, mark, lab, project, by, done)
    return done


def _import(row: PitchRow, mark: str, lab: Lab, project: Project, by: Person, done: ImportedPitches) -> None:
    found = Findings()
    own = _project(row, project, found)
    pitcher = _pitcher(row, own, by, found)
    try:
        terms = terms_of(row, lab, found)
        with transaction.atomic():
            draft = pitches.save_draft(pitch=None, by=pitcher, project=own, **terms)
            draft.imported_from, draft.findings = mark, found.rows
            draft.save(update_fields=["imported_from", "findings"])
    except AllocationsError as refusal:
        done.refused.append(Unreadable(row.line, refusal.message))
        return
    done.drafts.append(draft)
    done.findings.update(each["code"] for each in found.rows)


def _project(row: PitchRow, project: Project, found: Findings) -> Project:
    named = Project.objects.filter(slug=row.project).first() if row.project else None
    if not row.project:
        found.add("no_project", project=project.name)
    elif named is None:
        found.add("unknown_project", named=row.project, project=project.name)
    return named or project


def _pitcher(row: PitchRow, project: Project, by: Person, found: Findings) -> Person:
    asked = Person.objects.filter(username=row.requester).first() if row.requester else None
    if asked and rules.can(asked, "pitch_for", project):
        return asked
    found.unless(not row.requester, "unknown_requester", named=row.requester)
    return by


def _lab(rows: Iterable[PitchRow]) -> Lab:
    return Lab(
        models={model.name: model for model in GpuModel.objects.order_by("name")},
        there=facts.healthy_counts(),
        today=day_of(timezone.now(), grants.site_zone()),
        spelling=usual_spellings(row.field for row in rows if row.field),
    )
