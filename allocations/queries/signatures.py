"""Who must sign one pitch, who has, who may now, and who is left to."""

from collections.abc import Iterable
from copy import copy
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from allocations.models import (
    Person,
    Pitch,
    PitchRole,
    Recusal,
    Role,
    SignOff,
)
from allocations.queries.barred import barred_from_pitch, conflicts_wanted, keep_conflicts
from allocations.queries.look import is_looking, remember
from allocations.queries.people import (
    Mandate,
    mandates_of,
    signers_by_role,
    who_signs,
    without_signer,
)
from allocations.queries.signers import people_of, signers_for
from allocations.queries.together import Wanted, load_together


def load_signatures(pitch: Pitch) -> Pitch:
    """The pitch with its roles, sign-offs, recusals and conflicts at hand, in one query; for pages that show it once.

    In a look, who may sign is at hand, too. What is written afterwards does not show before `refresh_from_db`.
    """
    if "needed_roles" in getattr(pitch, "_prefetched_objects_cache", {}):
        return pitch
    beside = who_signs(PitchRole.objects.filter(pitch=pitch).values("role")) if is_looking() else []
    conflicts, *signers = load_together(
        [pitch],
        [conflicts_wanted([pitch.project_id], related=["person"]), *beside],
        needed_roles=Wanted(PitchRole.objects.all(), related=["role", "escalates_to"]),
        sign_offs=Wanted(SignOff.objects.all(), related=["role", "person", "deputy_for", "model"]),
        recusals=Wanted(Recusal.objects.all(), related=["person"]),
    )
    keep_conflicts([pitch], conflicts)
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
    """The mandates that name a role of the pitch and are not barred from it."""
    mandates = mandates_of(person)
    if not mandates:
        return []
    needed, barred = set(needed_by(pitch)), barred_from_pitch(pitch)
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
    return signers_for(roles, barred=barred_from_pitch(pitch))


def roles_that_wait(pitch: Pitch) -> list[Role]:
    """The needed roles that nobody signed for in this round; empty once nobody can sign the pitch."""
    if pitch.state not in Pitch.SIGNABLE:
        return []
    return list(Role.objects.filter(pk__in=unsigned_of(pitch.pk).values("role")))


def unsigned_roles(pitch: Pitch) -> list[PitchRole]:
    """The rows of the needed roles that nobody signed for in this round, with their roles, whatever the state."""
    if {"needed_roles", "sign_offs"} <= _at_hand(pitch).keys():
        signed = {sign_off.role_id for sign_off in _given(pitch)}
        return sorted(
            (row for row in pitch.needed_roles.all() if row.role_id not in signed), key=lambda row: row.role_id
        )
    return list(unsigned_of(pitch.pk).select_related("role").order_by("role"))


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
    barred = barred_from_pitch(pitch) | people_of(_given(pitch))
    return without_signer(roles_that_wait(pitch), but=list(Person.objects.filter(pk__in=barred)))


def _given(pitch: Pitch) -> list[SignOff]:
    return [sign_off for sign_off in pitch.sign_offs.all() if sign_off.round == pitch.round]


def unsigned_of(pitch: OuterRef | int) -> QuerySet[PitchRole]:
    """The rows of the pitch's needed roles that nobody signed for in its round."""
    return PitchRole.objects.filter(~Exists(_signed_for()), pitch=pitch)


def _signed_for() -> QuerySet[SignOff]:
    """What stands in this round for the pitch and the role of a PitchRole."""
    return SignOff.objects.filter(pitch=OuterRef("pitch"), role=OuterRef("role"), round=OuterRef("pitch__round"))
