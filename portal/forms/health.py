"""What ops type on the health board: nodes to keep out of use, now or later, and hardware that is to come."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from allocations import days
from inventory import queries as facts
from inventory.models import GpuModel
from portal.forms.fields import day_field
from portal.forms.operate import REASON_LENGTH

PLACES_LENGTH = 20_000  # the names of some hundred nodes
GPUS_MOST = 1_000_000


class WindowForm(forms.Form):
    """Nodes, or whole islands, out of use from a day on or from now on, until the end of a day or without end."""

    where = forms.CharField(
        label=_("Nodes or islands"), max_length=PLACES_LENGTH, help_text=_("Names, with commas between them.")
    )
    reason = forms.CharField(
        label=_("Why"), max_length=REASON_LENGTH, help_text=_("Everybody who looks at the nodes reads it.")
    )
    from_on = day_field(_("From the beginning of"), required=False, help_text=_("Without a day: from now on."))
    until_on = day_field(_("Until the end of"), required=False, help_text=_("Without a day: until somebody lifts it."))

    def clean_where(self) -> str:
        """Names that exist."""
        where: str = self.cleaned_data["where"]
        self.nodes, unknown = facts.nodes_at([name for part in where.split(",") if (name := part.strip())])
        if unknown:
            raise forms.ValidationError(
                __("There is no node or island of that name: %(names)s.") % {"names": ", ".join(unknown[:5])}
            )
        return where

    def clean(self) -> dict[str, Any]:
        """The end comes after the beginning."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        begins, ends = given.get("from_on"), given.get("until_on")
        if begins and ends and ends < begins:
            self.add_error("until_on", __("It ends before it begins."))
        return given

    def since(self) -> datetime | None:
        """The instant at which the first day begins, None for now."""
        first = self.cleaned_data["from_on"]
        return days.start_of(first, _zone()) if first else None

    def until(self) -> datetime | None:
        """The instant at which the last day is over, None for an open end."""
        last = self.cleaned_data["until_on"]
        return days.plus_days(days.start_of(last, _zone()), 1, _zone()) if last else None


class LiftWindowForm(forms.Form):
    """What was set at once for one reason: by its beginning and that reason."""

    starts_at = forms.CharField(max_length=40)
    because = forms.CharField(max_length=REASON_LENGTH, strip=False)

    def clean_starts_at(self) -> datetime:
        """An instant as the page wrote it."""
        try:
            at = datetime.fromisoformat(self.cleaned_data["starts_at"])
        except ValueError as error:
            raise forms.ValidationError(__("That is no instant.")) from error
        if at.tzinfo is None:
            raise forms.ValidationError(__("That is no instant."))
        return at


class ArrivalForm(forms.Form):
    """GPUs that are to come on a day."""

    model = forms.ModelChoiceField(
        label=_("GPU model"), queryset=GpuModel.objects.order_by("name"), to_field_name="name", empty_label=None
    )
    gpus = forms.IntegerField(label=_("GPUs"), min_value=1, max_value=GPUS_MOST)
    arrives_on = day_field(_("In use from"), help_text=_("The first day on which people can work on them."))
    site = forms.CharField(label=_("Site"), max_length=60, required=False)
    island = forms.CharField(label=_("Island"), max_length=80, required=False)
    reason = forms.CharField(
        label=_("Why"), max_length=REASON_LENGTH, help_text=_("The order, or where it is known from.")
    )


class MoveArrivalForm(forms.Form):
    """Another day, and why."""

    arrives_on = day_field(_("In use from"))
    reason = forms.CharField(label=_("Why"), max_length=REASON_LENGTH)


class CancelArrivalForm(forms.Form):
    """Why it will not come."""

    reason = forms.CharField(label=_("Why"), max_length=REASON_LENGTH)


def _zone() -> ZoneInfo:
    return ZoneInfo(settings.SITE_TIME_ZONE)
