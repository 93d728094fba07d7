"""A row as the terms of a draft: what it says where it says it, what stands in where it does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from allocations.asks import MOST_ALTERNATIVES, TITLE_LIMIT, Alternative, Details
from allocations.imports.findings import Findings
from allocations.imports.matching import models_meant
from allocations.imports.read import PitchRow
from allocations.models.pitches import LONGEST_DAYS
from inventory.models import GpuModel

LONGEST_TEXT = 4000  # as in the forms


@dataclass(frozen=True)
class Lab:
    """What the rows are read against: models by name, how many GPUs there are of each, today, the fields' spelling."""

    models: Mapping[str, GpuModel]
    there: Mapping[int, int]
    today: date
    spelling: Mapping[str, str]

    @property
    def largest(self) -> GpuModel:
        """The model that the fleet has most of: it stands in where a row names none that is here."""
        return max(self.models.values(), key=lambda model: (self.there.get(model.pk, 0), model.name))


def terms_of(row: PitchRow, lab: Lab, found: Findings) -> dict[str, Any]:
    """The terms that `save_draft` takes, but for project and person; what was not clear goes into `found`."""
    model, others = _models(row, lab, found)
    there = lab.there.get(model.pk, 0)
    found.unless(row.gpus <= there, "larger_than_fleet", gpus=row.gpus, model=model.name, there=there)
    found.unless(row.days <= LONGEST_DAYS, "longer_than_allowed", days=row.days, longest=LONGEST_DAYS)
    found.unless(row.min_gpus, "no_minimum")
    found.unless(row.expected_result, "no_exit_criterion")
    found.add("no_first_day")
    found.unless(len(row.title) <= TITLE_LIMIT, "title_cut", limit=TITLE_LIMIT)
    return {
        "title": row.title[:TITLE_LIMIT],
        "why": _why(row, lab, found),
        "expected_result": row.expected_result[:LONGEST_TEXT],
        "check_on": None,
        "if_declined": "",
        "model": model,
        "ideal_gpus": row.gpus,
        "min_gpus": row.min_gpus or row.gpus,
        "whole_nodes": False,
        "one_island": False,
        "start_on": lab.today,
        "days": min(row.days, LONGEST_DAYS),
        "details": Details(alternatives=tuple(Alternative(other, row.gpus) for other in others)),
    }


def _models(row: PitchRow, lab: Lab, found: Findings) -> tuple[GpuModel, list[GpuModel]]:
    """The model asked for, or one that stands in, and the others that the row names."""
    meant = [models_meant(text, list(lab.models)) for text in row.hardware]
    named = [lab.models[names[0]] for names in meant if names]
    if row.is_other_hardware or not named:
        code = "other_hardware" if row.is_other_hardware else "unknown_model" if row.hardware else "no_model"
        found.add(code, named=", ".join(row.hardware))
        return lab.largest, []
    for text, names in zip(row.hardware, meant, strict=True):
        found.unless(len(names) < 2, "several_models", named=text, models=", ".join(names))
    others = [model for model in dict.fromkeys(named) if model != named[0]]
    return named[0], others[:MOST_ALTERNATIVES]


def _why(row: PitchRow, lab: Lab, found: Findings) -> str:
    """The text, and below it what the file says besides, so that nothing of the row is lost."""
    usual = lab.spelling.get(row.field, row.field)
    found.unless(usual == row.field, "field_spelling", named=row.field, usual=usual)
    beside = {
        "Title": row.title if len(row.title) > TITLE_LIMIT else "",
        "Field": usual,
        "Purpose": row.purpose,
        "Organisation": row.organisation,
        "Hardware": ", ".join(row.hardware),
    }
    lines = "\n".join(f"{name}: {text}" for name, text in beside.items() if text)
    room = LONGEST_TEXT - len(lines) - 2
    found.unless(len(row.body) <= room, "text_cut", limit=room)
    return f"{row.body[:room]}\n\n{lines}".strip()
