"""Fields of forms as pages show them: label, control, help and errors tied together."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from django import template
from django.forms import BoundField
from django.forms.widgets import CheckboxInput, CheckboxSelectMultiple, RadioSelect, Select
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

register = template.Library()

SELECTED = SafeString(" selected")


@dataclass(frozen=True)
class Field:
    """A form field as the page shows it: label, control, help, errors, tied together for screen readers."""

    bound: BoundField
    control: str
    is_choice_of_boxes: bool

    @property
    def label(self) -> str:
        return self.bound.label

    @property
    def required(self) -> bool:
        # What the form's class asks for counts: a draft may leave open what its submission needs.
        declared = getattr(self.bound.form, "base_fields", {}).get(self.bound.name, self.bound.field)
        return declared.required

    @property
    def help(self) -> str:
        return self.bound.help_text

    @property
    def errors(self) -> list[str]:
        return self.bound.errors


@register.inclusion_tag("parts/field.html")
def field(bound: BoundField, **attributes: object) -> dict[str, Field]:
    """A form field with its label, help and errors; keyword arguments become attributes of the control (a_b -> a-b)."""
    widget = bound.field.widget
    attrs = {name.replace("_", "-"): str(value) for name, value in attributes.items()}
    boxes = isinstance(widget, CheckboxInput | CheckboxSelectMultiple | RadioSelect)
    kind = "form-check-input" if boxes else "form-select" if isinstance(widget, Select) else "form-control"
    attrs["class"] = f"{kind} is-invalid" if bound.errors else kind
    described = [f"{bound.auto_id}_helptext"] if bound.help_text else []
    if bound.errors:
        attrs["aria-invalid"] = "true"
        described.append(f"{bound.auto_id}_error")
    if described:
        attrs["aria-describedby"] = " ".join(described)
    return {"field": Field(bound, bound.as_widget(attrs=attrs), isinstance(widget, RadioSelect))}


@register.simple_tag
def check(bound: BoundField) -> SafeString:
    """A single tick box with its label beside it."""
    return format_html(
        '<label class="check">{}<span>{}</span></label>',
        bound.as_widget(attrs={"class": "form-check-input"}),
        conditional_escape(bound.label),
    )


@register.simple_tag
def percent_input(cell: BoundField, empty: object = None) -> SafeString:
    """A number to type into a table, `empty` says what none means; its label is for those who see no table."""
    shown = cell.as_widget(
        attrs={
            "class": "form-control is-invalid" if cell.errors else "form-control",
            "aria-label": cell.label,
            "placeholder": "" if cell.field.required else str(empty or _("as all")),
        }
    )
    errors = format_html_join("", '<div class="field-error">{}</div>', ((error,) for error in cell.errors))
    return format_html("{}{}", shown, errors)


@register.simple_tag
def options(choices: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    """The options of a select, of pairs of value and word; drawn at once, since a lab has a thousand projects."""
    drawn = (
        f'<option value="{escape(value)}"{SELECTED if value == chosen else ""}>{escape(word)}</option>'
        for value, word in choices
    )
    return mark_safe("".join(drawn))  # noqa: S308 - both are escaped, by the standard library: Django's takes thrice as long
