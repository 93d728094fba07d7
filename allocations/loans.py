"""Loans: GPUs lent to another project until a day, or every night; the lender's lead agrees, the clock returns them."""

from datetime import datetime, time, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules, turns
from allocations.days import LAST_DAY, is_reachable, last_day
from allocations.errors import BadTerms, NotAllowed, OverCapacity, WrongState
from allocations.grants import site_zone, spoken
from allocations.locks import lock_row, lock_shares, one_at_a_time
from allocations.models import Grant, Loan, Person, Project, Role
from allocations.notify import page, tell
from inventory import trail
from inventory.models import Event, GpuModel

ACTOR = "loans"
REMINDED_BEFORE = timedelta(days=3)
State = Loan.State


@one_at_a_time
def propose_loan(
    *,
    lender: Project,
    borrower: Project,
    model: GpuModel,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime,
    by: Person,
    reason: str,
    daily_from: time | None = None,
    daily_until: time | None = None,
) -> Loan:
    """A loan that waits for the lender's lead; either lead, ops or a decider of either division proposes it.

    `daily_from` and `daily_until` are clock times of the site: then the GPUs are lent in these hours of every day only.
    A renewal waits for those who sign the split, too. Raises NotAllowed, BadTerms, NobodyToSign, OverCapacity.
    """
    rules.require(by, "propose_loan", (lender, borrower))
    now = timezone.now()
    starts_at = max(starts_at, now)
    _require(lender.pk != borrower.pk, "borrower", _("A project lends to another one."))
    _require(gpus >= 1, "gpus", _("Lend 1 GPU or more."))
    _require(bool(reason.strip()), "reason", _("Say why: the lead who lends reads it."))
    _require(ends_at > starts_at, "ends_at", _("It is returned in the future and after it began."))
    _require(is_reachable(ends_at), "ends_at", _("Name a day up to %(last)s.") % {"last": LAST_DAY})
    _require((daily_from is None) == (daily_until is None), "daily_from", _("Name both hours or none."))
    _require(daily_from is None or daily_from != daily_until, "daily_until", _("The hours differ."))
    for project in (lender, borrower):
        if project.state != Project.State.ACTIVE:
            raise WrongState(_("%(project)s winds down or has ended.") % {"project": project.name})
    renewed = queries.loan_renewed(lender, borrower, model, starts_at, ends_at)
    roles = queries.roles_for_split() if renewed else []
    if renewed:
        turns.require_signers(roles, what=_("the renewal of a loan"), but={lender.lead, borrower.lead})
    _require_lendable(lender, model, gpus, starts_at, ends_at, by=by)
    loan = Loan.objects.create(
        lender=lender, borrower=borrower, model=model, gpus=gpus, starts_at=starts_at, ends_at=ends_at,
        daily_from=daily_from, daily_until=daily_until, reason=reason.strip(), renews=renewed, proposed_by=by,
        proposed_at=now,
    )  # fmt: skip
    loan.roles.set(roles)
    event = trail.record("loan.proposed", loan, by=by, reason=reason, roles=[r.slug for r in roles], **_said(loan))
    _tell(event, loan, {lender.lead, borrower.lead} - {by}, _("Proposed: %(what)s"), reason)
    signers = queries.signers_for(roles, barred={by.pk, *queries.barred_from_loan(loan)})
    _tell(event, loan, signers, _("A renewal waits for your signature: %(what)s"), reason)
    return loan


@one_at_a_time
def answer_loan(*, loan: Loan, by: Person, agrees: bool, reason: str = "") -> Loan:
    """The lender's lead has agreed, or declined with a reason; with the last signature of a renewal it holds.

    Nobody else answers, no deputy either. The lender's promise must hold them for the whole time; its division pays.
    The same answer again changes nothing; until it holds, who has agreed may still decline.
    Raises NotAllowed, BadTerms, WrongState, Stale, OverCapacity.
    """
    rules.require(by, "answer_loan", loan)
    seen = loan.state
    lock_row(loan)
    same = (State.PROPOSED, State.AGREED) if agrees else (State.DECLINED,)
    if loan.state in same and loan.answered_by == by:
        return loan
    turns.require_waits(loan, seen)
    if not agrees and not reason.strip():
        raise BadTerms(_("Say why: who asked reads it."), field="reason")
    if by.pk in queries.people_of(loan.signatures.all()):
        raise NotAllowed(_("You count under this loan as a signer; it needs a lead besides."))
    loan.answered_by, loan.answered_at, loan.answer_reason = by, timezone.now(), reason.strip()
    loan.save(update_fields=["answered_by", "answered_at", "answer_reason"])
    holds = agrees and _settle(loan, by)
    if not agrees:
        Loan.objects.advance(loan, State.DECLINED)
    event = trail.record(
        "loan.agreed" if agrees else "loan.declined", loan, by=by, reason=reason, complete=holds, **_said(loan)
    )
    subject = _("Agreed: %(what)s") if holds else _("The lender's lead agrees: %(what)s")
    _tell(event, loan, _concerned(loan) - {by}, subject if agrees else _("Declined: %(what)s"), reason)
    return loan


@one_at_a_time
def sign_loan(*, loan: Loan, by: Person, role: Role | None = None) -> Loan:
    """`by` has signed a renewal for `role` (by default one held and not signed for); with the last of all it holds.

    Neither lead signs: the lender's answers as such, the borrower's gains by it. One's own signature repeated changes
    nothing. Raises NotAllowed, WrongState, Stale, OverCapacity.
    """
    rules.require(by, "sign_loan", loan)
    given = turns.sign(loan, by=by, role=role, barred=lambda: queries.barred_from_loan(loan))
    if given is None:
        return loan
    holds = given.is_last and _settle(loan, by)
    event = trail.record(
        "loan.signed", loan, by=by, role=given.mandate.role.slug, complete=holds, **given.mandate.said, **_said(loan)
    )
    if holds:
        _tell(event, loan, (_concerned(loan) | {loan.lender.lead}) - {by}, _("Agreed: %(what)s"), loan.reason)
    return loan


def _settle(loan: Loan, by: Person) -> bool:
    """Whether the lead has agreed and all have signed; then the locked loan holds: the borrower has its promise."""
    signed = set(loan.signatures.values_list("role", flat=True))
    if loan.answered_by is None or not signed >= set(loan.roles.values_list("pk", flat=True)):
        return False
    lock_shares(loan.model)
    now = timezone.now()
    if loan.ends_at <= now:
        raise WrongState(_("Its time was over before all had agreed."), ends_at=loan.ends_at)
    starts_at = max(loan.starts_at, now)
    two = (loan.lender, loan.borrower, loan.model)
    turns.require_no_new_renewal(loan, queries.loan_renewed(*two, starts_at, loan.ends_at))
    _require_lendable(loan.lender, loan.model, loan.gpus, starts_at, loan.ends_at, by=by)
    Loan.objects.advance(loan, State.AGREED, starts_at=starts_at, grant=_promise(loan, starts_at, by))
    return True


def _concerned(loan: Loan) -> set[Person]:
    """Who hears of each answer: who proposed it, the borrower's lead, those who signed it."""
    signers = {each.person for each in loan.signatures.select_related("person")}
    return {loan.proposed_by, loan.borrower.lead} | signers


@one_at_a_time
def withdraw_loan(*, loan: Loan, by: Person, reason: str = "") -> Loan:
    """Nobody needs to answer or sign it any more. Raises NotAllowed, WrongState, Stale."""
    rules.require(by, "withdraw_loan", loan)
    seen = loan.state
    lock_row(loan)
    turns.require_waits(loan, seen)
    Loan.objects.advance(loan, State.WITHDRAWN)
    trail.record("loan.withdrawn", loan, by=by, reason=reason)
    return loan


@one_at_a_time
def return_loan(*, loan: Loan, by: Person, reason: str = "") -> Loan:
    """The borrower gives it back before its day; what was lent is the lender's need at once.

    Raises NotAllowed, WrongState when it is not on loan, Stale.
    """
    rules.require(by, "return_loan", loan)
    lock_row(loan)
    if loan.state == State.RETURNED:
        return loan
    _end(loan, by, now=timezone.now(), early=True)
    return loan


def tend() -> None:
    """Leads have been reminded of what is due back soon, and what is over has been returned; may run late or twice."""
    now = timezone.now()
    agreed = Loan.objects.filter(state=State.AGREED)
    soon = agreed.filter(reminded_at=None, ends_at__gt=now, ends_at__lte=now + REMINDED_BEFORE)
    for pk in soon.order_by("pk").values_list("pk", flat=True):
        _remind(pk)
    for pk in agreed.filter(_is_over(now)).order_by("pk").values_list("pk", flat=True):
        _return(pk)


def _is_over(now: datetime) -> Q:
    """Its day has come, or what the borrower held it by was ended before: then nobody has it, and it can be lent."""
    return Q(ends_at__lte=now) | Q(grant__ended_at__isnull=False, grant__ends_at__lte=now)


@one_at_a_time
def _remind(pk: int) -> None:
    loan = Loan.objects.get(pk=pk)
    lock_row(loan)
    if loan.reminded_at is not None or loan.state != State.AGREED:
        return
    loan.reminded_at = timezone.now()
    loan.save(update_fields=["reminded_at"])
    event = trail.record("loan.reminded", loan, by=ACTOR, **_said(loan))
    _tell(event, loan, {loan.lender.lead, loan.borrower.lead}, _("Due back soon: %(what)s"), loan.reason)


@one_at_a_time
def _return(pk: int) -> None:
    loan = Loan.objects.get(pk=pk)
    lock_row(loan)
    if loan.state == State.AGREED:
        until = min(loan.ends_at, loan.grant.ends_at) if loan.grant else loan.ends_at
        _end(loan, ACTOR, now=until, early=False)


def _end(loan: Loan, by: Person | str, *, now: datetime, early: bool) -> None:
    Loan.objects.advance(loan, State.RETURNED, returned_at=now)
    if early and loan.grant is not None:
        grant = loan.grant
        lock_row(grant)
        grant.ends_at = max(min(now, grant.ends_at), grant.starts_at)
        grant.save(update_fields=["ends_at"])
    event = trail.record("loan.returned", loan, by=by, early=early, **_said(loan))
    _tell(event, loan, {loan.lender.lead, loan.borrower.lead}, _("Returned: %(what)s"), loan.reason)


def _promise(loan: Loan, starts_at: datetime, by: Person) -> Grant:
    return Grant.objects.create(
        project=loan.borrower, model=loan.model, gpus=loan.gpus, starts_at=starts_at, ends_at=loan.ends_at,
        issued_by=by, issued_at=timezone.now(),
    )  # fmt: skip


def _require_lendable(
    lender: Project, model: GpuModel, gpus: int, starts_at: datetime, ends_at: datetime, *, by: Person
) -> None:
    """The lender's own promises, less what it lends already, hold so many at each instant. Raises OverCapacity.

    Only those who see the lender read how many it has.
    """
    left = max(0, queries.lendable(lender, model).minimum(starts_at, ends_at))
    if left >= gpus:
        return
    words = {"project": lender.name, "left": left, "model": model.name, "asked": gpus}
    if not queries.projects_visible_to(by).filter(pk=lender.pk).exists():
        message = _("%(project)s does not have %(asked)s %(model)s to lend for all of that time.")
        raise OverCapacity(message % words, field="gpus", asked_gpus=gpus)
    message = _("%(project)s has %(left)s %(model)s to lend for all of that time; you asked for %(asked)s.")
    raise OverCapacity(message % words, field="gpus", free_gpus=left, asked_gpus=gpus)


def _require(fits: bool, field: str, message: str) -> None:
    if not fits:
        raise BadTerms(message, field=field)


def _said(loan: Loan) -> dict[str, Any]:
    return {
        "lender": loan.lender.slug, "borrower": loan.borrower.slug, "model": loan.model.name, "gpus": loan.gpus,
        "starts_at": loan.starts_at, "ends_at": loan.ends_at, "daily_from": loan.daily_from,
        "daily_until": loan.daily_until, "renews": loan.renews.public_id if loan.renews else None,
    }  # fmt: skip


def _tell(event: Event, loan: Loan, people: set[Person], subject: str, reason: str) -> None:
    words = {
        "gpus": loan.gpus, "model": loan.model.name, "lender": loan.lender.name, "borrower": loan.borrower.name,
        "last": spoken(last_day(loan.ends_at, site_zone())),
    }  # fmt: skip
    what = _("%(gpus)s %(model)s from %(lender)s to %(borrower)s until %(last)s") % words
    tell(event, people, subject % {"what": what}, reason.strip() or "-", page("loans", loan.public_id))
