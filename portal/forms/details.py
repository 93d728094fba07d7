"""What a pitch form has beside the ask: labels of nodes, links one a line, the questions of the project's division."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations import asks
from allocations.asks import Link
from allocations.errors import BadTerms
from allocations.models import Pitch, Project, Question
from inventory import queries as facts
from portal.forms.fields import LONGEST_REASON, DayInput

LABEL, QUESTION = "label_", "question_"
LABEL_WORDS = {"site": _("Site"), "storage": _("Storage"), "network": _("Network"), "driver": _("Driver")}


class AnswerField(forms.CharField):
    """What a question is answered with, as text of the question's kind."""

    def __init__(self, question: Question) -> None:
        self.question = question
        widget: forms.Widget = forms.TextInput()
        if question.kind == Question.Kind.CHOICE:
            widget = forms.Select(choices=[("", _("choose")), *((word, word) for word in question.choices)])
        elif question.kind == Question.Kind.DATE:
            widget = DayInput()
        elif question.kind == Question.Kind.NUMBER:
            widget = forms.TextInput(attrs={"inputmode": "decimal"})
        super().__init__(
            label=question.text, help_text=question.help, required=False, max_length=LONGEST_REASON, widget=widget
        )

    def validate(self, value: str) -> None:
        """It is of the kind that the question names."""
        super().validate(value)
        try:
            asks.check_answer(self.question, value)
        except BadTerms as refusal:
            raise forms.ValidationError(str(refusal.message)) from refusal


def links_field() -> forms.CharField:
    """Addresses with their names, one a line."""
    return forms.CharField(
        label=_("Links"),
        required=False,
        max_length=asks.MOST_LINKS * 700,
        help_text=_("One a line: a name, then the https address. Allot keeps no files."),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )


def links_in(text: str) -> tuple[Link, ...]:
    """The links that the lines name: the last word of a line is the address, what stands before it the name."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(Link(" ".join(line.split()[:-1]), line.split()[-1]) for line in lines if line)


def as_lines(links: Iterable[Link]) -> str:
    """The links as they are typed."""
    return "\n".join(f"{link.name} {link.url}".strip() for link in links)


def label_fields(chosen: dict[str, str]) -> dict[str, forms.ChoiceField]:
    """A choice for each label that nodes in use have; what was chosen before stays a choice even where none has it."""
    values = facts.label_values(asks.LABELS)
    fields = {}
    for label in asks.LABELS:
        known = [*values.get(label, []), *([chosen[label]] if label in chosen else [])]
        if known:
            choices = [("", _("any")), *((value, value) for value in dict.fromkeys(known))]
            fields[LABEL + label] = forms.ChoiceField(label=LABEL_WORDS[label], required=False, choices=choices)
    return fields


def question_fields(project: Project | None) -> dict[str, AnswerField]:
    """A field for each question that the project's division asks."""
    if project is None:
        return {}
    return {f"{QUESTION}{row.pk}": AnswerField(row) for row in asks.questions_for(project.division)}


def details_as_typed(pitch: Pitch) -> dict[str, Any]:
    """What the fields above, and those of the alternatives, show for a pitch that exists."""
    details = asks.details_of(pitch)
    typed: dict[str, Any] = {"links": as_lines(details.links)}
    for place, other in enumerate(details.alternatives, start=1):
        typed |= {f"alternative_model_{place}": other.model, f"alternative_gpus_{place}": other.gpus}
    typed |= {LABEL + label: value for label, value in pitch.required_labels.items()}
    return typed | {f"{QUESTION}{question.pk}": text for question, text in details.answers.items()}
