"""Many pitches answered in one act, each on its own: what is answered, and what came of it in words."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext as _

from allocations import grants, queries, sittings
from allocations import pitches as decisions
from allocations.errors import AllocationsError
from allocations.models import Person, Pitch, Role, SignOff
from portal.forms.desk import AnswerForm, Marks, Seen
from portal.problems import problem_of
from portal.templatetags.figures import number

MOST_DECIDED = 20  # in one act: more than a sitting can have read; the rest stays marked for the next press
MOST_DIGITS = 10  # of a number of GPUs that the database can hold


@dataclass(frozen=True)
class Outcome:
    """What came of one answer: what it is about, the state for its pill, the sentence, whether it was refused.

    `sign_off` is the answer's pk, while it can still be taken back; 0 for none.
    """

    key: str
    title: str
    address: str
    state: str
    sentence: str
    is_refused: bool = False
    sign_off: int = 0


def answers_of(person: Person, marks: Marks) -> list[tuple[Pitch, Seen]]:
    """What is to be decided, highest rank first; marked ones that wait for others are only weighed."""
    marked = {**marks.taken, **marks.declined, **marks.waitlisted}
    seen = {key: value for key, value in marked.items() if value.role}
    rows = list(queries.pitches_visible_to(person).filter(public_id__in=seen).order_by("submitted_at", "pk"))
    rows.sort(key=lambda pitch: marks.rank_of(str(pitch.public_id), 0))
    return [(pitch, seen[str(pitch.public_id)]) for pitch in rows]


def decide_all(
    by: Person, answers: list[tuple[Pitch, Seen]], marks: Marks, misfits: Mapping[str, str]
) -> list[Outcome]:
    """Each is answered as it is marked, and what is refused leaves the others standing.

    Refused are a large one that `by` has not had open, and an approval that does not fit (`misfits`: key -> why).
    """
    unopened = {pitch.pk for pitch in sittings.unopened([pitch for pitch, _seen in answers], by)}
    return [
        _refused(pitch, _unopened_sentence(pitch)) if pitch.pk in unopened else _decide(by, pitch, seen, marks, misfits)
        for pitch, seen in answers
    ]


def undo_all(by: Person, keys: Collection[int]) -> list[Outcome]:
    """The answers of `by` are taken back, the last one first; what is too late stands, and says what helps."""
    rows = SignOff.every.filter(person=by, pk__in=keys).select_related("pitch").order_by("-pk")
    return [_undone(by, signed) for signed in rows[:MOST_DECIDED]]


def _undone(by: Person, signed: SignOff) -> Outcome:
    try:
        decisions.undo_sign_off(sign_off=signed, by=by)
    except AllocationsError as refusal:
        return _refused(signed.pitch, problem_of(refusal).detail)
    signed.pitch.refresh_from_db()
    told = _refused(signed.pitch, _("Taken back. Nobody was told."))
    return replace(told, state=signed.pitch.state, is_refused=False)


def _refused(pitch: Pitch, sentence: str) -> Outcome:
    address = reverse("pitch", args=[pitch.public_id])
    return Outcome(str(pitch.public_id), pitch.title, address, "", sentence, is_refused=True)


def _unopened_sentence(pitch: Pitch) -> str:
    words = {"gpus": number(pitch.offered_gpus), "most": number(settings.DECIDE_UNOPENED_GPUS)}
    return _("It asks for %(gpus)s GPUs, more than %(most)s, and you have not opened it: open it, then decide.") % words


def _decide(by: Person, pitch: Pitch, seen: Seen, marks: Marks, misfits: Mapping[str, str]) -> Outcome:
    key = str(pitch.public_id)
    if marks.answers_to(key) > 1:
        return _refused(pitch, _("Marked for two answers: choose one."))
    role = Role.objects.filter(slug=seen.role).first()
    if role is None:
        return _refused(pitch, _("Nobody has that role any more."))
    try:
        said = _said(key, marks)
        if key in marks.taken and key in misfits:
            return _refused(pitch, misfits[key])
        if key in marks.waitlisted and pitch.state == Pitch.State.WAITLISTED and said["rank"]:
            decisions.rank_waitlisted(pitch=pitch, by=by, rank=said["rank"])
            return _stands(pitch, 0)
        signed = decisions.sign_off(pitch=pitch, by=by, role=role, round=seen.round, **said)
    except ValidationError as error:
        return _refused(pitch, " ".join(error.messages))
    except AllocationsError as refusal:
        return _refused(pitch, problem_of(refusal).detail)
    return _stands(pitch, signed.pk)


def _said(key: str, marks: Marks) -> dict[str, Any]:
    """What is marked for the pitch, as `sign_off` takes it. Raises ValidationError."""
    typed = {"start_on": marks.starts, "days": marks.days, "model": marks.models, "rank": marks.places}
    form = AnswerForm({name: by_key.get(key, "") for name, by_key in {**typed, "reason": marks.reasons}.items()})
    if not form.is_valid():
        raise ValidationError([message for messages in form.errors.values() for message in messages])
    said = dict(form.cleaned_data)
    if key in marks.declined:
        return {"verdict": SignOff.Verdict.DECLINE, "reason": said["reason"]}
    if key in marks.waitlisted:
        return {"verdict": SignOff.Verdict.WAITLIST, "reason": said["reason"], "rank": said["rank"]}
    gpus = marks.gpus.get(key, "").strip()
    if not (gpus.isdecimal() and len(gpus) < MOST_DIGITS):
        raise ValidationError(_("Type how many GPUs, as a whole number."))
    del said["rank"]
    return {"verdict": SignOff.Verdict.APPROVE, "gpus": int(gpus), **said}


def _stands(pitch: Pitch, sign_off: int) -> Outcome:
    pitch.refresh_from_db()
    return replace(_refused(pitch, _sentence(pitch)), state=pitch.state, is_refused=False, sign_off=sign_off)


def _sentence(pitch: Pitch) -> str:
    terms = pitch.terms
    words = {"gpus": terms.gpus, "model": terms.model, "rank": pitch.waitlist_rank}
    words |= {"days": terms.days, "day": grants.spoken(terms.start_on)}
    if pitch.state == Pitch.State.GRANTED:
        return _("Granted: %(gpus)s %(model)s. It is now a need until GPUs are assigned.") % words
    if pitch.state == Pitch.State.OFFERED:
        return _("Offered: %(gpus)s %(model)s for %(days)s days from %(day)s. The pitcher accepts or declines.") % words
    if pitch.state == Pitch.State.DECLINED:
        return _("Declined, and the pitcher is told why.")
    if pitch.state == Pitch.State.WAITLISTED:
        return _("On the waitlist at rank %(rank)s. Nothing there decides itself.") % words
    words["roles"] = ", ".join(role.name for role in queries.roles_that_wait(pitch))
    if terms[2:] == pitch.asked[2:] and terms.model == pitch.asked.model:
        return _("Signed for %(gpus)s. It waits for %(roles)s.") % words
    return _("Signed for %(gpus)s %(model)s, %(days)s days from %(day)s. It waits for %(roles)s.") % words
