"""The inputs that several forms share."""

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _

from allocations.days import FIRST_DAY, LAST_DAY

LONGEST_REASON = 4000  # a page of text; more belongs into a linked paper


class DayInput(forms.DateInput):
    """A day in the browser's own picker."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")


def day_field(label: object, *, required: bool = True, help_text: object = "") -> forms.DateField:
    """A day of the site's time zone, inclusive."""
    reachable = [MinValueValidator(FIRST_DAY), MaxValueValidator(LAST_DAY)]
    return forms.DateField(label=label, required=required, help_text=help_text, widget=DayInput(), validators=reachable)


def text_field(
    label: object, *, required: bool = True, rows: int = 3, help_text: object = "", most: int = LONGEST_REASON
) -> forms.CharField:
    """Some sentences, of `most` letters in all."""
    return forms.CharField(
        label=label,
        required=required,
        max_length=most,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": rows}),
    )


def reason_field(*, required: bool = True, label: object = _("Why"), help_text: object = "") -> forms.CharField:
    """The reason that the trail keeps."""
    return text_field(label, required=required, help_text=help_text)
