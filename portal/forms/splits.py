"""A new split: percent for each division, for all models and where wanted for single models, and its first day."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from allocations.models import Division
from inventory.models import GpuModel
from portal.forms.fields import day_field, reason_field

WHOLE = Decimal(100)


class SignSplitForm(forms.Form):
    """The role whose signature field was pressed."""

    role = forms.SlugField()


class SplitForm(forms.Form):
    """Inputs `p-<model pk or all>-<division slug>`; a model whose inputs are all empty follows the line for all."""

    starts_on = day_field(gettext_lazy("In force from"), help_text=gettext_lazy("From the first minute of that day."))
    reason = reason_field()

    def __init__(self, *args: Any, divisions: list[Division], models: list[GpuModel], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.divisions = divisions
        self.lines: list[tuple[str, str, GpuModel | None]] = [("all", _("All models"), None)]
        self.lines += [(str(model.pk), model.name, model) for model in models]
        for key, line, model in self.lines:
            for division in divisions:
                self.fields[f"p-{key}-{division.slug}"] = forms.DecimalField(
                    label=_("%(division)s, percent of %(models)s") % {"division": division.name, "models": line},
                    required=model is None,
                    min_value=Decimal(0),
                    max_value=WHOLE,
                    decimal_places=2,
                    max_digits=5,
                )

        for model in models:
            self.fields[f"w-{model.pk}"] = forms.DecimalField(
                label=_("%(model)s, weight of a GPU-hour") % {"model": model.name},
                required=False,
                min_value=Decimal("0.001"),
                max_value=Decimal("999.999"),
                decimal_places=3,
                max_digits=6,
            )

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The inputs line by line, for the page."""
        return [
            {
                "name": line,
                "model": model,
                "cells": [(d, self[f"p-{key}-{d.slug}"]) for d in self.divisions],
                "weight": self[f"w-{model.pk}"] if model else None,
            }
            for key, line, model in self.lines
        ]

    def clean(self) -> dict[str, Any]:
        """A model's line is empty or whole."""
        for key, line, model in self.lines:
            given = [self.cleaned_data.get(f"p-{key}-{d.slug}") for d in self.divisions]
            if model and None in given and any(value is not None for value in given) and not self.errors:
                raise ValidationError(_("%(line)s: give a percent for each division or for none.") % {"line": line})
        return self.cleaned_data

    def weights(self) -> dict[str, Decimal]:
        """Model name -> weight, of those that were given one."""
        given = {model.name: self.cleaned_data.get(f"w-{model.pk}") for _key, _line, model in self.lines if model}
        return {name: weight for name, weight in given.items() if weight is not None}

    def percents(self) -> dict[str, dict[str, Decimal]]:
        """Model name ("" for all) -> division slug -> percent, as the service takes it."""
        told: dict[str, dict[str, Decimal]] = {}
        for key, _line, model in self.lines:
            shares = {d.slug: self.cleaned_data.get(f"p-{key}-{d.slug}") for d in self.divisions}
            if all(value is not None for value in shares.values()):
                told[model.name if model else ""] = shares  # type: ignore[assignment]
        return told
