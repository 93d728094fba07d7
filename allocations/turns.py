"""Whose turn it is to sign a pitch, and for whom: roles held and roles stood in for, each person counting once."""

from django.utils.translation import gettext as _

from allocations import queries
from allocations.errors import NotAllowed, Stale, WrongState
from allocations.models import Deputy, Person, Pitch, Role, SignOff


def require_role(pitch: Pitch, by: Person, role: Role) -> None:
    """The pitch needs the role, and `by` holds it or stands in for a holder; else raises NotAllowed."""
    needed = queries.needed_by(pitch)
    if role in needed and any(mandate.role == role for mandate in queries.mandates_for(pitch, by)):
        return
    words = {"role": role.name, "needed": ", ".join(each.name for each in needed)}
    if role in needed:
        raise NotAllowed(_("You do not hold the role %(role)s.") % words, role=role.slug)
    raise NotAllowed(_("%(role)s does not sign this pitch; these do: %(needed)s.") % words, role=role.slug)


def require_turn(pitch: Pitch, by: Person, role: Role, seen_round: int) -> queries.Mandate:
    """The mandate with which `by` signs that round of the locked pitch for the role: an own role before another's.

    In one round everybody counts once: who signs, and for whom. A deputyship that is used is locked, so that it ends
    before the signature or after it. Raises NotAllowed, Stale when the terms changed or somebody signed first,
    WrongState when other roles sign before this one.
    """
    if seen_round != pitch.round:
        raise Stale(
            _("The terms have changed since you looked: %(gpus)s GPUs are on the table now.")
            % {"gpus": pitch.offered_gpus},
            round=pitch.round, gpus=pitch.offered_gpus,
        )  # fmt: skip
    _lock_deputyships(by, role)
    require_role(pitch, by, role)  # as it is now: a period may have ended while the pitch was waited for
    given = list(pitch.sign_offs.filter(round=seen_round).select_related("role", "person", "deputy_for"))
    for sign_off in given:
        if sign_off.role == role:
            words = {"person": sign_off.signer, "role": role.name}
            raise Stale(_("%(person)s has signed as %(role)s already.") % words, role=role.slug)
    _require_next(pitch, role)
    mandates = [mandate for mandate in queries.mandates_for(pitch, by) if mandate.role == role]
    for mandate in mandates:
        if not any(_counts_in(person, sign_off) for person in (by, mandate.holder) for sign_off in given):
            return mandate
    raise _counted_already(by, mandates, given)


def _require_next(pitch: Pitch, role: Role) -> None:
    unsigned = queries.unsigned_roles(pitch)
    own = next(each.position for each in unsigned if each.role == role)
    earlier = [each.role for each in unsigned if each.position < own]
    if earlier:
        words = {"role": role.name, "earlier": ", ".join(each.name for each in earlier)}
        message = _("%(earlier)s signs before %(role)s. You are told when it is your turn.")
        raise WrongState(message % words, earlier=[each.slug for each in earlier])


def _lock_deputyships(by: Person, role: Role) -> None:
    rows = Deputy.objects.filter(deputy=by, role=role).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))


def _counts_in(person: Person, sign_off: SignOff) -> bool:
    return person.pk in (sign_off.person_id, sign_off.deputy_for_id)


def _counted_already(by: Person, mandates: list[queries.Mandate], given: list[SignOff]) -> NotAllowed:
    people = [by, *(mandate.holder for mandate in mandates)]
    person, sign_off = next(
        (person, sign_off) for person in people for sign_off in given if _counts_in(person, sign_off)
    )
    words = {"role": sign_off.role.name, "person": person.name, "signer": sign_off.signer}
    if sign_off.person == by:
        message = _("You have signed these terms as %(role)s; somebody else signs for the other role.")
    else:
        message = _("%(signer)s has signed these terms as %(role)s: %(person)s counts once.")
    return NotAllowed(message % words, role=sign_off.role.slug)
