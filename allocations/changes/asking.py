"""Asking for a change of a grant: the roles that sign it are frozen that day, and those whom it concerns are told."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules, turns
from allocations.changes.common import lock_asked, require_promised, signers_of, tell_of, words_of
from allocations.changes.effects import let_go
from allocations.errors import BadTerms, Stale, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Grant, GrantChange, Person, Policy, Project, Role
from allocations.models.pitches import LONGEST_DAYS
from inventory import trail

DAY_S = 86_400


@one_at_a_time
def ask_extension(*, grant: Grant, by: Person, days: int, reason: str, so_far: str = "") -> GrantChange:
    """The grant is asked to go on for `days` after its end; `so_far` says how the first period went.

    Those who sign and the project's lead are told. One is open at a time. The policies for extensions in force now say
    who signs, and whether the grant goes on while it waits, which is frozen into it; where there are none, those for a
    pitch of that size say. That of an emergency grant is signed by those who sign the split.
    Raises NotAllowed, BadTerms, WrongState, Stale, NobodyToSign.
    """
    rules.require(by, "ask_extension", grant)
    _require(1 <= days <= LONGEST_DAYS, "days", _("Ask for 1 to %(longest)s days.") % {"longest": LONGEST_DAYS})
    _require(bool(reason.strip()), "reason", _("Say why: those who sign read it."))
    lock_row(grant)
    require_promised(grant)
    if grant.project.state != Project.State.ACTIVE:
        raise WrongState(_("%(project)s winds down or has ended.") % {"project": grant.project.name})
    if queries.loan_of(grant) is not None:
        raise WrongState(_("These GPUs are on loan: the loan is renewed, not the grant."))
    told = reason.strip()
    if so_far.strip():
        told += "\n\n" + _("How it went so far: %(words)s") % {"words": so_far.strip()}
    roles, rows = queries.roles_for_change(grant, GrantChange.Kind.EXTEND, days=days)
    if grant.is_emergency:  # its renewal, as a second emergency is
        roles = queries.roles_for_split()
    of_pitches = Policy.Subject.PITCH
    ruling = rows or queries.signing_rows(of_pitches, division=grant.project.division, gpus=grant.gpus, days=days)
    grant.keeps_while_asked = any(row.keeps_while_asked for row in ruling)
    grant.save(update_fields=["keeps_while_asked"])
    change = GrantChange(grant=grant, kind=GrantChange.Kind.EXTEND, days=days, reason=told, asked_by=by)
    change.due_at = queries.due_by_policies(rows, now=timezone.now(), division=grant.project.division)
    return _asked(change, roles)


@one_at_a_time
def ask_change(
    *, grant: Grant, by: Person, reason: str, gpus: int | None = None, takes_effect_at: datetime | None = None
) -> GrantChange:
    """The grant is to keep `gpus` only (None: to end) from that instant on, at the earliest from the last signature.

    Those who sign and the lead are told; the lead's answer decides nothing. Raises as `ask_extension`.
    """
    rules.require(by, "ask_change", grant)
    _require(bool(reason.strip()), "reason", _("Say why: the lead and those who sign read it."))
    lock_row(grant)
    require_promised(grant)
    now = timezone.now()
    if grant.ends_at <= now:
        raise WrongState(_("This grant has ended already."), ends_at=grant.ends_at)
    if gpus is not None:
        _require(1 <= gpus < grant.gpus, "gpus", _("It keeps 1 to %(most)s GPUs.") % {"most": grant.gpus - 1})
        if queries.loan_of(grant) is not None:  # the lender would go without those that nobody holds
            raise WrongState(_("These GPUs are on loan: they are given back together, on the page of the loan."))
    if takes_effect_at is not None:
        fits = now <= takes_effect_at < grant.ends_at
        _require(fits, "takes_effect_at", _("Name an instant from now on and before its promised end."))
    kind = GrantChange.Kind.END if gpus is None else GrantChange.Kind.SHRINK
    roles, rows = _ruling(grant, kind, now)
    change = GrantChange(
        grant=grant, kind=kind, gpus=gpus, takes_effect_at=takes_effect_at, reason=reason.strip(), asked_by=by
    )
    change.due_at = queries.due_by_policies(rows, now=now, division=grant.project.division)
    return _asked(change, roles)


@one_at_a_time
def withdraw_change(*, change: GrantChange, by: Person, reason: str = "") -> GrantChange:
    """Nobody needs to sign it any more; who asked, or the project's lead, took it back.

    A grant that went on only while its extension waited ends now. Raises NotAllowed, WrongState, Stale.
    """
    rules.require(by, "withdraw_change", change)
    lock_asked(change)
    if change.kind == GrantChange.Kind.RATIFY:
        raise WrongState(_("An emergency is ratified or declined. To take it back, end the grant."))
    GrantChange.objects.advance(change, GrantChange.State.WITHDRAWN)
    trail.record("change.withdrawn", change, by=by, reason=reason, grant=change.grant.public_id)
    let_go(change, by=by)
    return change


def signers_needed(grant: Grant, *, keeps: bool) -> list[Role]:
    """Who would sign if the grant were asked now to keep fewer GPUs, or to end."""
    return _ruling(grant, GrantChange.Kind.SHRINK if keeps else GrantChange.Kind.END, timezone.now())[0]


def _ruling(grant: Grant, kind: str, now: datetime) -> tuple[list[Role], list[Policy]]:
    left_days = max(1, int((grant.ends_at - now).total_seconds() // DAY_S))
    return queries.roles_for_change(grant, kind, days=left_days)


def _asked(change: GrantChange, roles: list) -> GrantChange:
    but = list(Person.objects.filter(pk__in=queries.barred_from(change)))
    turns.require_signers(roles, what=_("a change of a grant"), but=but)
    change.asked_at = timezone.now()
    try:
        with transaction.atomic():
            change.save()
    except IntegrityError as refusal:
        raise Stale(_("Somebody has asked for that already; it waits for signatures.")) from refusal
    change.roles.set(roles)
    grant = change.grant
    event = trail.record(
        "change.asked", change, by=change.asked_by, reason=change.reason, kind=change.kind, grant=grant.public_id,
        project=grant.project.slug, model=grant.model.name, gpus=grant.gpus, days=change.days, keeps_gpus=change.gpus,
        takes_effect_at=change.takes_effect_at, ends_at=grant.ends_at, roles=[role.slug for role in roles],
    )  # fmt: skip
    people = signers_of(change) | {grant.project.lead}
    body = _("%(person)s asks: %(reason)s") % {"person": change.asked_by.name, "reason": change.reason}
    tell_of(event, change, people - {change.asked_by}, words_of(change), body)
    return change


def _require(fits: bool, field: str, message: str) -> None:
    if not fits:
        raise BadTerms(message, field=field)
