"""Stepping aside from a pitch: who has a conflict of interest signs it in no way, and the others are told."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.errors import BadTerms, NotAllowed, Stale, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Person, Pitch, Recusal, Role
from allocations.notify import page, tell
from allocations.recusals.held import alarm_if_held
from inventory import trail


@one_at_a_time
def recuse(*, pitch: Pitch, by: Person, reason: str) -> Recusal:
    """`by`, whose turn it is, no longer may sign the pitch: neither in an own role nor for somebody else.

    Holders and deputies of the roles that `by` could sign for are told. Where a role has nobody left, those who
    administer are told, too: the pitch waits, and nothing decides it. A repeat changes nothing and comes back. Locks
    the pitch. Raises NotAllowed, BadTerms without a reason, WrongState, Stale when somebody decided first.
    """
    stepped = pitch.recusals.filter(person=by).first()
    if stepped:
        return stepped
    rules.require(by, "sign_pitch", pitch)
    seen = pitch.state
    lock_row(pitch)
    _require_signable(pitch, seen)
    stepped = pitch.recusals.filter(person=by).first()
    if stepped:
        return stepped
    roles = [mandate.role for mandate in queries.mandates_to_sign(pitch, by)]
    if not roles:
        raise NotAllowed(_("It is not your turn to sign this pitch."))
    if not reason.strip():
        raise BadTerms(_("Say why: those who sign instead read it."), field="reason")
    recusal = Recusal.objects.create(pitch=pitch, person=by, reason=reason.strip(), at=timezone.now())
    _tell_the_others(pitch, by, roles, reason)
    alarm_if_held(pitch, by)
    return recusal


def _tell_the_others(pitch: Pitch, by: Person, roles: list[Role], reason: str) -> None:
    event = trail.record("pitch.recused", pitch, by=by, reason=reason, roles=[role.slug for role in roles])
    words = {"title": pitch.title, "person": by.name, "reason": reason}
    tell(
        event,
        queries.signers_of(pitch, roles),
        _("%(person)s stepped aside: %(title)s") % words,
        _("%(person)s does not sign this pitch: %(reason)s") % words,
        page("queue", pitch.public_id),
    )


def _require_signable(pitch: Pitch, seen: str) -> None:
    if pitch.state in Pitch.SIGNABLE:
        return
    message = _("This pitch: %(state)s. There is no such step from here.") % {"state": pitch.get_state_display()}
    if seen != pitch.state:
        raise Stale(_("Somebody was first. %(message)s") % {"message": message}, old=seen, new=pitch.state)
    raise WrongState(message, state=pitch.state)
