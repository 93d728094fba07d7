"""Grants: whole GPUs promised from instant to instant, only where they fit at each; ended early by a person."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.capacity import Booking, Kind, Shortage
from allocations.days import day_of, last_day, plus_days, start_of
from allocations.errors import BadTerms, NotAllowed, OverCapacity, OverQuota, OverShare, Stale, WrongState
from allocations.locks import lock_quotas, lock_row, lock_shares, one_at_a_time
from allocations.models import Grant, GrantChange, Person, Pitch, Project, SignOff
from allocations.notify import page, tell
from inventory import trail
from inventory.models import GpuModel


@one_at_a_time
def issue_grant(*, pitch: Pitch, by: Person) -> Grant:
    """What lies on the table is promised to the project of a pitch that all its roles have signed in this round.

    From the first day, or now if that has come, for its full length. Locks the shares of that GPU model: promises are
    made one at a time. Raises NotAllowed, WrongState, OverShare, OverCapacity.
    """
    rules.require(by, "sign_pitch", pitch)
    lock_row(pitch)
    return promise_locked(pitch, by=by)


def promise_locked(pitch: Pitch, *, by: Person) -> Grant:
    """As `issue_grant`, for a caller that holds the pitch's lock and has checked that `by` signs it."""
    _require_state(pitch, *Pitch.SIGNABLE)
    return _promise(pitch, by)


@one_at_a_time
def issue_offered(*, pitch: Pitch, by: Person) -> Grant:
    """As `issue_grant`, for a counter-offer that its pitcher accepts: `by` is who signed it last.

    For a caller that has checked that the offer may be accepted. Raises NotAllowed, WrongState, OverShare,
    OverCapacity.
    """
    lock_row(pitch)
    _require_state(pitch, Pitch.State.OFFERED)
    return _promise(pitch, by)


def _promise(pitch: Pitch, by: Person) -> Grant:
    terms, now = pitch.terms, timezone.now()
    _require_all_signed(pitch)
    lock_shares(terms.model)
    has_quota = lock_quotas(pitch.project)
    starts_at, ends_at = require_room_for(pitch, now=now, has_quota=has_quota)
    grant = Grant.objects.create(
        pitch=pitch, project=pitch.project, model=terms.model, gpus=terms.gpus, whole_nodes=pitch.whole_nodes,
        one_island=pitch.one_island, required_labels=pitch.required_labels, counts_from=pitch.counts_from,
        starts_at=starts_at, ends_at=ends_at, issued_by=by, issued_at=now,
    )  # fmt: skip
    trail.record(
        "grant.issued", grant, by=by, gpus=terms.gpus, model=terms.model.name, project=pitch.project.slug,
        pitch=pitch.public_id, starts_at=starts_at, ends_at=ends_at,
    )  # fmt: skip
    return grant


def _require_state(pitch: Pitch, *states: Pitch.State) -> None:
    if pitch.state not in states:
        raise WrongState(_("A pitch is granted while it waits for signatures, not when it is %(state)s.") % {
            "state": pitch.get_state_display()
        }, state=pitch.state)  # fmt: skip


@one_at_a_time
def end_grant(*, grant: Grant, by: Person, reason: str) -> Grant:
    """The promise ends now, or before it began; what it held is free for planning at once. The lead hears of it.

    Raises NotAllowed, BadTerms without a reason, WrongState when it has ended, Stale when somebody was first.
    """
    rules.require(by, "end_grant", grant)
    if not reason.strip():
        raise BadTerms(_("Say why the grant ends early."), field="reason")
    end_early(grant, by=by, reason=reason)
    return grant


def end_early(grant: Grant, *, by: Person, reason: str) -> None:
    """The promise ends now, for a caller that has checked that `by` may do that, in the caller's transaction.

    Changes of it that wait for signatures are off the table: there is nothing left that they could change.
    Raises WrongState when it has ended, Stale when somebody was first.
    """
    now = timezone.now()
    if grant.ends_at <= max(now, grant.starts_at):
        raise WrongState(_("This grant has ended already."), ends_at=grant.ends_at)
    before = grant.ends_at
    after = max(now, grant.starts_at)
    asked = GrantChange.objects.filter(grant=grant, state=GrantChange.State.ASKED).order_by("pk")
    waiting = list(asked.select_for_update(no_key=True, of=("self",)))  # before the grant, as who signs them
    # One whose signed early end is yet to come can end sooner; another's press that ended it meanwhile is seen by its
    # stamp: the clocks of two presses at once are in no order.
    ended = Grant.objects.filter(pk=grant.pk, ended_at=grant.ended_at, ends_at__gt=after)
    if ended.update(ends_at=after, ended_at=now, ended_by=by) != 1:
        raise Stale(_("Somebody else has ended this grant."), grant=str(grant.public_id))
    grant.ends_at, grant.ended_at, grant.ended_by = after, now, by
    for change in waiting:
        GrantChange.objects.advance(change, GrantChange.State.WITHDRAWN)
        trail.record("change.withdrawn", change, by=by, reason=reason, grant=grant.public_id)
    event = trail.record("grant.ended", grant, by=by, reason=reason, before=before, after=after, gpus=grant.gpus)
    tell(
        event,
        {grant.project.lead},
        _("%(project)s: a grant of %(gpus)s %(model)s has ended")
        % {"project": grant.project.name, "gpus": grant.gpus, "model": grant.model.name},
        _("%(person)s ended it early: %(reason)s\nIt was promised until %(before)s.")
        % {
            "person": by.name,
            "reason": reason,
            "before": spoken(last_day(before, site_zone())),
        },
        page("grants", grant.public_id),
    )


def promised_time(start_on: date, days: int, *, now: datetime) -> tuple[datetime, datetime]:
    """The half-open time of a promise: from that day, or `now` if it has come, for so many days of the site."""
    zone = site_zone()
    starts_at = max(start_of(start_on, zone), now)
    return starts_at, plus_days(starts_at, days, zone)


def require_room(
    *,
    project: Project,
    model: GpuModel,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime,
    above_share: bool = False,
    has_quota: bool = True,
) -> None:
    """So many GPUs could be promised to the project at each instant of that time; locks nothing.

    `above_share`: those who sign asks above the share have signed, so that only what is healthy bounds it.
    Raises OverQuota, or OverShare or OverCapacity with the numbers of the worst stretch.
    """
    ask = Booking(starts_at, ends_at, gpus)
    if has_quota:
        _require_quota(project, ask)
    room = queries.capacity_of(model, at=starts_at)
    short = room.shortage_of_all(ask) if above_share else room.shortage(project.division, ask)
    if short is None:
        return
    numbers = {
        "division": project.division.name,
        "model": model.name,
        "left": max(0, short.limit_gpus - short.promised_gpus),
        "limit": short.limit_gpus,
        "asked": gpus,
        "when": _stretch(short),
    }
    facts = {
        "model": model.name, "division": project.division.slug, "limit_gpus": short.limit_gpus,
        "promised_gpus": short.promised_gpus, "left_gpus": numbers["left"], "asked_gpus": gpus,
        "short_gpus": short.short_gpus, "free_gpus": short.free_gpus, "at": short.at, "until": short.until,
    }  # fmt: skip
    if short.kind == Kind.SHARE:
        raise OverShare(
            _("%(division)s has %(left)s of %(limit)s %(model)s left %(when)s; the ask is for %(asked)s.") % numbers,
            **facts,
        )
    raise OverCapacity(
        _("%(left)s of %(limit)s healthy %(model)s are left %(when)s; the ask is for %(asked)s.") % numbers, **facts
    )


def _require_quota(project: Project, ask: Booking) -> None:
    over = queries.over_the_quota(project, ask)
    if over is None:
        return
    numbers = {
        "project": project.name, "quota": over.quota_gpus, "promised": over.promised_gpus, "asked": ask.gpus,
        "when": spoken(day_of(over.at, site_zone())),
    }  # fmt: skip
    message = _(
        "%(project)s has a quota of %(quota)s GPUs; %(promised)s are promised on %(when)s, the ask is for %(asked)s."
    )
    raise OverQuota(
        message % numbers, quota_gpus=over.quota_gpus, promised_gpus=over.promised_gpus, asked_gpus=ask.gpus, at=over.at
    )


def require_room_for(pitch: Pitch, *, now: datetime, has_quota: bool = True) -> tuple[datetime, datetime]:
    """What lies on the table could be promised at each instant of its time, which comes back; locks nothing.

    `has_quota` False: the caller knows that the project has none.
    Raises OverShare or OverCapacity with the numbers of the worst stretch.
    """
    terms = pitch.terms
    starts_at, ends_at = promised_time(terms.start_on, terms.days, now=now)
    above_share = pitch.is_over_share and terms.model == pitch.model
    require_room(
        project=pitch.project, model=terms.model, gpus=terms.gpus, starts_at=starts_at, ends_at=ends_at,
        above_share=above_share, has_quota=has_quota,
    )  # fmt: skip
    return starts_at, ends_at


def site_zone() -> ZoneInfo:
    """The zone in which people type days."""
    return ZoneInfo(settings.SITE_TIME_ZONE)


def _require_all_signed(pitch: Pitch) -> None:
    gpus = pitch.offered_gpus
    approved = SignOff.objects.filter(pitch=pitch, round=pitch.round, verdict=SignOff.Verdict.APPROVE, gpus=gpus)
    needed = pitch.needed_roles.annotate(is_signed=Exists(approved.filter(role=OuterRef("role"))))
    rows = list(needed.order_by("role").values_list("role__name", "is_signed"))
    names = [name for name, is_signed in rows if not is_signed]
    if names or not rows:
        raise NotAllowed(
            _("These roles have not signed for %(gpus)s GPUs: %(roles)s.") % {"gpus": gpus, "roles": ", ".join(names)},
            roles=names,
        )


def _stretch(short: Shortage) -> str:
    zone = site_zone()
    first = day_of(short.at, zone)
    if short.until is None:
        return _("from %(first)s on") % {"first": spoken(first)}
    last = last_day(short.until, zone)
    if last <= first:
        return _("on %(first)s") % {"first": spoken(first)}
    return _("from %(first)s to %(last)s") % {"first": spoken(first), "last": spoken(last)}


def spoken(day: date) -> str:
    """The day as a sentence says it, with the year where it is another one."""
    this_year = day.year == day_of(timezone.now(), site_zone()).year
    return date_format(day, "j F" if this_year else "j F Y")


def spoken_at(instant: datetime) -> str:
    """The instant as a sentence says it, in the site's zone: "4 March, 12:00"."""
    local = instant.astimezone(site_zone())
    return _("%(day)s, %(time)s") % {"day": spoken(local.date()), "time": f"{local:%H:%M}"}
