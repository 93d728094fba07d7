"""Who must sign what is not a pitch: policy rows by subject, and what waits for a person's signature of that kind."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from allocations.calendar import due_after
from allocations.models import ChangeSignOff, Division, Grant, GrantChange, Person, Policy, Recusal, Role
from allocations.queries.people import deputies_of, holders_of, mandates_of
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


def changes_waiting_for(person: Person) -> QuerySet[GrantChange]:
    """Changes of grants that the person may sign now, for itself or as a deputy, oldest first."""
    return _asked(_turn_of(person))


def changes_to_answer(person: Person) -> QuerySet[GrantChange]:
    """Those, and the changes on which the person, who leads the project, has not been heard; oldest first."""
    unheard = Q(kind__in=GrantChange.LEAD_IS_HEARD, grant__project__lead=person, lead_answer="")
    return _asked(_turn_of(person) | unheard)


def _asked(which: Q) -> QuerySet[GrantChange]:
    rows = GrantChange.objects.filter(which, state=GrantChange.State.ASKED)
    return rows.select_related("grant__project__division", "grant__model", "asked_by").order_by("pk")


def _turn_of(person: Person) -> Q:
    """Changes with an unsigned role of the person, or of a holder not barred from them for whom it stands in."""
    turn = Q(pk__in=[])
    signed = ChangeSignOff.objects.filter(change=OuterRef("grantchange_id"), role=OuterRef("role_id"))
    for mandate in mandates_of(person):
        named = GrantChange.roles.through.objects.filter(~Exists(signed), grantchange=OuterRef("pk"), role=mandate.role)
        turn |= Q(Exists(named)) if mandate.is_own else Q(Exists(named)) & ~_barred(mandate.holder)
    return turn & ~_barred(person)


def barred_from(change: GrantChange) -> set[int]:
    """The pks of those who may not sign: who asked for more for itself, whose pitch it was, who granted an emergency.

    Those who stepped aside from the pitch, or pitched it before somebody else answered for it, sign neither.

    Somebody who proposes to make a grant smaller or to end it asks nothing for itself and may sign.
    """
    if change.kind in GrantChange.LEAD_IS_HEARD:
        return set()
    pitch = change.grant.pitch
    aside = {pitch.pitcher_id, *(each.person_id for each in pitch.recusals.all())} if pitch else set()
    return {change.asked_by_id, *aside}


def signers_of_change(change: GrantChange) -> set[Person]:
    """Who may sign for one of its roles, holders and deputies."""
    barred = barred_from(change)
    roles = list(change.roles.all())
    holders = {person for people in holders_of(roles).values() for person in people}
    standing_in = {row.deputy for rows in deputies_of(roles).values() for row in rows if row.principal_id not in barred}
    return {person for person in holders | standing_in if person.pk not in barred}


def _barred(person: Person) -> Q:
    """Those that ask for the person's own good, and those where it counts already."""
    counts = ChangeSignOff.objects.filter(Q(person=person) | Q(deputy_for=person), change=OuterRef("pk"))
    aside = Recusal.objects.filter(pitch=OuterRef("grant__pitch"), person=person)
    own = Q(asked_by=person) | Q(grant__pitch__pitcher=person) | Exists(aside)
    return Exists(counts) | (Q(kind__in=[GrantChange.Kind.EXTEND, GrantChange.Kind.RATIFY]) & own)
