"""Splits: how the fleet is shared between the divisions from an instant on; in force only with every signature."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules, turns
from allocations.days import LAST_DAY, day_of, is_reachable, start_of
from allocations.errors import BadTerms
from allocations.grants import site_zone
from allocations.locks import lock_row, lock_shares, one_at_a_time
from allocations.models import Division, Person, Role, Split, SplitLine, SplitWeight
from allocations.notify import page, tell
from allocations.queries import Percents
from inventory import trail
from inventory.models import Event, GpuModel

WHOLE = Decimal(100)
MOST_WEIGHT = Decimal(1000)
WEIGHT_STEP = Decimal("0.001")  # the column's precision
STEP = Decimal("0.01")  # the column's precision


@one_at_a_time
def propose_split(
    *,
    by: Person,
    starts_at: datetime,
    percents: Percents,
    reason: str = "",
    weights: Mapping[str, Decimal] | None = None,
) -> Split:
    """A split that waits for the roles that policies name; to propose it is not to sign it. Their holders are told.

    `percents`: GPU model name ("" for every model that is not named, required) -> division slug -> percent; what is
    left of 100 is the reserve. `weights`: GPU model name -> what a GPU-hour of it counts against those of the others;
    they are signed with it. It may begin today at the earliest.
    Raises NotAllowed, BadTerms, NobodyToSign.
    """
    roles = queries.roles_for_split()
    turns.require_signers(roles, what=_("a split"))
    rules.require(by, "propose_split")
    now = timezone.now()
    if starts_at < start_of(day_of(now, site_zone()), site_zone()):
        raise BadTerms(_("A split begins today at the earliest."), field="starts_at")
    if not is_reachable(starts_at):
        raise BadTerms(_("A split begins on %(last)s at the latest.") % {"last": LAST_DAY}, field="starts_at")
    lines, weighed = _lines(percents), _weights(weights or {})
    split = Split.objects.create(starts_at=starts_at, reason=reason.strip(), proposed_by=by, proposed_at=now)
    split.roles.set(roles)
    SplitLine.objects.bulk_create(
        SplitLine(split=split, division=division, model=model, percent=percent) for division, model, percent in lines
    )
    SplitWeight.objects.bulk_create(SplitWeight(split=split, model=m, weight=w) for m, w in weighed)
    event = trail.record(
        "split.proposed", split, by=by, reason=reason, starts_at=starts_at, before=_in_force(starts_at),
        after=queries.percents_of(split), roles=[role.slug for role in roles],
        weights={model.name: weight for model, weight in weighed},
    )  # fmt: skip
    people = {person for holders in queries.holders_of(roles).values() for person in holders}
    _tell(event, people, _("A split of the fleet waits for your signature"), by, reason)
    return split


@one_at_a_time
def sign_split(*, split: Split, by: Person, role: Role | None = None) -> Split:
    """`by` has signed for `role` (by default one that is held and not signed for); the last signature makes it hold.

    A deputy signs where the principal could: the two count as one, and each role has a person of its own.

    It comes into force by itself on its day, or with the last signature where that comes later. One's own signature
    repeated changes nothing. Locks the split, at the last signature the shares of every GPU model.
    Raises NotAllowed, WrongState, Stale.
    """
    rules.require(by, "sign_split", split)
    given = turns.sign(split, by=by, role=role)
    if given is None:
        return split
    before = split.starts_at
    if given.is_last:
        lock_shares()
        now = timezone.now()
        Split.objects.advance(split, Split.State.SIGNED, signed_at=now, starts_at=max(before, now))
    event = trail.record(
        "split.signed", split, by=by, role=given.mandate.role.slug, complete=given.is_last, before_starts_at=before,
        starts_at=split.starts_at, percents=queries.percents_of(split), **given.mandate.said,
    )  # fmt: skip
    if given.is_last:
        _tell(
            event,
            {split.proposed_by, *given.people},
            _("A split of the fleet has all its signatures"),
            by,
            split.reason,
        )
    return split


@one_at_a_time
def withdraw_split(*, split: Split, by: Person, reason: str = "") -> Split:
    """Nobody needs to sign it any more; its proposer or one of those who sign took it back.

    A signed split stands: another one, signed for the same day, takes its place. Raises NotAllowed, WrongState, Stale.
    """
    rules.require(by, "withdraw_split", split)
    seen = split.state
    lock_row(split)
    turns.require_waits(split, seen)
    Split.objects.advance(split, Split.State.WITHDRAWN)
    trail.record("split.withdrawn", split, by=by, reason=reason)
    return split


def _lines(percents: Percents) -> list[tuple[Division, GpuModel | None, Decimal]]:
    divisions = {division.slug: division for division in Division.objects.filter(ended_at=None)}
    models = {model.name: model for model in GpuModel.objects.filter(name__in=percents)}
    if not percents.get(""):
        raise BadTerms(_("Say how the models are shared that are not named."), field="percents", model="")
    lines = []
    for name, shares in percents.items():
        if name and name not in models:
            raise BadTerms(_("There is no GPU model %(model)s.") % {"model": name}, field="percents", model=name)
        if unknown := sorted(set(shares) - set(divisions)):
            raise BadTerms(
                _("There is no division %(division)s.") % {"division": unknown[0]},
                field="percents", model=name, division=unknown[0],
            )  # fmt: skip
        numbers = {slug: _percent(name, slug, percent) for slug, percent in shares.items()}
        _require_whole(name, numbers.values())
        lines += [(divisions[slug], models.get(name), number) for slug, number in numbers.items()]
    return lines


def _weights(weights: Mapping[str, Decimal]) -> list[tuple[GpuModel, Decimal]]:
    models = {model.name: model for model in GpuModel.objects.filter(name__in=weights)}
    for name, weight in weights.items():
        if name not in models:
            raise BadTerms(_("There is no GPU model %(model)s.") % {"model": name}, field="weights", model=name)
        if not 0 < weight < MOST_WEIGHT:
            raise BadTerms(_("A weight is above 0 and below 1000."), field="weights", model=name)
    return [(models[name], weight.quantize(WEIGHT_STEP)) for name, weight in weights.items()]


def _percent(model: str, division: str, percent: Decimal) -> Decimal:
    try:
        number = Decimal(percent)
        if 0 <= number <= WHOLE and number == number.quantize(STEP):
            return number.quantize(STEP)
    except (InvalidOperation, TypeError, ValueError):
        pass  # no number at all: the same answer
    raise BadTerms(
        _("A percent is a number from 0 to 100 with two decimals at most."),
        field="percents", model=model, division=division,
    )  # fmt: skip


def _require_whole(model: str, numbers: Iterable[Decimal]) -> None:
    total = sum(numbers, Decimal(0))
    if total > WHOLE:
        raise BadTerms(
            _("%(model)s: the shares sum to %(total)s %%, which is more than 100 %%.")
            % {"model": model or _("Every other model"), "total": total},
            field="percents", model=model, total=total,
        )  # fmt: skip


def _in_force(at: datetime) -> dict[str, dict[str, Decimal]]:
    split = queries.effective_split(at)
    return queries.percents_of(split) if split else {}


def _tell(event: Event, people: Iterable[Person], subject: str, by: Person, reason: str) -> None:
    body = _("%(person)s: %(reason)s") % {"person": by.name, "reason": reason or "-"}
    tell(event, people, subject, body, page("split"))
