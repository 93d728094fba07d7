"""The story of a pitch for its page: the steps with names and waiting times, what happened, what happens next."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import queries
from allocations.grants import spoken, spoken_at
from allocations.models import ConflictOfInterest, Deputy, Grant, Person, Pitch, Recusal, Role, SignOff, signed_name

DONE, NOW, TODO, BAD = "done", "now", "todo", "bad"


@dataclass(frozen=True)
class Step:
    """One step on the way to GPUs: who (names), and since or at which instant."""

    title: str
    state: str
    who: str = ""
    at: datetime | None = None
    note: str = ""
    is_promise: bool = False


@dataclass(frozen=True)
class Happening:
    """Something that happened: the sentence, who did it, the reason given."""

    at: datetime
    text: str
    who: str
    reason: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Story:
    """All that the pitch's page tells; `waits_for` are the roles that still must sign this round.

    `held_for`: one of them that nobody is left to sign for; until somebody gets it the pitch waits. `conflicts`: those
    who would sign and have declared a conflict of interest with the project.
    """

    steps: list[Step]
    happenings: list[Happening]
    next_sentence: str
    decline: SignOff | None
    waits_for: list[tuple[Role, list[Person]]]
    held_for: Role | None
    grant: Any
    conflicts: list[ConflictOfInterest]


def story_of(pitch: Pitch, *, grant: Any) -> Story:
    """The story as of now; `grant` carries `assigned_gpus` and `held_gpus`."""
    queries.load_signatures(pitch)
    sign_offs, recusals, needed = list(pitch.sign_offs.all()), list(pitch.recusals.all()), queries.needed_by(pitch)
    holders = queries.holders_of(needed)
    is_open = pitch.state in Pitch.SIGNABLE
    deputies = queries.deputies_of(needed) if is_open else {}
    signed = {sign_off.role_id: sign_off for sign_off in sign_offs if sign_off.round == pitch.round}
    barred = queries.barred_from_pitch(pitch) | queries.people_of(signed.values())
    left = {role: [person for person in holders[role] if person.pk not in barred] for role in needed}
    waits_for = [(role, left[role]) for role in needed if is_open and role.pk not in signed]
    held_for = queries.unplaced(dict(waits_for))
    unsigned = [row for row in pitch.needed_roles.all() if row.role_id not in signed]
    in_turn = {row.role_id for row in queries.in_turn(unsigned)} if is_open else set()
    # A later round began with the signature that put other terms on the table, or after the last answer to the others.
    earlier = max((each.at for each in sign_offs), default=pitch.submitted_at)
    since = min((each.at for each in signed.values()), default=earlier) if pitch.round > 1 else pitch.submitted_at
    return Story(
        steps=[
            _pitched(pitch),
            *(
                _signature(
                    role,
                    signed.get(role.pk),
                    _names(left[role], deputies.get(role, []), barred),
                    since if role.pk in in_turn else None,
                )
                for role in needed
            ),
            *_askers(pitch),
            *_promise(pitch, grant),
        ],
        happenings=_happenings(pitch, sign_offs, recusals, grant),
        next_sentence=_next(pitch, waits_for, grant),
        decline=next((s for s in sign_offs if s.verdict == SignOff.Verdict.DECLINE), None),
        waits_for=waits_for,
        held_for=held_for,
        grant=grant,
        conflicts=_conflicts(pitch, holders, deputies) if is_open else [],
    )


def _conflicts(
    pitch: Pitch, holders: dict[Role, list[Person]], deputies: dict[Role, list[Deputy]]
) -> list[ConflictOfInterest]:
    would_sign = {person.pk for people in holders.values() for person in people}
    would_sign |= {row.deputy_id for rows in deputies.values() for row in rows}
    return [row for row in queries.conflicts_about(pitch) if row.person_id in would_sign]


def _pitched(pitch: Pitch) -> Step:
    state = DONE if pitch.submitted_at else NOW
    return Step(_("Pitched"), state, pitch.pitcher.name, pitch.submitted_at or pitch.created_at)


def _signature(role: Role, sign_off: SignOff | None, names: str, since: datetime | None) -> Step:
    """A role's answer in this round; `since` when it is its turn, None where it is not."""
    if sign_off is None:
        return Step(role.name, NOW, names, since, "waits") if since else Step(role.name, TODO, names)
    notes = {
        SignOff.Verdict.APPROVE: (DONE, _("signed for %(gpus)s") % {"gpus": sign_off.gpus}),
        SignOff.Verdict.DECLINE: (BAD, _("declined")),
        SignOff.Verdict.CHANGES: (DONE, _("asked for changes")),
        SignOff.Verdict.WAITLIST: (DONE, _("put it on the waitlist")),
    }
    state, note = notes[SignOff.Verdict(sign_off.verdict)]
    return Step(role.name, state, sign_off.signer, sign_off.at, note)


def _askers(pitch: Pitch) -> list[Step]:
    """What waits for the pitcher; nothing where it waits for others."""
    if pitch.state == Pitch.State.OFFERED:
        return [Step(_("Answer to the offer"), NOW, pitch.pitcher.name, pitch.offered_at, "waits")]
    if pitch.state == Pitch.State.CHANGES:
        asked_at = max((each.at for each in pitch.sign_offs.all()), default=None)
        return [Step(_("Changes"), NOW, pitch.pitcher.name, asked_at, "waits")]
    return []


def _names(holders: list[Person], deputies: list[Deputy], barred: set[int]) -> str:
    """Who may sign: the holders, and whoever stands in for one of them now."""
    present = {person.pk for person in holders}
    standing_in = [row for row in deputies if row.principal_id in present and row.deputy_id not in barred]
    names = [person.name for person in holders]
    names += [signed_name(row.deputy, row.principal) for row in standing_in]
    return ", ".join(names) or _("nobody is left for this role")


def _promise(pitch: Pitch, grant: Any) -> list[Step]:
    if pitch.state in (Pitch.State.DECLINED, Pitch.State.WITHDRAWN):
        return []
    if grant is None:
        return [Step(_("Grant"), TODO, is_promise=True), Step(_("GPUs"), TODO, is_promise=True)]
    given = _("%(held)s of %(gpus)s held, by readings") % {"held": grant.held_gpus, "gpus": grant.gpus}
    state = DONE if grant.held_gpus >= grant.gpus else NOW
    return [
        Step(_("Grant"), DONE, grant.issued_by.name, grant.issued_at, _("for %(gpus)s") % {"gpus": grant.gpus}, True),
        Step(_("GPUs"), state, note=given, is_promise=True),
    ]


def _next(pitch: Pitch, waits_for: list[tuple[Role, list[Person]]], grant: Any) -> str:
    """One sentence: what happens next and who does it."""
    if pitch.state == Pitch.State.DRAFT:
        return _("Only you see this draft. Submit it, and the people who must sign find it in their queue.")
    if pitch.state == Pitch.State.SUBMITTED:
        roles = _(" and ").join(role.name for role, _people in waits_for)
        words = _("Waits for %(roles)s. The last signature checks the capacity again and makes the promise.")
        return words % {"roles": roles}
    if pitch.state in (Pitch.State.CHANGES, Pitch.State.OFFERED, Pitch.State.WAITLISTED):
        return _next_of_answer(pitch)
    if pitch.state == Pitch.State.DECLINED:
        return _("Declined. The reason stands below; a new pitch may answer it.")
    if pitch.state == Pitch.State.WITHDRAWN:
        return _("Withdrawn by its own people. Nothing further happens.")
    return _next_of_grant(grant)


def _next_of_answer(pitch: Pitch) -> str:
    words = {"person": pitch.pitcher.name, "rank": pitch.waitlist_rank, "model": pitch.model.name}
    if pitch.state == Pitch.State.CHANGES:
        sentence = _("Waits for %(person)s, who changes it and submits it again; then all sign anew.") % words
        due = _("That is due by %(day)s; nothing decides itself.")
        return f"{sentence} {due % {'day': spoken_at(pitch.answer_due_at)}}" if pitch.answer_due_at else sentence
    if pitch.state == Pitch.State.OFFERED:
        return _("Waits for %(person)s, who accepts or declines what all have signed.") % words
    message = _("On the waitlist for %(model)s at rank %(rank)s. Those who sign are told once when it fits.")
    return message % words


def _next_of_grant(grant: Grant | Any) -> str:
    if grant is None:
        return _("Granted.")
    missing = grant.gpus - grant.assigned_gpus
    if grant.ended_at:
        return _("The grant was ended early.")
    if missing > 0:
        return ngettext(
            "Promised; %(missing)s GPU is still to be assigned by ops.",
            "Promised; %(missing)s GPUs are still to be assigned by ops.",
            missing,
        ) % {"missing": missing}
    if grant.held_gpus < grant.gpus:
        return _("All GPUs are assigned; the machines switch them, and a reading proves each one.")
    return _("All GPUs are in the project's hands, proven by readings.")


def _happenings(pitch: Pitch, sign_offs: list[SignOff], recusals: list[Recusal], grant: Any) -> list[Happening]:
    """Newest first."""
    told = [Happening(pitch.created_at, _("Draft begun"), pitch.pitcher.name)]
    if pitch.submitted_at:
        told.append(Happening(pitch.submitted_at, _("Submitted"), pitch.pitcher.name, tone="open"))
    told += [_of_sign_off(pitch, sign_off) for sign_off in sign_offs]
    if pitch.state == Pitch.State.OFFERED and pitch.offered_at:
        told.append(Happening(pitch.offered_at, _("Offered to the pitcher"), "", tone="warn"))
    told += [Happening(row.at, _("Stepped aside"), row.person.name, row.reason) for row in recusals]
    if pitch.withdrawn_at:
        told.append(Happening(pitch.withdrawn_at, _("Withdrawn"), ""))
    if grant:
        text = _("Promised: %(gpus)s %(model)s") % {"gpus": grant.gpus, "model": grant.model}
        # The last signature issues the grant a moment before it is written itself.
        at = max([grant.issued_at, *(sign_off.at for sign_off in sign_offs)])
        told.append(Happening(at, text, grant.issued_by.name, tone="good"))
        if grant.ended_at:
            told.append(Happening(grant.ended_at, _("Grant ended early"), grant.ended_by.name))
    return sorted(told, key=lambda happening: happening.at)[::-1]


def _of_sign_off(pitch: Pitch, sign_off: SignOff) -> Happening:
    who = f"{sign_off.role.name}, {sign_off.signer}"
    others = {
        SignOff.Verdict.DECLINE: (_("Declined"), "bad"),
        SignOff.Verdict.CHANGES: (_("Asked for changes"), "warn"),
        SignOff.Verdict.WAITLIST: (_("Put on the waitlist"), "open"),
    }
    if sign_off.verdict in others:
        text, tone = others[SignOff.Verdict(sign_off.verdict)]
        return Happening(sign_off.at, text, who, sign_off.reason, tone)
    return Happening(sign_off.at, _signed_for(pitch, sign_off), who, sign_off.reason, "good")


def _signed_for(pitch: Pitch, sign_off: SignOff) -> str:
    """The terms that somebody signed, as far as they are not as asked."""
    model = sign_off.model or pitch.model
    words = {
        "gpus": sign_off.gpus,
        "model": model.name,
        "days": sign_off.days,
        "start_on": spoken(sign_off.start_on or pitch.start_on),
    }
    if sign_off.days not in (None, pitch.days) or sign_off.start_on not in (None, pitch.start_on):
        return _("Signed for %(gpus)s %(model)s for %(days)s days from %(start_on)s") % words
    if model != pitch.model:
        return _("Signed for %(gpus)s %(model)s") % words
    return _("Signed for %(gpus)s GPUs") % words
