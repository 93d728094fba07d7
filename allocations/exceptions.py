"""GPUs of a model above a division's share for a time; in force only with every signature, over on its own second."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules, turns
from allocations.days import LAST_DAY, is_reachable
from allocations.errors import BadTerms, WrongState
from allocations.locks import lock_row, lock_shares, one_at_a_time
from allocations.models import Division, ExceptionSignature, Grant, Person, Pitch, Role, SplitException
from allocations.notify import page, tell
from inventory import trail
from inventory.models import Event, GpuModel

DAY_S = 86_400
State = SplitException.State


@one_at_a_time
def propose_exception(
    *, division: Division, model: GpuModel, gpus: int, starts_at: datetime, ends_at: datetime, by: Person, reason: str
) -> SplitException:
    """An exception that waits for the roles that policies name for it, a renewal for those who sign the split.

    To propose it is not to sign it. What it raises is the share: promises never exceed what is healthy.
    Raises NotAllowed, BadTerms, NobodyToSign, WrongState for a division that has ended.
    """
    rules.require(by, "propose_exception", division)
    now = timezone.now()
    if division.ended_at is not None:
        raise WrongState(_("%(division)s has ended: nothing is promised to it.") % {"division": division.name})
    _require(gpus >= 1, "gpus", _("Ask for 1 GPU or more."))
    _require(bool(reason.strip()), "reason", _("Say why: those who sign read it."))
    _require(ends_at > max(starts_at, now), "ends_at", _("It has an end, in the future and after its beginning."))
    _require(is_reachable(ends_at), "ends_at", _("Name a day up to %(last)s.") % {"last": LAST_DAY})
    starts_at = max(starts_at, now)
    renewed = queries.exception_renewed(division, model, starts_at, ends_at)
    days = max(1, int((ends_at - starts_at).total_seconds() // DAY_S))
    roles = queries.roles_for_split() if renewed else queries.roles_for_exception(division, gpus=gpus, days=days)
    turns.require_signers(roles, what=_("an exception above the split"))
    exception = SplitException.objects.create(
        division=division, model=model, gpus=gpus, starts_at=starts_at, ends_at=ends_at, reason=reason.strip(),
        proposed_by=by, proposed_at=now, renews=renewed,
    )  # fmt: skip
    exception.roles.set(roles)
    event = trail.record("exception.proposed", exception, by=by, reason=reason, **_said(exception))
    people = {person for holders in queries.holders_of(roles).values() for person in holders} - {by}
    _tell(event, exception, people, _("An exception above the split waits for your signature"), by)
    return exception


@one_at_a_time
def sign_exception(*, exception: SplitException, by: Person, role: Role | None = None) -> SplitException:
    """`by` has signed for `role` (by default one held and not signed for); the last signature makes it hold.

    One's own signature repeated changes nothing. Locks the exception, at the last signature the model's shares.
    Raises NotAllowed, WrongState, Stale.
    """
    rules.require(by, "sign_exception", exception)
    given = turns.sign(exception, by=by, role=role)
    if given is None:
        return exception
    if exception.ends_at <= timezone.now():
        raise WrongState(_("Its time was over before all had signed."), ends_at=exception.ends_at)
    if given.is_last:
        lock_shares(exception.model)
        now = timezone.now()
        time = (exception.starts_at, exception.ends_at)
        turns.require_no_new_renewal(exception, queries.exception_renewed(exception.division, exception.model, *time))
        SplitException.objects.advance(exception, State.SIGNED, signed_at=now, starts_at=max(exception.starts_at, now))
    event = trail.record(
        "exception.signed", exception, by=by, role=given.mandate.role.slug, complete=given.is_last,
        **given.mandate.said, **_said(exception),
    )  # fmt: skip
    if given.is_last:
        people = {exception.proposed_by, *given.people} - {by}
        _tell(event, exception, people, _("An exception above the split has all its signatures"), by)
    return exception


@one_at_a_time
def withdraw_exception(*, exception: SplitException, by: Person, reason: str = "") -> SplitException:
    """Nobody needs to sign it any more. Raises NotAllowed, WrongState, Stale."""
    rules.require(by, "withdraw_exception", exception)
    seen = exception.state
    lock_row(exception)
    turns.require_waits(exception, seen)
    SplitException.objects.advance(exception, State.WITHDRAWN)
    trail.record("exception.withdrawn", exception, by=by, reason=reason)
    return exception


def cover_grant(grant: Grant, *, by: Person) -> SplitException | None:
    """The exception that a grant above the share needs, signed with its pitch; None where it fits the share after all.

    In the transaction of the last signature, which holds the locks of the shares. It ends with the grant.
    Raises WrongState where it renews one that holds since and those who sign the split are not among the signers.
    """
    pitch = grant.pitch
    if pitch is None:
        return None
    own = queries.capacity_of(grant.model, at=grant.starts_at).divisions[grant.project.division.slug]
    above = max(step.gpus for step in own.debt.steps(grant.starts_at, grant.ends_at))
    if not above:
        return None
    renewed = queries.exception_renewed(grant.project.division, grant.model, grant.starts_at, grant.ends_at)
    _require_split_signers(pitch, renewed)
    now = timezone.now()
    exception = SplitException.objects.create(
        division=grant.project.division, model=grant.model, gpus=min(above, grant.gpus), starts_at=grant.starts_at,
        ends_at=grant.ends_at, reason=pitch.why, pitch=pitch, state=State.SIGNED, proposed_by=pitch.pitcher,
        proposed_at=pitch.submitted_at or now, signed_at=now, renews=renewed,
    )  # fmt: skip
    exception.roles.set(pitch.roles.all())
    given = pitch.sign_offs.filter(round=pitch.round, verdict="approve", undone_at=None)
    ExceptionSignature.objects.bulk_create(
        ExceptionSignature(exception=exception, role=s.role, person=s.person, deputy_for=s.deputy_for, at=s.at)
        for s in given.select_related("role", "person", "deputy_for")
    )
    trail.record("exception.signed", exception, by=by, complete=True, pitch=pitch.public_id, **_said(exception))
    return exception


def _require_split_signers(pitch: Pitch, renewed: SplitException | None) -> None:
    signers = queries.roles_for_split()
    if renewed is None or set(signers) <= set(pitch.roles.all()):
        return
    raise WrongState(
        _("Another exception holds since; this would renew it. Ask for changes: sent in again it goes to: %(who)s.")
        % {"who": ", ".join(role.name for role in signers)}
    )


def _require(fits: bool, field: str, message: str) -> None:
    if not fits:
        raise BadTerms(message, field=field)


def _said(exception: SplitException) -> dict[str, Any]:
    return {
        "division": exception.division.slug, "model": exception.model.name, "gpus": exception.gpus,
        "starts_at": exception.starts_at, "ends_at": exception.ends_at,
        "renews": exception.renews.public_id if exception.renews else None,
    }  # fmt: skip


def _tell(event: Event, exception: SplitException, people: set[Person], subject: str, by: Person) -> None:
    body = _("%(person)s: %(gpus)s %(model)s more for %(division)s. %(reason)s") % {
        "person": by.name, "gpus": exception.gpus, "model": exception.model.name,
        "division": exception.division.name, "reason": exception.reason,
    }  # fmt: skip
    tell(event, people, subject, body, page("split"))
