"""Who must sign what is not a pitch: policy rows by subject, and what waits for a person's signature of that kind."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from allocations.calendar import due_after
from allocations.models import (
    ChangeSignOff,
    Division,
    ExceptionSignature,
    Grant,
    GrantChange,
    Loan,
    LoanSignature,
    Person,
    Policy,
    Role,
    SignOff,
    Split,
    SplitException,
    SplitSignature,
)
from allocations.models.people import Signature
from allocations.queries.barred import barred_from, changes_barred_for, loans_barred_for
from allocations.queries.look import once_a_look
from allocations.queries.people import Mandate, deputies_of, holders_of, mandates_of, without_signer
from allocations.queries.policies import gpu_hours_of, policies_for, roles_for_pitch, roles_for_split


def roles_named(policies: Iterable[Policy]) -> list[Role]:
    """The roles that the rows name, each once, in the order in which they were made; needs their `named_roles`."""
    named = {each.role for policy in policies for each in policy.named_roles.all()}
    return sorted(named, key=lambda role: role.pk)


def signing_rows(subject: str, *, division: Division, gpus: int, days: int) -> list[Policy]:
    """The rows in force for something of that subject and size that is no pitch; fast lanes stand for pitches only."""
    rows = policies_for(subject, division=division, gpus=gpus, gpu_hours=gpu_hours_of(gpus, days))
    return [row for row in rows if not row.is_fast_lane and not row.over_share and row.named_roles.all()]


def roles_for_change(grant: Grant, kind: str, *, days: int) -> tuple[list[Role], list[Policy]]:
    """Who signs a change of the grant, and the rows that say so: those of its subject, else those of a pitch."""
    subject = Policy.Subject.EXTENSION if kind == GrantChange.Kind.EXTEND else Policy.Subject.CHANGE
    division = grant.project.division
    rows = signing_rows(subject, division=division, gpus=grant.gpus, days=days)
    if rows:
        return roles_named(rows), rows
    return roles_for_pitch(division=division, gpus=grant.gpus, days=days), []


def roles_for_exception(division: Division, *, gpus: int, days: int) -> list[Role]:
    """Who signs what stands above the split: the rows for exceptions, else those for the split itself."""
    rows = signing_rows(Policy.Subject.EXCEPTION, division=division, gpus=gpus, days=days)
    return roles_named(rows) if rows else roles_for_split()


def due_by_policies(policies: Iterable[Policy], *, now: datetime, division: Division) -> datetime | None:
    """When an answer is due by the strictest of the rows; None where none says it."""
    days = [row.due_working_days for row in policies if row.due_working_days is not None]
    return due_after(now, min(days), division=division) if days else None


@dataclass(frozen=True)
class SignatureField:
    """A role that must sign something: its signature, or the mandate with which the person who looks could give it."""

    role: Role
    signature: Signature | None
    mine: Mandate | None


def signature_fields(
    row: Split | SplitException | Loan, person: Person, *, barred: Collection[int] = ()
) -> list[SignatureField]:
    """A field for each of the row's roles; needs its `roles` and `signatures`. `barred`: pks that sign in no way."""
    signed = {signature.role_id: signature for signature in row.signatures.all()}
    counted = people_of(signed.values()) | set(barred)
    waits = row.state == row.State.PROPOSED and person.pk not in counted
    free = [each for each in mandates_of(person) if each.holder.pk not in counted] if waits else []
    mine = {mandate.role.pk: mandate for mandate in reversed(free) if mandate.role.pk not in signed}
    return [SignatureField(role, signed.get(role.pk), mine.get(role.pk)) for role in row.roles.all()]


def with_signatures(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The rows with their roles and signatures at hand, for any number of them in a constant number of queries."""
    return rows.prefetch_related("roles", "signatures__role", "signatures__person", "signatures__deputy_for")


def people_of(signatures: Iterable[SignOff | Signature]) -> set[int]:
    """The pks of the people who count among the signatures: who signed, and for whom they signed."""
    pairs = [(signature.person_id, signature.deputy_for_id) for signature in signatures]
    return {pk for pair in pairs for pk in pair if pk is not None}


def signers_for(roles: Iterable[Role], *, barred: Collection[int] = ()) -> set[Person]:
    """Who may sign for one of the roles, holders and deputies; `barred`: pks of people who sign in no way."""
    roles = list(roles)
    holders = {person for people in holders_of(roles).values() for person in people}
    standing_in = {row.deputy for rows in deputies_of(roles).values() for row in rows if row.principal_id not in barred}
    return {person for person in holders | standing_in if person.pk not in barred}


@once_a_look
def splits_waiting_for(person: Person) -> QuerySet[Split]:
    """Proposed splits that the person may sign now, for itself or as a deputy, oldest first."""
    rows = Split.objects.filter(_turn_of(person, Split, SplitSignature, "split"), state=Split.State.PROPOSED)
    return rows.select_related("proposed_by").prefetch_related("lines__division").order_by("pk")


def exceptions_waiting_for(person: Person) -> QuerySet[SplitException]:
    """As `splits_waiting_for`, exceptions above the split."""
    turn = _turn_of(person, SplitException, ExceptionSignature, "exception")
    rows = SplitException.objects.filter(turn, state=SplitException.State.PROPOSED)
    return rows.select_related("division", "model").order_by("pk")


def loans_waiting_for(person: Person) -> QuerySet[Loan]:
    """As `splits_waiting_for`, renewals of loans."""
    turn = _turn_of(person, Loan, LoanSignature, "loan", barred=loans_barred_for)
    rows = Loan.objects.filter(turn, state=Loan.State.PROPOSED)
    return rows.select_related("lender", "borrower", "model").order_by("pk")


def changes_waiting_for(person: Person) -> QuerySet[GrantChange]:
    """As `splits_waiting_for`, changes of grants."""
    return _asked(_change_turn(person))


def changes_to_answer(person: Person) -> QuerySet[GrantChange]:
    """Those, and the changes on which the person, who leads the project, has not been heard; oldest first."""
    unheard = Q(kind__in=GrantChange.LEAD_IS_HEARD, grant__project__lead=person, lead_answer="")
    return _asked(_change_turn(person) | unheard)


def _change_turn(person: Person) -> Q:
    return _turn_of(person, GrantChange, ChangeSignOff, "change", barred=changes_barred_for)


def _asked(which: Q) -> QuerySet[GrantChange]:
    rows = GrantChange.objects.filter(which, state=GrantChange.State.ASKED)
    return rows.select_related("grant__project__division", "grant__model", "asked_by").order_by("pk")


def _turn_of(
    person: Person,
    model: type[Any],
    signatures: type[Signature],
    field: str,
    *,
    barred: Callable[[Person], Q] = lambda _person: Q(pk__in=[]),
) -> Q:
    """Rows with a role that nobody signed for and that the person, who counts under none yet, may sign for.

    `field`: what the signatures call the row. `barred`: rows that somebody signs in no way.
    """
    link, through = model._meta.model_name, model.roles.through
    signed = signatures._default_manager.filter(**{field: OuterRef(f"{link}_id")}, role=OuterRef("role_id"))

    def may_not(who: Person) -> Q:
        counts = signatures._default_manager.filter(Q(person=who) | Q(deputy_for=who), **{field: OuterRef("pk")})
        return Q(Exists(counts)) | barred(who)

    turn = Q(pk__in=[])
    for holder, roles in by_holder(mandates_of(person)):
        named = Q(Exists(through.objects.filter(~Exists(signed), **{link: OuterRef("pk")}, role__in=roles)))
        turn |= named if holder == person else named & ~may_not(holder)
    return turn & ~may_not(person)


def by_holder(mandates: Iterable[Mandate]) -> list[tuple[Person, list[Role]]]:
    """Each of the holders with the roles in which one may sign for that holder, in the mandates' order."""
    roles: dict[Person, list[Role]] = {}
    for mandate in mandates:
        roles.setdefault(mandate.holder, []).append(mandate.role)
    return list(roles.items())


def signers_of_change(change: GrantChange) -> set[Person]:
    """Who may sign for one of its roles, holders and deputies."""
    return signers_for(change.roles.all(), barred=barred_from(change))


def roles_that_wait_on_change(change: GrantChange) -> list[Role]:
    """The roles that have not signed a change that waits for them; empty for any other."""
    if change.state != GrantChange.State.ASKED:
        return []
    signed = change.sign_offs.values("role")
    return list(change.roles.exclude(pk__in=signed).order_by("pk"))


def role_nobody_is_left_for_change(change: GrantChange) -> Role | None:
    """A role that must still sign the change and has nobody of its own who may; None when all can be signed for."""
    barred = barred_from(change) | people_of(change.sign_offs.all())
    return without_signer(roles_that_wait_on_change(change), but=list(Person.objects.filter(pk__in=barred)))
