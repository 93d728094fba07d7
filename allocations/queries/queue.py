"""What waits for a person's signature: pitches whose turn has come, those whose turn is coming."""

from collections.abc import Iterable

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.utils import timezone

from allocations.models import Person, Pitch, PitchRole, Project, SignOff
from allocations.queries.barred import pitches_barred_for
from allocations.queries.look import once_a_look
from allocations.queries.people import Mandate, mandates_of
from allocations.queries.sight import projects_visible_to
from allocations.queries.signatures import unsigned_of
from allocations.queries.signers import by_holder


def queue_of(person: Person) -> QuerySet[Pitch]:
    """Pitches that the person may sign now, the longest wait first.

    That is: submitted, somebody else's, with a needed role whose turn it is, that nobody signed for in this round and
    that the person holds, or stands in for. Neither the person nor whom it stands in for is barred from it, or counts
    in this round already.
    """
    return signable_by(person).filter(state=Pitch.State.SUBMITTED)


def counted_queue_of(person: Person) -> QuerySet[Pitch]:
    """The same pitches bare, for a badge on every page: no order, nothing beside them."""
    return _signable_by(person, mandates_of(person)).filter(state=Pitch.State.SUBMITTED)


def waitlist_of(person: Person) -> QuerySet[Pitch]:
    """As `queue_of`, on the waitlists: nobody waits for an answer, but the person may sign; by rank."""
    return signable_by(person).filter(state=Pitch.State.WAITLISTED)


@once_a_look
def signable_by(person: Person) -> QuerySet[Pitch]:
    """The queue of the person and after it its waitlists, by rank; each annotated `overdue_since`.

    What is overdue comes first in the queue, the longest overdue before the others, then the longest wait.
    `overdue_since`: when the answer of a role that the person signs for was due; None where none is late.
    """
    mandates = mandates_of(person)
    own = {each.role for each in mandates}
    late = _in_turn(OuterRef("pk")).filter(role__in=own, due_at__lte=timezone.now())
    is_waited_for = Q(state=Pitch.State.SUBMITTED)
    since = Case(When(is_waited_for, then=Subquery(late.order_by("due_at").values("due_at")[:1])))
    related = (
        _signable_by(person, mandates)
        .annotate(overdue_since=since)
        .select_related("project__division", "project__lead", "pitcher", "model", "offered_model")
    )
    return related.order_by(
        F("waitlist_rank").asc(nulls_first=True), F("overdue_since").asc(nulls_last=True), "submitted_at", "pk"
    )


def _signable_by(person: Person, mandates: Iterable[Mandate]) -> QuerySet[Pitch]:
    turn = _turn_of(person, mandates)
    return Pitch.objects.filter(turn, ~_barred(person), state__in=Pitch.SIGNABLE)


def coming_to(person: Person) -> QuerySet[Pitch]:
    """Pitches that the person will be asked to sign once others have, the longest wait first.

    Annotated `ahead`: the names of the roles that sign before, in their order.
    """
    mandates = mandates_of(person)
    own = {each.role for each in mandates}
    later = Q(pk__in=[])
    for holder, roles in by_holder(mandates):
        later |= Q(Exists(unsigned_of(OuterRef("pk")).filter(role__in=roles))) & ~_barred(holder)
    is_turn = Exists(_in_turn(OuterRef("pk")).filter(role__in=own))
    first = unsigned_of(OuterRef(OuterRef("pk"))).filter(role__in=own).order_by("position").values("position")[:1]
    before = unsigned_of(OuterRef("pk")).filter(position__lt=Subquery(first)).order_by("position", "role")
    rows = Pitch.objects.filter(later, ~is_turn, ~_barred(person), state=Pitch.State.SUBMITTED)
    related = rows.annotate(ahead=ArraySubquery(before.values("role__name"))).select_related(
        "project", "model", "offered_model"
    )
    return related.order_by("submitted_at", "pk")


def projects_to_declare(whose: Person, *, by: Person) -> QuerySet[Project]:
    """Projects that go on and with which a conflict of interest may be named, by name.

    One's own: those that the person sees or is asked to sign for; somebody else's, which admins declare: all.
    """
    rows = Project.objects.exclude(state=Project.State.ENDED).order_by("name")
    if by != whose:
        return rows
    seen, asked = projects_visible_to(whose).values("pk"), signable_by(whose).order_by().values("project")
    return rows.filter(Q(pk__in=seen) | Q(pk__in=asked))


def _turn_of(person: Person, mandates: Iterable[Mandate]) -> Q:
    """Pitches with an unsigned role that the person may sign for, for itself or for a holder not barred from them."""
    turn = Q(pk__in=[])
    for holder, roles in by_holder(mandates):
        own = Q(Exists(_in_turn(OuterRef("pk")).filter(role__in=roles)))
        turn |= own if holder == person else own & ~_barred(holder)
    return turn


def _barred(person: Person) -> Q:
    """Pitches that the person signs in no way, and those where it counts in this round already."""
    given = SignOff.objects.filter(pitch=OuterRef("pk"), round=OuterRef("round"))
    counts = given.filter(Q(person=person) | Q(deputy_for=person))
    return pitches_barred_for(person) | Q(Exists(counts))


def _in_turn(pitch: OuterRef) -> QuerySet[PitchRole]:
    """Unsigned roles with no unsigned one before them."""
    earlier = unsigned_of(OuterRef("pitch")).filter(position__lt=OuterRef("position"))
    return unsigned_of(pitch).filter(~Exists(earlier))
