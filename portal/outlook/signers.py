"""Who would sign an ask, and why, before it is submitted; who signs it, once it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from allocations import queries
from allocations.capacity import Kind, Shortage
from allocations.models import Person, Pitch, Policy, Project, Role
from portal.templatetags.figures import number


@dataclass(frozen=True)
class Signer:
    """A role with those who hold it; `why` it is asked, "" where it is asked for every pitch."""

    role: Role
    people: list[Person]
    why: str = ""


@dataclass(frozen=True)
class Signers:
    """Everybody who signs. `note` says what is special: a fast lane, or an ask above the share."""

    signers: list[Signer]
    note: str = ""


def signers_of_pitch(pitch: Pitch) -> Signers:
    """The roles that are frozen into a submitted pitch."""
    return Signers(_with_people([(role, "") for role in queries.needed_by(pitch)]))


def signers_as_typed(
    *,
    project: Project,
    gpus: int,
    days: int,
    shortage: Shortage | None,
    at: datetime,
    renews: bool = False,
    but: Pitch | None = None,
) -> Signers:
    """What the policies in force would ask for, were the ask submitted now.

    `renews`: an exception of the division is held so near that one for this ask would renew it.
    """
    over = shortage is not None and shortage.kind == Kind.SHARE
    ways = queries.ways_to_sign(division=project.division, gpus=gpus, days=days, over_share=over)
    signing, note = ways.usual, ""
    if over and signing.names_over_share:
        note = _("It stands above the share: it may be submitted, and more roles sign.")
        signing = queries.with_split_signers(signing) if renews else signing
    lane = None
    if ways.lanes:
        lane = queries.open_lane(ways.lanes, project=project, gpus=gpus, days=days, at=at, but=but)
    if lane:
        signing = lane.signing
        note = _("A small ask: these sign alone. %(left)s GPU-hours of this month are left to the project after it.")
        note = note % {"left": number(lane.left_gpu_hours)}
    return Signers(_with_people([(each.role, _why(each, gpus, days)) for each in signing.needed]), note)


def _with_people(roles: Iterable[tuple[Role, str]]) -> list[Signer]:
    reasons = dict(roles)
    return [Signer(role, people, reasons[role]) for role, people in queries.holders_of(reasons).items()]


def _why(needed: queries.Needed, gpus: int, days: int) -> str:
    """The first reason that is not simply that every pitch of the division needs the role."""
    if not needed.because:
        return _("because it renews an exception above the share")
    reasons = [_reason(row, gpus, queries.gpu_hours_of(gpus, days)) for row in needed.because]
    return "" if "" in reasons else reasons[0]


def _reason(row: Policy, gpus: int, gpu_hours: int) -> str:
    if row.over_share:
        return _("because above the share")
    if row.min_gpus and gpus >= row.min_gpus:
        return _("because from %(gpus)s GPUs on") % {"gpus": number(row.min_gpus)}
    if row.min_gpus and row.min_gpu_hours:
        return _("because from %(hours)s GPU-hours on") % {"hours": number(row.min_gpu_hours)}
    return ""
