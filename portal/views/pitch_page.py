"""What the page of one pitch shows, and what its viewer may do there."""

from typing import Any

from django.http import HttpRequest

from allocations import queries, rules
from allocations.models import Grant, Person, Pitch
from allocations.queries.standing import with_gpus
from portal.earlier import earlier_of, revised_of
from portal.forms import EmergencyForm, OfferAnswerForm, RankForm, ReasonForm
from portal.outlook import outlook_of_pitch
from portal.views.pitch_story import story_of

ENDED_WITHOUT = (Pitch.State.DECLINED, Pitch.State.WITHDRAWN)  # what a new pitch may follow
UNDECIDED = (*Pitch.SIGNABLE, Pitch.State.OFFERED)  # whether it fits, and from when, matters still
WRITABLE = (Pitch.State.DRAFT, Pitch.State.CHANGES)


def page_of(
    request: HttpRequest,
    row: Pitch,
    *,
    form: ReasonForm | None = None,
    offer_form: OfferAnswerForm | None = None,
    rank_form: RankForm | None = None,
    emergency_form: EmergencyForm | None = None,
) -> dict[str, Any]:
    """The context of the page; the forms are those that somebody has filled in."""
    person = request.user
    grant = _grant_of(row) if row.state == Pitch.State.GRANTED else None
    is_open = row.state == Pitch.State.DRAFT or row.state in Pitch.OPEN
    return {
        "pitch": row,
        "may_resubmit": row.state in ENDED_WITHOUT and rules.can(person, "pitch_for", row.project),
        "earlier": earlier_of(row, person),
        "followers": _followers(row, person) if row.state in ENDED_WITHOUT else [],
        "story": story_of(row, grant=grant),
        "late_gpu_days": queries.late_gpu_days([grant])[grant.pk] if grant else 0,
        "outlook": outlook_of_pitch(row) if row.state in UNDECIDED else None,
        "form": form or ReasonForm(),
        "may_edit": row.state in WRITABLE and rules.can(person, "edit_pitch", row),
        "may_withdraw": is_open and rules.can(person, "withdraw_pitch", row),
        "may_emergency": row.state in Pitch.SIGNABLE and rules.can(person, "grant_emergency", row),
        "emergency_form": emergency_form or EmergencyForm(prefix="emergency"),
        "mandates": queries.mandates_to_sign(queries.load_signatures(row), person),
        "alike": queries.look_alikes(title=row.title, why=row.why, project=row.project, person=person, but=row),
        "revised": revised_of(row),
        **_offer(row, person, offer_form),
        "may_rank": row.state == Pitch.State.WAITLISTED and rules.can(person, "sign_pitch", row),
        "rank_form": rank_form or RankForm(initial={"rank": row.waitlist_rank}),
    }


def _grant_of(row: Pitch) -> Grant | None:
    return with_gpus(Grant.objects.filter(pitch=row)).select_related("model", "issued_by", "ended_by").first()


def _followers(row: Pitch, person: Person) -> list[Pitch]:
    return list(queries.pitches_visible_to(person).filter(resubmits=row).order_by("pk"))


def _offer(row: Pitch, person: Person, form: OfferAnswerForm | None) -> dict[str, Any]:
    """The counter-offer, where there is one, and whether it is the viewer's to answer."""
    if row.state != Pitch.State.OFFERED:
        return {}
    given = [each for each in row.sign_offs.all() if each.round == row.round]
    is_theirs = rules.can(person, "answer_offer", row) and person.pk not in queries.people_of(given)
    return {
        "may_answer": is_theirs,
        "offer_reasons": [each for each in given if each.reason],
        "offer_form": form or OfferAnswerForm(),
    }
