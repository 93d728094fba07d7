"""Many pitches answered in one act, each on its own: what is answered, and what came of it in words."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.conf import settings
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext as _

from allocations import pitches as decisions
from allocations import queries, sittings
from allocations.errors import AllocationsError
from allocations.models import Person, Pitch, Role, SignOff
from portal.forms.desk import Marks, Seen
from portal.forms.fields import reason_field
from portal.problems import problem_of
from portal.templatetags.allot import number

MOST_DECIDED = 20  # in one act: more than a sitting can have read; the rest stays marked for the next press


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
    seen = {key: value for key, value in {**marks.taken, **marks.declined}.items() if value.role}
    rows = list(queries.pitches_visible_to(person).filter(public_id__in=seen).order_by("submitted_at", "pk"))
    rows.sort(key=lambda pitch: marks.rank_of(str(pitch.public_id), 0))
    return [(pitch, seen[str(pitch.public_id)]) for pitch in rows]


def decide_all(by: Person, answers: list[tuple[Pitch, Seen]], marks: Marks) -> list[Outcome]:
    """Each is answered as it is marked; a large one that `by` has not had open is refused and the others stand."""
    unopened = {pitch.pk for pitch in sittings.unopened([pitch for pitch, _seen in answers], by)}
    return [
        _refused(pitch, _unopened_sentence(pitch)) if pitch.pk in unopened else _decide(by, pitch, seen, marks)
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


def _decide(by: Person, pitch: Pitch, seen: Seen, marks: Marks) -> Outcome:
    key = str(pitch.public_id)
    declines = key in marks.declined
    typed = marks.gpus.get(key, "").strip()
    if declines and key in marks.taken:
        return _refused(pitch, _("Marked both to take and to decline: choose one."))
    if not declines and not (typed.isdecimal() and len(typed) < 10):
        return _refused(pitch, _("Type how many GPUs, as a whole number."))
    role = Role.objects.filter(slug=seen.role).first()
    if role is None:
        return _refused(pitch, _("Nobody has that role any more."))
    try:
        reason = reason_field(required=False).clean(marks.reasons.get(key, ""))
        signed = decisions.sign_off(
            pitch=pitch,
            by=by,
            role=role,
            verdict=SignOff.Verdict.DECLINE if declines else SignOff.Verdict.APPROVE,
            round=seen.round,
            gpus=None if declines else int(typed),
            reason=reason,
        )
    except ValidationError as error:
        return _refused(pitch, " ".join(error.messages))
    except AllocationsError as refusal:
        return _refused(pitch, problem_of(refusal).detail)
    pitch.refresh_from_db()
    return replace(_refused(pitch, _sentence(pitch)), state=pitch.state, is_refused=False, sign_off=signed.pk)


def _sentence(pitch: Pitch) -> str:
    words = {"gpus": pitch.offered_gpus, "model": pitch.terms.model}
    if pitch.state == Pitch.State.GRANTED:
        return _("Granted: %(gpus)s %(model)s. It is now a need until GPUs are assigned.") % words
    if pitch.state == Pitch.State.OFFERED:
        return _("Offered: %(gpus)s %(model)s. The pitcher accepts or declines.") % words
    if pitch.state == Pitch.State.DECLINED:
        return _("Declined, and the pitcher is told why.")
    roles = ", ".join(role.name for role in queries.roles_that_wait(pitch))
    return _("Signed for %(gpus)s. It waits for %(roles)s.") % (words | {"roles": roles})
