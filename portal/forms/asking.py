"""The ask as it is typed: which GPUs, how many, which others would do, from when, for how long."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.asks import MOST_ALTERNATIVES, Alternative
from allocations.models import Project
from allocations.models.pitches import LONGEST_DAYS
from inventory.models import GpuModel
from portal.forms.fields import day_field

MOST_GPUS = 1_000_000  # keeps a typing slip inside the database's integers
PLACES = range(1, MOST_ALTERNATIVES + 1)


class ProjectChoice(forms.ModelChoiceField):
    """A project with its division, since the division decides who signs."""

    def label_from_instance(self, obj: Project) -> str:
        return f"{obj.name} · {obj.division.name}"


class ModelChoice(forms.ChoiceField):
    """A GPU model. The form gives its fields their models, so that a page with several of them asks once."""

    models: dict[str, GpuModel] = {}

    def offer(self, models: Iterable[GpuModel], *, nothing: object = None) -> None:
        """These may be chosen, and `nothing` where that is a choice."""
        self.models = {str(model.pk): model for model in models}
        first = [] if nothing is None else [("", nothing)]
        self.choices = [*first, *((key, model.name) for key, model in self.models.items())]

    def prepare_value(self, value: Any) -> Any:
        """The key of a model."""
        return getattr(value, "pk", value)

    def clean(self, value: Any) -> GpuModel | None:
        """The model of that key; None for nothing."""
        return self.models.get(super().clean(value))


class AskForm(forms.Form):
    """The part of a pitch that has numbers. `alternative_model_1`, `alternative_gpus_1` and so on are pairs."""

    project = ProjectChoice(label=_("Project"), queryset=Project.objects.none(), empty_label=None)
    model = ModelChoice(label=_("GPU model"))
    ideal_gpus = forms.IntegerField(label=_("GPUs, ideally"), min_value=1, max_value=MOST_GPUS)
    min_gpus = forms.IntegerField(
        label=_("GPUs, at least"), min_value=1, max_value=MOST_GPUS, help_text=_("Fewer would be no use.")
    )
    start_on = day_field(_("First day"))
    start_until = day_field(_("Latest first day"), required=False, help_text=_("Any up to this one would do."))
    days = forms.IntegerField(label=_("Length in days"), min_value=1, max_value=LONGEST_DAYS)

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]
        self.models = list(GpuModel.objects.all())
        self.fields["model"].offer(self.models)  # type: ignore[attr-defined]
        for place in PLACES:
            other = ModelChoice(label=_("Model"), required=False)
            other.offer(self.models, nothing=_("none"))
            self.fields[f"alternative_model_{place}"] = other
            self.fields[f"alternative_gpus_{place}"] = forms.IntegerField(
                label=_("GPUs"), required=False, min_value=1, max_value=MOST_GPUS
            )

    def clean(self) -> dict[str, Any]:
        """A model without a number, or a number without a model, is half typed."""
        typed: dict[str, Any] = super().clean() or {}
        for place in PLACES:
            model, gpus = typed.get(f"alternative_model_{place}"), typed.get(f"alternative_gpus_{place}")
            if model and not gpus and f"alternative_gpus_{place}" not in self.errors:
                self.add_error(f"alternative_gpus_{place}", _("Say how many GPUs of it would do."))
            if gpus and not model and f"alternative_model_{place}" not in self.errors:
                self.add_error(f"alternative_model_{place}", _("Choose the model."))
        return typed

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The pairs that are typed whole, in order."""
        typed = self.cleaned_data
        pairs = ((typed.get(f"alternative_model_{place}"), typed.get(f"alternative_gpus_{place}")) for place in PLACES)
        return tuple(Alternative(model, gpus) for model, gpus in pairs if model and gpus)

    @property
    def alternative_names(self) -> str:
        """The names of the pairs' fields, as an address lists them."""
        return ",".join(name for name in self.fields if name.startswith("alternative_"))

    @property
    def alternative_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The pairs of fields, for the page."""
        return [(self[f"alternative_model_{place}"], self[f"alternative_gpus_{place}"]) for place in PLACES]
