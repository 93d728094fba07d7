"""Signatures under a change: every role answers; the last approval makes it hold, one decline decides."""

from copy import copy

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules, turns
from allocations.changes.common import tell_of, words_of
from allocations.changes.effects import let_go, take_effect
from allocations.errors import BadTerms
from allocations.locks import lock_row, one_at_a_time
from allocations.models import ChangeSignOff, GrantChange, Person, Role
from inventory import trail


@one_at_a_time
def sign_change(
    *, change: GrantChange, by: Person, verdict: str = "approve", role: Role | None = None, reason: str = ""
) -> ChangeSignOff:
    """`by` has answered for `role` (by default one that is held and not signed for).

    The last approval takes effect with it: capacity is checked for the added time under the locks of the shares. A
    decline needs a reason and decides at once; the grant keeps its term. One's own answer repeated changes nothing.
    Raises NotAllowed, BadTerms, WrongState, Stale, and OverShare or OverCapacity when the added time does not fit.
    """
    rules.require(by, "sign_change", change)
    if verdict not in ChangeSignOff.Verdict:
        raise BadTerms(_("A sign-off approves or declines."), field="verdict")
    row = copy(change)  # so that `change` shows nothing that a refusal rolled back
    seen = row.state
    lock_row(row)
    given = list(row.sign_offs.select_related("role", "person", "deputy_for"))
    own = next((each for each in given if each.person == by and each.verdict == verdict), None)
    if own and role in (None, own.role):
        return own
    turns.require_waits(row, seen)
    needed = list(row.roles.all())
    mandate = turns.require_mandate(by, role, needed, given, barred=queries.barred_from(row))
    if verdict == ChangeSignOff.Verdict.DECLINE and not reason.strip():
        raise BadTerms(_("Say why: who asked reads it."), field="reason")
    signed = ChangeSignOff.objects.create(
        change=row, role=mandate.role, person=by, deputy_for=mandate.deputy_for, verdict=verdict, reason=reason.strip(),
        at=timezone.now(),
    )  # fmt: skip
    trail.record(
        "change.signed", row, by=by, reason=reason, kind=row.kind, role=mandate.role.slug, verdict=verdict,
        grant=row.grant.public_id, **mandate.said,
    )  # fmt: skip
    if verdict == ChangeSignOff.Verdict.DECLINE:
        _decline(row, by, reason)
    elif {each.role for each in given} | {mandate.role} >= set(needed):
        _approve(row, by, reason)
    change.refresh_from_db()
    return signed


def _approve(change: GrantChange, by: Person, reason: str) -> None:
    took = take_effect(change, by=by)
    GrantChange.objects.advance(
        change, GrantChange.State.APPROVED, decided_by=by, decided_at=timezone.now(), decided_reason=reason.strip(),
        takes_effect_at=change.takes_effect_at,
    )  # fmt: skip
    event = trail.record("change.approved", change, by=by, reason=reason, kind=change.kind, **took)
    people = {change.asked_by, change.grant.project.lead} - {by}
    subject = _("Approved: %(what)s") % {"what": words_of(change)}
    tell_of(event, change, people, subject, _("%(person)s signed last.") % {"person": by.name})


def _decline(change: GrantChange, by: Person, reason: str) -> None:
    GrantChange.objects.advance(
        change, GrantChange.State.DECLINED, decided_by=by, decided_at=timezone.now(), decided_reason=reason.strip()
    )
    event = trail.record(
        "change.declined", change, by=by, reason=reason, kind=change.kind, grant=change.grant.public_id
    )
    let_go(change, by=by)
    subject = _("Declined: %(what)s") % {"what": words_of(change)}
    people = {change.asked_by, change.grant.project.lead} - {by}
    tell_of(event, change, people, subject, _("%(person)s: %(reason)s") % {"person": by.name, "reason": reason})
