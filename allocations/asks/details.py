"""What a pitch says in rows beside its columns: other models that would do, links, answers to questions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject
from django.utils.translation import gettext as _

from allocations.errors import BadTerms
from allocations.models import Answer, Division, Pitch, PitchAlternative, PitchLink, Question
from inventory.models import GpuModel

MOST_ALTERNATIVES = 3
MOST_LINKS = 10
LONGEST_ADDRESS, LONGEST_NAME = 500, 140  # the columns' widths
LONGEST_ANSWER = 4000  # as any text that people type
LABELS = ("site", "storage", "network", "driver")  # what a pitch may ask of its nodes
LONGEST_LABEL = 120


class Alternative(NamedTuple):
    """So many GPUs of another model that would do."""

    model: GpuModel
    gpus: int


class Link(NamedTuple):
    """Something to read with the pitch; `url` begins with https."""

    name: str
    url: str


@dataclass(frozen=True)
class Details:
    """In the order in which they were typed; `answers`: question -> what it is answered with, as text."""

    alternatives: tuple[Alternative, ...] = ()
    links: tuple[Link, ...] = ()
    answers: Mapping[Question, str] = field(default_factory=dict)

    @property
    def said(self) -> dict[str, str]:
        """Field -> what stands there, as people read it; "" for nothing."""
        return {
            "alternatives": ", ".join(f"{each.gpus} x {each.model.name}" for each in self.alternatives),
            "links": "\n".join(f"{each.name} {each.url}".strip() for each in self.links),
            "answers": "\n".join(f"{question.text} {text}" for question, text in self.answers.items()),
        }


def with_details(rows: QuerySet[Pitch]) -> QuerySet[Pitch]:
    """The pitches, each with what `details_of` needs at hand, so that it asks no more; costs no query of its own."""
    alternatives = PitchAlternative.objects.filter(pitch=OuterRef("pk")).order_by("rank", "pk")
    links = PitchLink.objects.filter(pitch=OuterRef("pk")).order_by("pk")
    answers = Answer.objects.filter(pitch=OuterRef("pk")).order_by("question__position", "question_id")
    about = {name: f"question__{name}" for name in ("text", "kind", "choices", "is_required")}
    return rows.annotate(
        details_rows=JSONObject(
            alternatives=_listed(alternatives, model="model_id", name="model__name", gpus="gpus"),
            links=_listed(links, name="name", url="url"),
            answers=_listed(answers, question="question_id", value="value", **about),
        )
    )


def details_of(pitch: Pitch) -> Details:
    """What the pitch says in rows now; one query, none where `with_details` brought them along.

    Models and questions have their key and their words, nothing else.
    """
    if pitch.pk is None:
        return Details()
    rows = getattr(pitch, "details_rows", None)
    if rows is None:
        rows = vars(with_details(Pitch.objects.filter(pk=pitch.pk).only("pk")).get())["details_rows"]
    return Details(
        tuple(Alternative(GpuModel(pk=row["model"], name=row["name"]), row["gpus"]) for row in rows["alternatives"]),
        tuple(Link(**row) for row in rows["links"]),
        {_question(row): row["value"] for row in rows["answers"]},
    )


def questions_for(division: Division) -> QuerySet[Question]:
    """What the division asks of each pitch now, and what every division asks, in order."""
    return Question.objects.filter(Q(division=None) | Q(division=division), ended_at=None)


def check_details(details: Details, *, model: GpuModel, labels: Mapping[str, str]) -> None:
    """They can be stored beside an ask for `model` on nodes with the labels. Raises BadTerms with the field."""
    _check_alternatives(details.alternatives, model)
    _check_links(details.links)
    _require(
        all(key in LABELS and isinstance(value, str) and len(value) <= LONGEST_LABEL for key, value in labels.items()),
        "required_labels",
        _("A pitch may ask for these labels of its nodes: %(labels)s."),
        labels=", ".join(LABELS),
    )
    for question, text in details.answers.items():
        check_answer(question, text)


def check_answer(question: Question, text: str) -> None:
    """The text is an answer of the question's kind, or empty. Raises BadTerms, which names the question."""
    if text and not _fits_kind(question, text):
        wanted = {
            Question.Kind.NUMBER: _("is answered with a number"),
            Question.Kind.DATE: _("is answered with a day, such as 2027-03-31"),
            Question.Kind.CHOICE: _("is answered with one of: %(choices)s") % {"choices": ", ".join(question.choices)},
            Question.Kind.TEXT: _("takes up to %(limit)s characters") % {"limit": LONGEST_ANSWER},
        }[Question.Kind(question.kind)]
        message = _("“%(question)s” %(wanted)s.") % {"question": question.text, "wanted": wanted}
        raise BadTerms(message, field=field_of(question), question=question.pk)


def check_answered(questions: Iterable[Question], answers: Mapping[Question, str]) -> None:
    """Every question that must be answered is. Raises BadTerms, which names the first that is not."""
    for question in questions:
        if question.is_required and not answers.get(question, "").strip():
            message = _("Your division asks: “%(question)s”") % {"question": question.text}
            raise BadTerms(message, field=field_of(question), question=question.pk)


def field_of(question: Question) -> str:
    """The name of the question's field in forms."""
    return f"question_{question.pk}"


def _check_alternatives(alternatives: tuple[Alternative, ...], model: GpuModel) -> None:
    _require(
        len(alternatives) <= MOST_ALTERNATIVES,
        "alternatives",
        _("Name up to %(most)s other models."),
        most=MOST_ALTERNATIVES,
    )
    named = [model.pk, *(each.model.pk for each in alternatives)]
    _require(len({*named}) == len(named), "alternatives", _("Name each model once; the first choice is none of them."))
    _require(all(each.gpus >= 1 for each in alternatives), "alternatives", _("Say how many GPUs of it would do."))


def _check_links(links: tuple[Link, ...]) -> None:
    _require(len(links) <= MOST_LINKS, "links", _("Give up to %(most)s links."), most=MOST_LINKS)
    for link in links:
        _require(_is_address(link.url), "links", _("“%(url)s” is no https address."), url=link.url[:80])
        _require(len(link.name) <= LONGEST_NAME, "links", _("The name of a link has up to %(n)s characters."), n=140)
    addresses = [link.url for link in links]
    _require(len({*addresses}) == len(addresses), "links", _("Give each address once."))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    has_blank = any(not letter.isprintable() or letter.isspace() for letter in url)
    return parts.scheme == "https" and bool(parts.hostname) and len(url) <= LONGEST_ADDRESS and not has_blank


def _fits_kind(question: Question, text: str) -> bool:
    if question.kind == Question.Kind.CHOICE:
        return text in question.choices
    try:
        if question.kind == Question.Kind.NUMBER:
            return Decimal(text).is_finite()
        if question.kind == Question.Kind.DATE:
            return date.fromisoformat(text).isoformat() == text
    except (InvalidOperation, ValueError):
        return False
    return len(text) <= LONGEST_ANSWER


def _listed(rows: QuerySet, **fields: str) -> ArraySubquery:
    return ArraySubquery(rows.values(row=JSONObject(**fields)))


def _question(row: dict[str, Any]) -> Question:
    about = {name: row[name] for name in ("text", "kind", "choices", "is_required")}
    return Question(pk=row["question"], **about)


def _require(fits: bool, field_name: str, message: str, **words: object) -> None:
    if not fits:
        raise BadTerms(message % words, field=field_name, **words)
