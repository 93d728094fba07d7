"""Which pitches, splits, grants and projects a person sees, and what waits for that person's signature."""

from collections.abc import Iterable
from copy import copy
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from allocations.models import (
    Grant,
    GrantChange,
    Person,
    Pitch,
    PitchRole,
    Project,
    Recusal,
    Role,
    SignOff,
    Split,
)
from allocations.queries.look import is_looking, once_a_look, remember
from allocations.queries.people import (
    Mandate,
    mandates_of,
    projects_with,
    roles_of,
    signers_by_role,
    who_signs,
    without_signer,
)
from allocations.queries.signers import by_holder, people_of, signers_for, with_signatures
from allocations.queries.together import Wanted, load_together

READS_ALL = {Role.Power.OPERATE, Role.Power.AUDIT}


@once_a_look
def pitches_visible_to(person: Person) -> QuerySet[Pitch]:
    """Own pitches, those of own projects, those that the person decides for, must sign for or was told are overdue.

    Ops, auditors and those who decide for the whole lab see all. A draft is its writer's alone, also one that was
    thrown away. A deputy sees what waits for the principal's role, and what that deputy has signed.
    """
    mandates = mandates_of(person)
    roles = [mandate.role for mandate in mandates if mandate.is_own]
    concerned = Q(role__in=roles) | Q(escalates_to__in=roles, escalated_at__isnull=False)
    asked_to_sign = PitchRole.objects.filter(concerned, pitch=OuterRef("pk"))
    of_others = _in_sight(person, roles, "project__") | Q(Exists(asked_to_sign))
    if len(roles) < len(mandates):
        of_others |= _seen_as_deputy(mandates)
    of_others |= Q(Exists(SignOff.objects.filter(pitch=OuterRef("pk"), person=person, deputy_for__isnull=False)))
    return _shown(Pitch.objects.filter(Q(pitcher=person) | (Q(submitted_at__isnull=False) & of_others)))


def pitches_of(person: Person) -> QuerySet[Pitch]:
    """Own pitches, of which the person sees all."""
    return _shown(Pitch.objects.filter(pitcher=person))


def _shown(rows: QuerySet[Pitch]) -> QuerySet[Pitch]:
    return rows.select_related("project__division", "project__lead", "pitcher", "model", "offered_model", "decided_by")


def grants_visible_to(person: Person) -> QuerySet[Grant]:
    """Grants of the projects that the person sees, and those with a change that the person was asked to sign."""
    mandates = mandates_of(person)
    own = [mandate.role for mandate in mandates if mandate.is_own]
    asked = GrantChange.roles.through.objects.filter(
        grantchange__grant=OuterRef("pk"), role__in={mandate.role for mandate in mandates}
    )
    seen = Grant.objects.filter(_in_sight(person, own, "project__") | Q(Exists(asked)))
    return seen.select_related("project__division", "project__lead", "pitch__pitcher", "model", "issued_by", "ended_by")


def projects_visible_to(person: Person) -> QuerySet[Project]:
    """Own projects and those of the divisions the person decides for; all for ops, auditors and the lab's heads."""
    return Project.objects.filter(_in_sight(person, roles_of(person))).select_related("division", "lead")


def splits_visible() -> QuerySet[Split]:
    """Every split, newest first, with lines and signatures: how the fleet is shared is no secret in the lab."""
    rows = Split.objects.select_related("proposed_by")
    return with_signatures(rows.prefetch_related("lines__division", "lines__model", "weights__model"))


def queue_of(person: Person) -> QuerySet[Pitch]:
    """Pitches that the person may sign now, the longest wait first.

    That is: submitted, somebody else's, with a needed role whose turn it is, that nobody signed for in this round and
    that the person holds, or stands in for. Neither the person nor whom it stands in for has pitched it, has stepped
    aside from it, or counts in this round already.
    """
    return signable_by(person).filter(state=Pitch.State.SUBMITTED)


def waitlist_of(person: Person) -> QuerySet[Pitch]:
    """As `queue_of`, on the waitlists: nobody waits for an answer, but the person may sign; by rank."""
    return signable_by(person).filter(state=Pitch.State.WAITLISTED)


@once_a_look
def signable_by(person: Person) -> QuerySet[Pitch]:
    """The queue of the person, the longest wait first, and after it its waitlists, by rank."""
    rows = Pitch.objects.filter(_turn_of(person), ~_barred(person), state__in=Pitch.SIGNABLE)
    related = rows.select_related("project__division", "project__lead", "pitcher", "model", "offered_model")
    return related.order_by(F("waitlist_rank").asc(nulls_first=True), "submitted_at", "pk")


def load_signatures(pitch: Pitch) -> Pitch:
    """The pitch with its roles, sign-offs and recusals at hand, in one query; for pages that show it once.

    In a look, who may sign is at hand, too. What is written afterwards does not show before `refresh_from_db`.
    """
    if "needed_roles" in getattr(pitch, "_prefetched_objects_cache", {}):
        return pitch
    beside = who_signs(PitchRole.objects.filter(pitch=pitch).values("role")) if is_looking() else []
    signers = load_together(
        [pitch],
        beside,
        needed_roles=Wanted(PitchRole.objects.all(), related=["role", "escalates_to"]),
        sign_offs=Wanted(SignOff.objects.all(), related=["role", "person", "deputy_for", "model"]),
        recusals=Wanted(Recusal.objects.all(), related=["person"]),
    )
    if signers:
        roles = tuple(sorted(row.role_id for row in pitch.needed_roles.all()))
        remember(signers_by_role, roles, answer=tuple(signers))
    return pitch


def apart(pitch: Pitch) -> Pitch:
    """A copy that shares nothing with the pitch but what it says now."""
    row = copy(pitch)
    row._state = copy(pitch._state)
    row._state.fields_cache = dict(pitch._state.fields_cache)
    row.__dict__["_prefetched_objects_cache"] = {}
    return row


def note_sign_off(pitch: Pitch, signed: SignOff) -> None:
    """The sign-off, just written, is at hand with the others that are."""
    rows: Any = _at_hand(pitch).get("sign_offs")
    if rows is not None:
        rows._result_cache.append(signed)


def _at_hand(pitch: Pitch) -> dict[str, QuerySet[Any]]:
    found: dict[str, QuerySet[Any]] = getattr(pitch, "_prefetched_objects_cache", {})
    return found


def mandates_for(pitch: Pitch, person: Person) -> list[Mandate]:
    """The mandates that name a role of the pitch and are not barred from it: by an own pitch or by a recusal."""
    mandates = mandates_of(person)
    if not mandates:
        return []
    needed, barred = set(needed_by(pitch)), {pitch.pitcher_id, *_recused(pitch)}
    if person.pk in barred:
        return []
    return [each for each in mandates if each.role in needed and each.holder.pk not in barred]


def mandates_to_sign(pitch: Pitch, person: Person) -> list[Mandate]:
    """In which roles, and for whom, the person may sign the pitch now, one a role; empty when it is not its turn."""
    mandates = mandates_for(pitch, person) if pitch.state in Pitch.SIGNABLE else []
    if not mandates:
        return []
    given = _given(pitch)
    signed = {sign_off.role_id for sign_off in given}
    counted = people_of(given)
    if person.pk in counted:
        return []
    due = {each.role_id for each in in_turn(row for row in pitch.needed_roles.all() if row.role_id not in signed)}
    turns = [each for each in mandates if each.role.pk in due and each.holder.pk not in counted]
    return list({each.role.pk: each for each in reversed(turns)}.values())[::-1]


def needed_by(pitch: Pitch) -> list[Role]:
    """The roles that must sign the pitch, in the order of their positions; no query where they were loaded."""
    is_loaded = "needed_roles" in getattr(pitch, "_prefetched_objects_cache", {})
    rows = pitch.needed_roles.all() if is_loaded else pitch.needed_roles.select_related("role")
    return [row.role for row in sorted(rows, key=lambda row: (row.position, row.role_id))]


def signers_of(pitch: Pitch, roles: Iterable[Role]) -> set[Person]:
    """Who may sign the pitch for one of the roles, holders and deputies, whatever they signed for others."""
    return signers_for(roles, barred={pitch.pitcher_id, *_recused(pitch)})


def roles_that_wait(pitch: Pitch) -> list[Role]:
    """The needed roles that nobody signed for in this round; empty once nobody can sign the pitch."""
    if pitch.state not in Pitch.SIGNABLE:
        return []
    return list(Role.objects.filter(pk__in=_unsigned(pitch.pk).values("role")))


def unsigned_roles(pitch: Pitch) -> list[PitchRole]:
    """The rows of the needed roles that nobody signed for in this round, with their roles, whatever the state."""
    if {"needed_roles", "sign_offs"} <= _at_hand(pitch).keys():
        signed = {sign_off.role_id for sign_off in _given(pitch)}
        return sorted(
            (row for row in pitch.needed_roles.all() if row.role_id not in signed), key=lambda row: row.role_id
        )
    return list(_unsigned(pitch.pk).select_related("role").order_by("role"))


def roles_in_turn(pitch: Pitch) -> list[Role]:
    """The roles whose turn it is to sign; without an order all that wait."""
    return [each.role for each in in_turn(unsigned_roles(pitch))] if pitch.state in Pitch.SIGNABLE else []


def in_turn(unsigned: Iterable[PitchRole]) -> list[PitchRole]:
    """Those of the unsigned roles that sign next: the ones with the lowest position."""
    rows = list(unsigned)
    lowest = min((row.position for row in rows), default=0)
    return [row for row in rows if row.position == lowest]


def overdue_roles(pitch: Pitch) -> list[PitchRole]:
    """The rows of those roles whose turn it is and whose time is over; no query where the signatures were loaded."""
    if pitch.state != Pitch.State.SUBMITTED:
        return []
    load_signatures(pitch)
    now, signed = timezone.now(), {sign_off.role_id for sign_off in _given(pitch)}
    rows = in_turn(row for row in pitch.needed_roles.all() if row.role_id not in signed)
    return [row for row in rows if row.due_at is not None and row.due_at <= now]


def role_nobody_is_left_for(pitch: Pitch) -> Role | None:
    """A role that must still sign the pitch and has nobody of its own who may; None when all can be signed for."""
    barred = {pitch.pitcher_id, *_recused(pitch), *people_of(_given(pitch))}
    return without_signer(roles_that_wait(pitch), but=list(Person.objects.filter(pk__in=barred)))


def _given(pitch: Pitch) -> list[SignOff]:
    return [sign_off for sign_off in pitch.sign_offs.all() if sign_off.round == pitch.round]


def _recused(pitch: Pitch) -> set[int]:
    return {recusal.person_id for recusal in pitch.recusals.all()}


def _turn_of(person: Person) -> Q:
    """Pitches with an unsigned role that the person may sign for, for itself or for a holder not barred from them."""
    turn = Q(pk__in=[])
    for holder, roles in by_holder(mandates_of(person)):
        own = Q(Exists(_in_turn(OuterRef("pk")).filter(role__in=roles)))
        turn |= own if holder == person else own & ~_barred(holder)
    return turn


def _barred(person: Person) -> Q:
    """Pitches of the person's own, those it stepped aside from, and those where it counts in this round already."""
    recused = Recusal.objects.filter(pitch=OuterRef("pk"), person=person)
    given = SignOff.objects.filter(pitch=OuterRef("pk"), round=OuterRef("round"))
    counts = given.filter(Q(person=person) | Q(deputy_for=person))
    return Q(pitcher=person) | Q(Exists(recused)) | Q(Exists(counts))


def _seen_as_deputy(mandates: Iterable[Mandate]) -> Q:
    """What waits for a role of those for whom somebody stands in; a pitch of their own does not wait for them."""
    seen = Q(pk__in=[])
    for holder, roles in by_holder(mandate for mandate in mandates if not mandate.is_own):
        asked = PitchRole.objects.filter(pitch=OuterRef("pk"), role__in=roles)
        seen |= Q(Exists(asked), state__in=Pitch.OPEN) & ~Q(pitcher=holder)
    return seen


def _unsigned(pitch: OuterRef | int) -> QuerySet[PitchRole]:
    return PitchRole.objects.filter(~Exists(_signed()), pitch=pitch)


def _in_turn(pitch: OuterRef) -> QuerySet[PitchRole]:
    """Unsigned roles with no unsigned one before them."""
    earlier = PitchRole.objects.filter(~Exists(_signed()), pitch=OuterRef("pitch"), position__lt=OuterRef("position"))
    return PitchRole.objects.filter(~Exists(_signed()), ~Exists(earlier), pitch=pitch)


def _signed() -> QuerySet[SignOff]:
    """What stands in this round for the pitch and the role of a PitchRole."""
    return SignOff.objects.filter(pitch=OuterRef("pitch"), role=OuterRef("role"), round=OuterRef("pitch__round"))


def _in_sight(person: Person, roles: Iterable[Role], path: str = "") -> Q:
    """Projects at `path` that the person sees by membership or by role."""
    if not person.is_active:
        return Q(pk__in=[])
    deciding = [role for role in roles if role.power == Role.Power.DECIDE]
    if any(role.power in READS_ALL for role in roles) or any(role.division_id is None for role in deciding):
        return ~Q(pk__in=[])  # all; an empty Q would vanish when it is or-ed with another
    divisions = {role.division_id for role in deciding}
    own = projects_with(person, "view_project").values("pk")
    return Q(**{f"{path}division__in": divisions}) | Q(**{f"{path}pk__in": own})
