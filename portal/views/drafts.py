"""A draft as a tab holds it: which one it is, which version the writer saw, and what is in the way of keeping it."""

from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from django.http import HttpRequest
from uuid_utils.compat import uuid7

from allocations import asks, queries
from allocations import pitches as decisions
from allocations.errors import Stale
from allocations.models import Person, Pitch
from portal.forms import PitchForm


@dataclass(frozen=True)
class Difference:
    """A field that another tab saved otherwise."""

    label: Any
    theirs: Any
    yours: Any


@dataclass
class Draft:
    """`public_id` is chosen before the first save, so that a save pressed twice makes one draft.

    `version` is what this tab saw, "" before the first save, None for a form that sent none. `over` is what stands in
    the way: the version that a person must name to overwrite it.
    """

    row: Pitch | None
    public_id: UUID
    version: str | None
    over: str = ""
    differences: list[Difference] = field(default_factory=list)

    @classmethod
    def of(cls, request: HttpRequest, row: Pitch | None) -> Self:
        """The draft that the form names, or `row`, or a new one."""
        named = named_id(request.POST.get("draft", ""))
        if row is None and named and request.user.is_authenticated:
            row = queries.pitches_visible_to(request.user).filter(public_id=named, pitcher=request.user).first()
        seen = request.POST.get("over") or request.POST.get("version")
        if request.method == "GET":
            seen = asks.version_of(row) if row else ""
        return cls(row, row.public_id if row else named or uuid7(), seen)

    def save(self, form: PitchForm, *, by: Person, is_autosave: bool = False) -> None:
        """It is kept, or the refusal is raised with the differences filled in."""
        try:
            self.row = decisions.save_draft(
                pitch=self.row, by=by, version=self.version, public_id=self.public_id, is_autosave=is_autosave,
                **form.said,
            )  # fmt: skip
        except Stale as refusal:
            if self.row and "version" in refusal.facts:
                self.over = str(refusal.facts["version"])
                self.differences = _differences(form, self.row)
            raise
        self.version = asks.version_of(self.row)


def named_id(text: str) -> UUID | None:
    """The id that the text is, None where it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def _differences(form: PitchForm, row: Pitch) -> list[Difference]:
    stored, typed = PitchForm.values_of(row), form.cleaned_data
    pairs = {name: (stored.get(name) or "", typed[name] or "") for name in form.fields}
    return [Difference(form[name].label, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]
