"""Sign-offs: every role that a pitch needs answers; the last approval issues the grant or offers other terms."""

from collections.abc import Callable
from datetime import date

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import calendar, exceptions, grants, queries, rules, turns
from allocations.errors import BadTerms, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Person, Pitch, PitchRole, Project, Role, SignOff
from allocations.models.terms import Terms
from allocations.notify import page, settle
from allocations.pitches import terms as table
from allocations.pitches import verdicts, waitlist, writing
from allocations.pitches.common import require_state, show, tell_signers
from allocations.pitches.writing import Act
from inventory.models import Event, GpuModel

Verdict = SignOff.Verdict


@one_at_a_time
def sign_off(
    *,
    pitch: Pitch,
    by: Person,
    role: Role,
    verdict: str,
    round: int,  # noqa: A002 - the product's word for it
    gpus: int | None = None,
    model: GpuModel | None = None,
    start_on: date | None = None,
    days: int | None = None,
    rank: int | None = None,
    reason: str = "",
) -> SignOff:
    """`by` has answered for `role` to the terms of that round.

    An approval takes what is on the table, less what `gpus`, `model`, `start_on` and `days` say otherwise: other terms
    open the next round, signed by `by`, and the others sign again. The last approval issues the grant where the pitcher
    has accepted such terms beforehand, else it makes a counter-offer. A decline, a round of changes (both with a
    reason) and a place on the waitlist (`rank`) need one signer. A deputy signs where the principal could, and the two
    count as one. One's own answer repeated changes nothing and comes back. For some seconds it can be undone. Locks the
    pitch, at the last signature the shares of its GPU model too.
    Raises NotAllowed, BadTerms, WrongState, Stale when the round is past or somebody was first, and OverShare or
    OverCapacity when the promise no longer fits: then nothing is written, and the last signer may approve fewer.
    """
    row = queries.apart(pitch)  # so that `pitch` shows nothing that a refusal rolled back
    lock_row(row)
    queries.load_signatures(row)
    with queries.one_look(anew=True):
        rules.require(by, "sign_pitch", row)
        turns.require_role(row, by, role)
    if verdict not in Verdict:
        raise BadTerms(_("Answer with one of these: %(verdicts)s.") % {"verdicts": _verdicts()}, field="verdict")
    wanted = table.typed(row, gpus=gpus, model=model, start_on=start_on, days=days)
    is_as_seen = (gpus, model, start_on, days) == (None, None, None, None)
    repeated = _same_answer(row, by, role, verdict, round, None if is_as_seen else wanted)
    if repeated:
        show(pitch, row)
        return repeated
    require_state(row, pitch.state, *Pitch.SIGNABLE)
    with queries.one_look(anew=True):  # the first that is asked in it comes after the last lock
        mandate = turns.require_turn(row, by, role, round)
        row.project = Project.objects.select_related("division", "lead").get(pk=row.project_id)
        signed = _answer(Act(row, by, mandate, verdict, reason, writing.standing_of(row)), wanted, rank)
    show(pitch, row)
    return signed


def _answer(act: Act, wanted: Terms, rank: int | None) -> SignOff:
    answers: dict[str, Callable[[], SignOff]] = {
        Verdict.APPROVE: lambda: _approve(act, wanted),
        Verdict.DECLINE: lambda: verdicts.decline(act),
        Verdict.CHANGES: lambda: verdicts.ask_for_changes(act),
        Verdict.WAITLIST: lambda: verdicts.put_on_waitlist(act, rank),
    }
    return answers[act.verdict]()


def _approve(act: Act, wanted: Terms) -> SignOff:
    pitch = act.pitch
    if pitch.project.state == Project.State.ENDED:
        raise WrongState(_("%(project)s has ended: it can only be declined.") % {"project": pitch.project.name})
    is_new = not table.is_on_table(pitch, wanted)
    if is_new:
        table.check(pitch, wanted)
        table.put_on_table(pitch, wanted)
    signed, event = writing.write_sign_off(act)
    waiting = queries.unsigned_roles(pitch)
    if waiting:
        settle(page("queue", pitch.public_id), at=signed.at, people={act.by})
        if is_new:
            _tell_the_pitcher(signed, event)
        _tell_the_next(signed, event, waiting, is_new=is_new)
    elif table.is_accepted_beforehand(pitch, pitch.terms):
        grant = grants.promise_locked(pitch, by=act.by)
        if pitch.is_over_share:
            exceptions.cover_grant(grant, by=act.by)
        writing.decide(act, signed, Pitch.State.GRANTED)
    else:
        _offer(act, signed)
    return signed


def _offer(act: Act, signed: SignOff) -> None:
    """All have signed what the pitcher has not accepted beforehand: it is theirs to answer. It promises nothing yet."""
    pitch, now = act.pitch, timezone.now()
    grants.require_room_for(pitch, now=now)
    settle(page("queue", pitch.public_id), at=signed.at)
    waitlist.close_gap(pitch)
    due_at = calendar.due_after(now, settings.ANSWER_WORKING_DAYS, division=pitch.project.division)
    stamps = {"offered_at": now, "answer_due_at": due_at, "answer_reminded_at": None, "waitlist_rank": None}
    Pitch.objects.advance(pitch, Pitch.State.OFFERED, **stamps)
    event = writing.record(
        signed, "pitch.offered", by=act.by, reason=act.reason, round=pitch.round, due_at=due_at,
        gpus=pitch.terms.gpus, model=pitch.terms.model.name, start_on=pitch.terms.start_on, days=pitch.terms.days,
    )  # fmt: skip
    subject = _("Your answer is needed: %(title)s")
    body = _(
        "All have signed other terms than you asked for: %(gpus)s %(model)s for %(days)s days from %(start_on)s. "
        "Accept or decline them on the page of the pitch.\n\n%(reason)s"
    )
    people = {pitch.pitcher, pitch.project.lead}
    writing.tell_askers(signed, event, people, subject, body, reason=act.reason)


def _tell_the_next(signed: SignOff, event: Event, waiting: list[PitchRole], *, is_new: bool) -> None:
    """Those whose turn it is now hear of it: all of them where the terms are new, else who comes after this one."""
    lowest = min(each.position for each in waiting)
    own = signed.pitch.needed_roles.get(role=signed.role_id).position if lowest else 0
    if not is_new and lowest <= own:
        return
    what = _("has new terms and waits for your signature") if is_new else _("waits for your signature")
    roles = [each.role for each in waiting if each.position == lowest]
    tell_signers(event, signed.pitch, roles, what, but={signed.person}, not_before=writing.leaves_at(signed))


def _tell_the_pitcher(signed: SignOff, event: Event) -> None:
    """Other terms than were asked for are on the table; who asked hears it before the last has signed."""
    subject = _("Other terms: %(title)s")
    body = _(
        "%(person)s signed for %(gpus)s %(model)s for %(days)s days from %(start_on)s. The others sign that too, or "
        "other terms.\n\n%(reason)s"
    )
    people = {signed.pitch.pitcher} - {signed.person}
    writing.tell_askers(signed, event, people, subject, body, person=signed.person.name, reason=signed.reason)


def _same_answer(
    pitch: Pitch, by: Person, role: Role, verdict: str, seen_round: int, wanted: Terms | None
) -> SignOff | None:
    """The sign-off that this one repeats: of that round, or of a later one that it opened itself with these terms."""
    own = [
        given
        for given in pitch.sign_offs.all()
        if (given.person_id, given.role_id, given.verdict) == (by.pk, role.pk, verdict)
    ]
    if wanted is None:
        return next((given for given in own if given.round == seen_round), None)
    terms = (wanted.model.pk, wanted.gpus, wanted.start_on, wanted.days)
    same = [given for given in own if (given.model_id, given.gpus, given.start_on, given.days) == terms]
    return max((given for given in same if given.round >= seen_round), key=lambda given: given.round, default=None)


def _verdicts() -> str:
    return ", ".join(Verdict.values)
