"""The numbers that any draft needs, and what makes one whole enough to be submitted."""

from datetime import date, timedelta

from django.utils.translation import gettext as _

from allocations.asks.details import check_answered, details_of, questions_for
from allocations.errors import BadTerms
from allocations.models import Pitch, Project
from allocations.models.pitches import LONGEST_DAYS

MOST_GPUS = 1_000_000  # several times the largest cluster that anybody has announced: more is a slip of the keyboard
LATEST_START_DAYS = LONGEST_DAYS  # as far ahead as a promise may last: nobody knows the fleet after that
TITLE_LIMIT = 140  # the column's width


def check_numbers(pitch: Pitch) -> None:
    """The pitch has numbers that it could be stored with. Raises BadTerms, which names the first field that has not."""
    _require(
        len(pitch.title) <= TITLE_LIMIT, "title", _("The title is longer than %(limit)s characters."), limit=TITLE_LIMIT
    )
    _require(1 <= pitch.ideal_gpus <= MOST_GPUS, "ideal_gpus", _("Ask for 1 to %(most)s GPUs."), most=MOST_GPUS)
    _require(pitch.min_gpus >= 1, "min_gpus", _("The minimum is 1 GPU or more."))
    _require(
        pitch.min_gpus <= pitch.ideal_gpus,
        "min_gpus",
        _("The minimum is above the ideal of %(ideal)s GPUs."),
        ideal=pitch.ideal_gpus,
    )
    _require(
        pitch.start_until is None or pitch.start_until >= pitch.start_on,
        "start_until",
        _("The latest first day is before the first day."),
    )
    _require(1 <= pitch.days <= LONGEST_DAYS, "days", _("Ask for 1 to %(longest)s days."), longest=LONGEST_DAYS)


def check_whole(pitch: Pitch, *, today: date, may_back_date: bool) -> None:
    """The pitch says all that those who sign need. Raises BadTerms, which names the first field that does not."""
    check_numbers(pitch)
    _require(
        pitch.project.state == Project.State.ACTIVE,
        "project",
        _("%(project)s winds down or has ended: it takes no new GPUs."),
        project=pitch.project.name,
    )
    _require(bool(pitch.title), "title", _("Give it a title."))
    _require(bool(pitch.why), "why", _("Say why: those who sign read it."))
    _require(
        may_back_date or pitch.start_on >= today,
        "start_on",
        _("The first day has passed; today is %(today)s."),
        today=today,
    )
    latest = today + timedelta(days=LATEST_START_DAYS)
    last = pitch.start_until or pitch.start_on
    field = "start_until" if pitch.start_until else "start_on"
    _require(last <= latest, field, _("The first day may be %(latest)s at the latest."), latest=latest)
    _require(
        pitch.check_on is None or pitch.check_on >= pitch.start_on,
        "check_on",
        _("The result cannot be checked before the first day."),
    )
    check_answered(questions_for(pitch.project.division), details_of(pitch).answers)


def _require(fits: bool, field: str, message: str, **words: object) -> None:
    if not fits:
        raise BadTerms(message % words, field=field, **words)
