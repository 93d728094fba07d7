"""Drafts: kept while they are typed, or begun from a pitch that was declined or withdrawn."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import asks, grants, rules
from allocations.days import day_of
from allocations.errors import Stale, WrongState
from allocations.locks import one_at_a_time
from allocations.models import Person, Pitch, Project
from allocations.pitches.common import lock_in
from allocations.pitches.rows import write_details
from inventory import trail
from inventory.models import GpuModel

NO_DETAILS = asks.Details()


@one_at_a_time
def save_draft(
    *,
    pitch: Pitch | None,
    by: Person,
    project: Project,
    title: str,
    why: str,
    expected_result: str,
    check_on: date | None,
    if_declined: str,
    model: GpuModel,
    ideal_gpus: int,
    min_gpus: int,
    whole_nodes: bool,
    one_island: bool,
    start_on: date,
    days: int,
    start_until: date | None = None,
    required_labels: Mapping[str, str] | None = None,
    details: asks.Details = NO_DETAILS,
    version: str | None = None,
    public_id: UUID | None = None,
    is_autosave: bool = False,
) -> Pitch:
    """The draft says this; a new one of `by` where `pitch` is None. Nobody else sees it, and it need not be whole yet.

    So is a pitch changed that was asked to change; those who saw it see it.

    `version` is what the writer saw (`asks.version_of`), None for one who does not care; `public_id` is the new one's.
    What is only kept while it is typed leaves no event: the trail has the beginning and what is submitted.
    Raises NotAllowed, BadTerms for numbers that no pitch can have, WrongState or Stale when it is no draft any more,
    Stale with the `version` of now when it has changed since that one and does not say this already.
    """
    rules.require(by, "pitch_for", project)
    terms: dict[str, Any] = {
        "project": project, "title": title.strip(), "why": why.strip(), "expected_result": expected_result.strip(),
        "check_on": check_on, "if_declined": if_declined.strip(), "model": model, "ideal_gpus": ideal_gpus,
        "min_gpus": min_gpus, "offered_gpus": ideal_gpus, "whole_nodes": whole_nodes, "one_island": one_island,
        "required_labels": {**(required_labels or {})}, "start_on": start_on, "start_until": start_until, "days": days,
    }  # fmt: skip
    asks.check_details(details, model=model, labels=terms["required_labels"])
    if pitch is None:
        return _begin(Pitch(pitcher=by, **({"public_id": public_id} if public_id else {}), **terms), details)
    rules.require(by, "edit_pitch", pitch)
    lock_in(pitch, Pitch.State.DRAFT, Pitch.State.CHANGES)
    before = {name: getattr(pitch, name) for name in terms}
    # Which fields, not what they say: many read the trail, a draft is its writer's alone.
    changed = {name for name in before if before[name] != terms[name]}
    was, now = asks.details_of(pitch).said, details.said
    changed |= {name for name in now if was[name] != now[name]}
    if changed and version not in (None, asks.version_of(pitch)):
        message = _("This draft was saved elsewhere since you opened it. Nothing was overwritten.")
        raise Stale(message, version=asks.version_of(pitch))
    for name, value in terms.items():
        setattr(pitch, name, value)
    asks.check_numbers(pitch)
    # What an import found in a field is settled once somebody has written there.
    pitch.findings = [each for each in pitch.findings if each.get("field") not in changed]
    pitch.save()
    if was != now:
        write_details(pitch, details)
    if not is_autosave:
        label = _("a draft") if pitch.state == Pitch.State.DRAFT else ""
        trail.record("pitch.edited", pitch, by=by, label=label, changed=sorted(changed))
    return pitch


def _begin(pitch: Pitch, details: asks.Details, **facts: Any) -> Pitch:
    asks.check_numbers(pitch)
    try:
        with transaction.atomic():
            pitch.save()
    except IntegrityError as error:
        # Only the id can be taken: the numbers have been checked.
        raise Stale(_("This draft has just been saved. Open it from your pitches.")) from error
    write_details(pitch, details)
    trail.record("pitch.drafted", pitch, by=pitch.pitcher, label=_("a draft"), changed=[], **facts)
    return pitch


@one_at_a_time
def resubmit_pitch(*, pitch: Pitch, by: Person) -> Pitch:
    """A draft of `by` that follows a declined or withdrawn pitch and says the same, from today on at the earliest.

    Pressed again it is the same row while that one is a draft or waits. The earlier decision stays as it is.
    Raises NotAllowed, WrongState when it is neither, or when somebody else's pitch that waits follows it already.
    """
    rules.require(by, "see_pitch", pitch)
    rules.require(by, "pitch_for", pitch.project)
    lock_in(pitch, Pitch.State.DECLINED, Pitch.State.WITHDRAWN)
    following = pitch.resubmissions.filter(state__in=[Pitch.State.DRAFT, *Pitch.OPEN])
    own = following.filter(pitcher=by).order_by("-pk").first()
    if own:
        return own
    if following.filter(state__in=Pitch.OPEN).exists():
        raise WrongState(_("Another pitch follows this one already and waits for its signatures."))
    today = day_of(timezone.now(), grants.site_zone())
    later = max(today - pitch.start_on, timedelta())
    terms = {name: getattr(pitch, name) for name in asks.SAID} | {
        "start_on": pitch.start_on + later,
        "start_until": pitch.start_until and pitch.start_until + later,
        "check_on": pitch.check_on and pitch.check_on + later,
    }
    draft = Pitch(pitcher=by, resubmits=pitch, offered_gpus=pitch.ideal_gpus, **terms)
    return _begin(draft, asks.details_of(pitch), follows=str(pitch.public_id))
