"""Who signs nothing about a pitch, a change or a project: the one place that knows every reason for it.

Nobody signs an own pitch, one that they stepped aside from, or anything of a project with which they have declared a
conflict of interest; and nobody signs in their place.
"""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from allocations.models import ConflictOfInterest, GrantChange, Loan, Person, Pitch, Recusal
from allocations.queries.look import once_a_look
from allocations.queries.together import Wanted

AT_HAND = "project__conflicts"  # beside the pitch's prefetched rows, and forgotten with them


def conflicts_now() -> QuerySet[ConflictOfInterest]:
    """Declared conflicts that last now, the oldest first."""
    return ConflictOfInterest.objects.filter(during__contains=timezone.now())


def conflicts_wanted(projects: Collection[int], *, related: Collection[str] = ()) -> Wanted:
    """The conflicts with these projects, to be asked for together with other rows."""
    rows = conflicts_now().filter(project__in=projects)
    return Wanted(rows, ["project_id", "person_id", "reason"], list(related))


def keep_conflicts(pitches: Iterable[Pitch], found: Iterable[ConflictOfInterest]) -> None:
    """Each of the pitches has the conflicts with its project at hand."""
    rows = list(found)
    for pitch in pitches:
        own = [row for row in rows if row.project_id == pitch.project_id]
        pitch.__dict__.setdefault("_prefetched_objects_cache", {})[AT_HAND] = own


def conflicts_about(pitch: Pitch) -> list[ConflictOfInterest]:
    """Who has declared a conflict with the pitch's project that lasts now; no query where it is at hand."""
    at_hand: Any = getattr(pitch, "_prefetched_objects_cache", {}).get(AT_HAND)
    return list(_conflicts_with(pitch.project_id) if at_hand is None else at_hand)


@once_a_look
def _conflicts_with(project: int) -> tuple[ConflictOfInterest, ...]:
    return tuple(conflicts_now().filter(project=project).select_related("person"))


def in_conflict_with(*projects: int) -> set[int]:
    """The pks of those who sign nothing of one of the projects now."""
    return {row.person_id for project in projects for row in _conflicts_with(project)}


def barred_from_pitch(pitch: Pitch) -> set[int]:
    """The pks of those who sign the pitch in no way: its pitcher, who stepped aside, who has declared a conflict."""
    aside = {recusal.person_id for recusal in pitch.recusals.all()}
    return {pitch.pitcher_id, *aside, *(row.person_id for row in conflicts_about(pitch))}


def barred_from(change: GrantChange) -> set[int]:
    """The pks of those who may not sign the change of a grant.

    Who has declared a conflict with the project signs none. Who asks for more for itself, whose pitch it was, who
    stepped aside from it and who granted an emergency sign no extension and no ratification; somebody who proposes to
    make a grant smaller or to end it asks nothing for itself and may sign.
    """
    pitch, conflicted = change.grant.pitch, in_conflict_with(change.grant.project_id)
    if change.kind in GrantChange.LEAD_IS_HEARD:
        return conflicted
    aside = {pitch.pitcher_id, *(each.person_id for each in pitch.recusals.all())} if pitch else set()
    return {change.asked_by_id, *aside} | conflicted


def barred_from_loan(loan: Loan) -> set[int]:
    """The pks of those who sign no renewal of the loan: the lender's lead answers as such, the borrower's asks.

    Nor does anybody who has declared a conflict with either project.
    """
    return {loan.lender.lead_id, loan.borrower.lead_id} | in_conflict_with(loan.lender_id, loan.borrower_id)


def pitches_barred_for(person: Person) -> Q:
    """The pitches that the person signs in no way."""
    return _own_or_aside(person) | _in_conflict(person, "project")


def changes_barred_for(person: Person) -> Q:
    """The changes of grants that the person signs in no way."""
    own = Q(asked_by=person) | _own_or_aside(person, "grant__pitch__")
    return (~Q(kind__in=GrantChange.LEAD_IS_HEARD) & own) | _in_conflict(person, "grant__project")


def loans_barred_for(person: Person) -> Q:
    """The loans whose renewal the person signs in no way."""
    leads = Q(lender__lead=person) | Q(borrower__lead=person)
    return leads | _in_conflict(person, "lender") | _in_conflict(person, "borrower")


def _own_or_aside(person: Person, path: str = "") -> Q:
    aside = Recusal.objects.filter(pitch=OuterRef(f"{path}pk"), person=person)
    return Q(**{f"{path}pitcher": person}) | Q(Exists(aside))


def _in_conflict(person: Person, project: str) -> Q:
    return Q(Exists(conflicts_now().filter(project=OuterRef(project), person=person)))
