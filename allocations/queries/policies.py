"""Who must sign what, by the policies in force: every row that fits adds its roles, or the fast lane stands alone."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from allocations.days import month_of
from allocations.models import Division, Pitch, Policy, PolicyRole, Project, Role
from allocations.queries.look import once_a_look

HOURS_A_DAY = 24


@dataclass(frozen=True)
class Needed:
    """A role that must sign and why: the rows that name it, none where it signs since an exception is renewed.

    Of several rows the latest `position` holds, and the fewest working days with the role that is told after them.
    """

    role: Role
    position: int
    due_working_days: int | None
    escalates_to: Role | None
    because: tuple[Policy, ...]


@dataclass(frozen=True)
class Signing:
    """All that the policies say of an ask. `fast_lane`: the row by which its roles alone sign, None for none.

    `names_over_share`: whether a row for asks above the share is among them.
    """

    needed: tuple[Needed, ...]
    counts_from: str
    fast_lane: Policy | None = None
    names_over_share: bool = False

    @property
    def roles(self) -> list[Role]:
        """The roles that must sign, in the order in which they were made."""
        return [each.role for each in self.needed]


@dataclass(frozen=True)
class Lane:
    """A fast lane that is open to an ask; `left_gpu_hours` of this month's cap are left to the project after it."""

    signing: Signing
    left_gpu_hours: int


@dataclass(frozen=True)
class Ways:
    """How an ask may be signed: the usual way, and the fast lanes that it fits, the one with the most room first."""

    usual: Signing
    lanes: tuple[Signing, ...]


def ways_to_sign(*, division: Division, gpus: int, days: int, over_share: bool = False) -> Ways:
    """What the policies in force say of an ask of that size; `over_share`: one above the division's share. Two queries.

    A row that names nobody counts for nothing.
    """
    rows = [row for row in _fitting(division, gpus, days) if row.named_roles.all()]
    lanes = sorted((row for row in rows if row.is_fast_lane), key=lambda row: -(row.cap_gpu_hours or 0))
    return Ways(
        usual=_signing(row for row in rows if not row.is_fast_lane and (over_share or not row.over_share)),
        lanes=() if over_share else tuple(_signing([row], fast_lane=row) for row in lanes),
    )


def signing_of(*, division: Division, gpus: int, days: int, over_share: bool = False) -> Signing:
    """Who signs an ask of that size that takes no fast lane."""
    return ways_to_sign(division=division, gpus=gpus, days=days, over_share=over_share).usual


def open_lane(
    lanes: Iterable[Signing], *, project: Project, gpus: int, days: int, at: datetime, but: Pitch | None = None
) -> Lane | None:
    """The first of the lanes under whose cap the project stays with that ask in the month of `at`; None if none is."""
    since, until = month_of(at, ZoneInfo(settings.SITE_TIME_ZONE))
    hours = fast_lane_gpu_hours(project, since=since, until=until, but=but) + gpu_hours_of(gpus, days)
    caps = ((each, (each.fast_lane and each.fast_lane.cap_gpu_hours) or 0) for each in lanes)
    return next((Lane(each, cap - hours) for each, cap in caps if hours <= cap), None)


def fast_lane_gpu_hours(project: Project, *, since: datetime, until: datetime, but: Pitch | None = None) -> int:
    """GPU-hours that the project submitted by a fast lane in [since, until), less those declined or taken back."""
    lost = [Pitch.State.DECLINED, Pitch.State.WITHDRAWN]
    taken = Pitch.objects.filter(project=project, is_fast_lane=True).exclude(state__in=lost)
    if but is not None:
        taken = taken.exclude(pk=but.pk)
    rows = taken.filter(submitted_at__gte=since, submitted_at__lt=until).values_list("ideal_gpus", "days")
    return sum(gpu_hours_of(gpus, days) for gpus, days in rows)


def gpu_hours_of(gpus: int, days: int) -> int:
    """The GPU-hours of an ask."""
    return gpus * days * HOURS_A_DAY


def roles_for_pitch(*, division: Division, gpus: int, days: int) -> list[Role]:
    """The roles that sign a pitch of that size within the share and outside of any fast lane."""
    return signing_of(division=division, gpus=gpus, days=days).roles


@once_a_look
def roles_for_split() -> list[Role]:
    """The roles that policies in force name for a split."""
    return _signing(_in_force(Policy.objects.filter(subject=Policy.Subject.SPLIT))).roles


def with_split_signers(signing: Signing) -> Signing:
    """The same, and after the others those who sign the split: an ask above the share that renews an exception."""
    named = {each.role for each in signing.needed}
    last = max((each.position for each in signing.needed), default=0)
    more = (Needed(role, last, None, None, because=()) for role in roles_for_split() if role not in named)
    return replace(signing, needed=(*signing.needed, *more))


def policies_for(subject: str, *, division: Division, gpus: int, gpu_hours: int) -> list[Policy]:
    """The rows in force that hold for that subject and size in the division, with their roles."""
    large_enough = Q(min_gpus__lte=gpus) | Q(min_gpu_hours__lte=gpu_hours)
    small_enough = (Q(max_gpus=None) | Q(max_gpus__gte=gpus)) & (
        Q(max_gpu_hours=None) | Q(max_gpu_hours__gte=gpu_hours)
    )
    of_the_division = Q(division=division) | Q(division=None)
    return _in_force(Policy.objects.filter(large_enough, small_enough, of_the_division, subject=subject))


def _fitting(division: Division, gpus: int, days: int) -> list[Policy]:
    return policies_for(Policy.Subject.PITCH, division=division, gpus=gpus, gpu_hours=gpu_hours_of(gpus, days))


def _in_force(rows: QuerySet[Policy]) -> list[Policy]:
    now = timezone.now()
    held = rows.filter(during__contains=now).select_related("escalates_to", "division")
    named = PolicyRole.objects.select_related("role__division")
    return list(held.prefetch_related(Prefetch("named_roles", named)).order_by("pk"))


def _signing(rows: Iterable[Policy], fast_lane: Policy | None = None) -> Signing:
    rows = [row for row in rows if row.named_roles.all()]
    named: dict[Role, list[PolicyRole]] = {}
    for row in rows:
        for each in row.named_roles.all():
            each.policy = row
            named.setdefault(each.role, []).append(each)
    delivery = Pitch.CountsFrom.DELIVERY
    return Signing(
        needed=tuple(_needed(role, named[role]) for role in sorted(named, key=lambda role: role.pk)),
        counts_from=delivery if any(row.counts_from == delivery for row in rows) else Pitch.CountsFrom.START,
        fast_lane=fast_lane,
        names_over_share=any(row.over_share for row in rows),
    )


def _needed(role: Role, by: list[PolicyRole]) -> Needed:
    timed = [each.policy for each in by if each.policy.due_working_days is not None]
    first = min(timed, key=lambda row: row.due_working_days or 0, default=None)
    told = [row.escalates_to for row in ([first] if first else []) + [each.policy for each in by] if row.escalates_to]
    return Needed(
        role=role,
        position=max(each.position for each in by),
        due_working_days=first.due_working_days if first else None,
        escalates_to=told[0] if told else None,
        because=tuple(each.policy for each in by),
    )
