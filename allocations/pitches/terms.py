"""The terms on the table: which ones a signer may put there, and which the pitcher has accepted beforehand."""

from datetime import date, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import asks, grants
from allocations.days import day_of
from allocations.errors import BadTerms
from allocations.models import Pitch, SignOff
from allocations.models.pitches import LONGEST_DAYS
from allocations.models.terms import Terms
from inventory.models import GpuModel


def typed(pitch: Pitch, *, gpus: int | None, model: GpuModel | None, start_on: date | None, days: int | None) -> Terms:
    """What a signer means: what was left open is as on the table."""
    table = pitch.terms
    return Terms(
        model=model or table.model,
        gpus=table.gpus if gpus is None else gpus,
        start_on=start_on or table.start_on,
        days=table.days if days is None else days,
    )


def is_on_table(pitch: Pitch, terms: Terms) -> bool:
    """Whether these terms lie there already; a first day that has passed is today."""
    today = day_of(timezone.now(), grants.site_zone())
    return terms in (pitch.terms, pitch.terms._replace(start_on=max(pitch.terms.start_on, today)))


def most_gpus(pitch: Pitch, model: GpuModel) -> int:
    """The most GPUs of the model that were asked for; of one that nobody named, as many as of the asked one."""
    numbers = {each.model_id: each.gpus for each in pitch.alternatives.all()}
    return numbers.get(model.pk, pitch.ideal_gpus) if model != pitch.model else pitch.ideal_gpus


def check(pitch: Pitch, terms: Terms) -> None:
    """A signer may put these terms on the table. Raises BadTerms, which names the field."""
    most = most_gpus(pitch, terms.model)
    if not 1 <= terms.gpus <= most:
        raise BadTerms(
            _("Approve from 1 to %(most)s %(model)s: more were not asked for.")
            % {"most": most, "model": terms.model.name},
            field="gpus", min_gpus=pitch.min_gpus, most_gpus=most,
        )  # fmt: skip
    today = day_of(timezone.now(), grants.site_zone())
    latest = today + timedelta(days=asks.LATEST_START_DAYS)
    if terms.start_on != pitch.terms.start_on and not today <= terms.start_on <= latest:
        words = {"today": grants.spoken(today), "latest": grants.spoken(latest)}
        message = _("The first day lies from today, %(today)s, to %(latest)s.") % words
        raise BadTerms(message, field="start_on", earliest=today, latest=latest)
    if not 1 <= terms.days <= LONGEST_DAYS:
        raise BadTerms(
            _("Approve 1 to %(longest)s days.") % {"longest": LONGEST_DAYS}, field="days", longest_days=LONGEST_DAYS
        )


def is_accepted_beforehand(pitch: Pitch, terms: Terms) -> bool:
    """Whether the ask itself says yes: minimum to ideal of the model, or an alternative whole; its days, its window.

    A first day that has passed is today, and so is the end of its window.
    """
    today = day_of(timezone.now(), grants.site_zone())
    first, last = max(pitch.start_on, today), max(pitch.start_until or pitch.start_on, today)
    if terms.days != pitch.days or not first <= max(terms.start_on, today) <= last:
        return False
    if terms.model == pitch.model:
        return pitch.min_gpus <= terms.gpus <= pitch.ideal_gpus
    return any(each.model_id == terms.model.pk and each.gpus == terms.gpus for each in pitch.alternatives.all())


def put_on_table(pitch: Pitch, terms: Terms) -> None:
    """The locked pitch is in its next round, with these terms."""
    pitch.round = next_round(pitch)
    for name, value in columns_of(pitch, terms).items():
        setattr(pitch, name, value)
    pitch.save(update_fields=["round", *columns_of(pitch, terms)])


def columns_of(pitch: Pitch, terms: Terms) -> dict[str, object]:
    """How the terms are stored: what is as asked stays empty, so that it follows the ask."""
    asked = pitch.asked
    return {
        "offered_gpus": terms.gpus,
        "offered_model": None if terms.model == asked.model else terms.model,
        "offered_start_on": None if terms.start_on == asked.start_on else terms.start_on,
        "offered_days": None if terms.days == asked.days else terms.days,
    }


def next_round(pitch: Pitch) -> int:
    """A number that no round of the pitch has had, an undone one included: what a page showed stays what it meant."""
    waitlist = SignOff.Verdict.WAITLIST
    had = SignOff.every.filter(pitch=pitch).values_list("round", "verdict")
    return 1 + max([pitch.round, *(number + (verdict == waitlist) for number, verdict in had)])
