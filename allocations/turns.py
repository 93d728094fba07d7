"""Whose turn it is to sign, and for whom: roles held and roles stood in for, each person counting once."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries
from allocations.errors import NobodyToSign, NotAllowed, Stale, WrongState
from allocations.locks import lock_row
from allocations.models import Deputy, GrantChange, Loan, Person, Pitch, Role, SignOff, Split, SplitException
from allocations.models.people import Signature

Signed = Split | SplitException | Loan
"""What holds once each of its `roles` has signed."""


@dataclass(frozen=True)
class Given:
    """A signature just given, whether it was the last of all, and who has signed, `by` among them."""

    mandate: queries.Mandate
    is_last: bool
    people: set[Person]


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
    queries.load_signatures(pitch)
    require_role(pitch, by, role)  # as it is now: a period may have ended while the pitch was waited for
    given = [sign_off for sign_off in pitch.sign_offs.all() if sign_off.round == seen_round]
    for sign_off in given:
        if sign_off.role == role:
            words = {"person": sign_off.signer, "role": role.name}
            raise Stale(_("%(person)s has signed as %(role)s already.") % words, role=role.slug)
    _require_next(pitch, role, given)
    mandates = [mandate for mandate in queries.mandates_for(pitch, by) if mandate.role == role]
    for mandate in mandates:
        if not any(_counts_in(person, sign_off) for person in (by, mandate.holder) for sign_off in given):
            return mandate
    raise _counted_already(by, mandates, given)


def _require_next(pitch: Pitch, role: Role, given: list[SignOff]) -> None:
    signed = {sign_off.role_id for sign_off in given}
    unsigned = [row for row in pitch.needed_roles.all() if row.role_id not in signed]
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


def require_mandate(
    by: Person, role: Role | None, needed: list[Role], given: Iterable[Signature], *, barred: Collection[int] = ()
) -> queries.Mandate:
    """The mandate with which `by` signs something else than a pitch, by default in a role held and not signed for.

    Everybody counts once: who signs, and for whom. `barred`: pks of people who sign in no way. A deputyship that is
    used is locked. Raises NotAllowed, Stale when the role has been signed for.
    """
    signed = {signature.role: signature for signature in given}
    held = [mandate for mandate in queries.mandates_of(by) if mandate.role in needed]
    if role is None and held:
        role = next((each.role for each in held if each.role not in signed), held[0].role)
    words = {"role": role.name if role else "", "needed": ", ".join(each.name for each in needed)}
    if role is None or role not in needed:
        raise NotAllowed(_("%(role)s does not sign this; these do: %(needed)s.") % words)
    _lock_deputyships(by, role)
    mandates = [mandate for mandate in queries.mandates_of(by) if mandate.role == role]
    if not mandates:
        raise NotAllowed(_("You do not hold the role %(role)s.") % words, role=role.slug)
    if role in signed:
        raise Stale(_("%(person)s has signed as %(role)s already.") % {**words, "person": signed[role].signer})
    allowed = [each for each in mandates if each.holder.pk not in barred]
    if by.pk in barred or not allowed:
        message = _(
            "Nobody signs what they ask for themselves or have a conflict of interest with. These sign it: %(needed)s."
        )
        raise NotAllowed(message % words)
    counted = queries.people_of(signed.values())
    free = [] if by.pk in counted else [each for each in allowed if each.holder.pk not in counted]
    if not free:
        raise NotAllowed(
            _("You, or the one you stand in for, count in another role; somebody else signs as %(role)s.") % words,
            role=role.slug,
        )
    return free[0]


def sign(row: Signed, *, by: Person, role: Role | None, barred: Callable[[], Collection[int]] = tuple) -> Given | None:
    """`by` has signed for `role` (by default one held and not signed for); None where it repeats an own signature.

    The row is locked from here on. `barred` as for `require_mandate`, asked for under the lock.
    Raises NotAllowed, WrongState, Stale.
    """
    seen = row.state
    lock_row(row)
    needed = list(row.roles.all())
    given: list[Signature] = list(row.signatures.select_related("role", "person", "deputy_for"))
    own = next((each.role for each in given if each.person == by), None)
    if own and role in (None, own):
        return None
    require_waits(row, seen)
    mandate = require_mandate(by, role, needed, given, barred=barred())
    row.signatures.create(role=mandate.role, person=by, deputy_for=mandate.deputy_for, at=timezone.now())
    signed = {*(each.role for each in given), mandate.role}
    return Given(mandate, signed >= set(needed), {by, *(each.person for each in given)})


def require_waits(row: Signed | GrantChange, seen: str) -> None:
    """The locked row waits for signatures. Raises WrongState, Stale when the caller saw another state than it has."""
    if row.state == (GrantChange.State.ASKED if isinstance(row, GrantChange) else row.State.PROPOSED):
        return
    words = {"noun": row._meta.verbose_name, "state": row.get_state_display()}
    message = _("This %(noun)s: %(state)s. There is no such step from here.") % words
    if seen != row.state:
        raise Stale(_("Somebody was first. %(message)s") % {"message": message}, old=seen, new=row.state)
    raise WrongState(message, state=row.state)


def require_no_new_renewal(row: SplitException | Loan, renewed: SplitException | Loan | None) -> None:
    """Nothing held by now (`renewed`) makes it a renewal without those who sign the split. Raises WrongState."""
    signers = queries.roles_for_split()
    if renewed is None or row.renews_id or set(signers) <= set(row.roles.all()):
        return
    raise WrongState(
        _("Another one holds since, which this would renew. Propose it again: it then goes to %(who)s.")
        % {"who": ", ".join(role.name for role in signers)}
    )


def require_signers(roles: list[Role], *, what: str, but: Collection[Person] = ()) -> None:
    """Each of the roles that sign `what` has a person of its own besides `but`. Raises NobodyToSign."""
    if not roles:
        raise NobodyToSign(_("No policy says who signs %(what)s. Ask an admin for one.") % {"what": what})
    lacking = queries.without_signer(roles, but=but)
    if lacking:
        raise NobodyToSign(
            _("As %(role)s somebody must sign besides who asks and who signs for the other roles. Ask an admin.")
            % {"role": lacking.name},
            role=lacking.slug,
        )
