"""What a proposed split means by name: which pitches could begin earlier, later or not, how a debt clears."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Prefetch, QuerySet

from allocations.capacity import Booking, Weights, clear_from
from allocations.days import plus_days, start_of
from allocations.models import Division, Grant, Person, Pitch, Split, SplitException, SplitLine
from allocations.queries.promises import ModelCapacity, Percents, SplitEffect, effects_of, split_capacities
from allocations.queries.sight import grants_visible_to, pitches_visible_to
from allocations.queries.signers import with_signatures
from allocations.queries.totals import Totals, totals_of
from inventory.models import GpuModel

SHOWN_PITCHES = 60  # the longest waits; more names than that are no preview


@dataclass(frozen=True)
class PitchShift:
    """When what a waiting pitch asks for could begin, now and with the split; None: never, as far as it is known."""

    pitch: Pitch
    before: datetime | None
    after: datetime | None

    @property
    def kind(self) -> str:
        """earlier, later, never (it could begin now and could not then), or same."""
        if self.before == self.after:
            return "same"
        if self.after is None:
            return "never"
        return "earlier" if self.before is None or self.after < self.before else "later"


@dataclass(frozen=True)
class DebtPlan:
    """How a debt clears: `endings` are the grants that end by then, the soonest first; `others`: unseen ones.

    `begins_at`: from when on, where it does not stand over at once. `cleared_at`: from when on nothing stands over, if
    nobody ends anything earlier; None where promises never allow it.
    """

    division: Division
    model: GpuModel
    debt_gpus: int
    begins_at: datetime | None
    cleared_at: datetime | None
    endings: Sequence[Grant]
    others: int


@dataclass(frozen=True)
class SplitPreview:
    """All that a split would do from an instant on."""

    effects: Sequence[SplitEffect]
    totals: Totals
    shifts: Sequence[PitchShift]
    plans: Sequence[DebtPlan]


def preview_for(
    percents: Percents, *, starts_at: datetime, person: Person, weights: Weights | None = None
) -> SplitPreview:
    """What the split would do from that instant on, by names that the person may see; a constant number of queries.

    Totals count by its own `weights`, those of today's split too, so that the two can be compared.
    """
    before, after, until = split_capacities(percents, starts_at=starts_at)
    effects = effects_of(before, after, starts_at=starts_at, until=until)
    return SplitPreview(
        effects=effects,
        totals=totals_of(after, weights or {}, at=starts_at, until=until, before=before),
        shifts=_shifts(before, after, starts_at, person),
        plans=_plans([effect for effect in effects if effect.debt_gpus], after, starts_at, person),
    )


def debts_of(capacities: Sequence[ModelCapacity], *, at: datetime, person: Person) -> list[DebtPlan]:
    """Every debt that stands now or is to come under the splits that are signed, with how it clears."""
    effects = [
        SplitEffect(room.model, own.division, 0, own.share.at(at), own.promised.at(at), worst)
        for room in capacities
        for own in room.divisions.values()
        if (worst := max(step.gpus for step in own.debt.steps(at, None)))
    ]
    return _plans(effects, list(capacities), at, person)


def default_shares(*, until: datetime, most: int) -> list[tuple[datetime, list[tuple[str, float]]]]:
    """The last signed splits that had begun by `until`, oldest first: (in force from, [(division slug, percent)]).

    The percents are those for all models; two queries.
    """
    lines = Prefetch("lines", SplitLine.objects.filter(model=None).select_related("division"))
    signed = Split.objects.filter(state=Split.State.SIGNED, starts_at__lte=until).prefetch_related(lines)
    newest = signed.order_by("-starts_at", "-pk")[:most]
    return [(row.starts_at, [(line.division.slug, float(line.percent)) for line in row.lines.all()]) for row in newest][
        ::-1
    ]


def exceptions_open(*, at: datetime) -> QuerySet[SplitException]:
    """Exceptions that wait for signatures, hold, or are to come; with their signatures."""
    rows = SplitException.objects.filter(ends_at__gt=at).exclude(state=SplitException.State.WITHDRAWN)
    return with_signatures(rows.select_related("division", "model", "proposed_by", "pitch", "renews"))


def _shifts(
    before: Sequence[ModelCapacity], after: Sequence[ModelCapacity], starts_at: datetime, person: Person
) -> list[PitchShift]:
    rooms = {old.model.pk: (old, new) for old, new in zip(before, after, strict=True)}
    waiting = pitches_visible_to(person).filter(state__in=Pitch.SIGNABLE).order_by("submitted_at", "pk")
    shifts = []
    for pitch in waiting.select_related("offered_model")[:SHOWN_PITCHES]:
        terms = pitch.terms
        old, new = rooms[terms.model.pk]
        zone = ZoneInfo(settings.SITE_TIME_ZONE)
        begins = max(start_of(terms.start_on, zone), starts_at)
        ask = Booking(begins, plus_days(begins, terms.days, zone), terms.gpus)
        division = pitch.project.division
        shift = PitchShift(pitch, old.earliest_start(division, ask), new.earliest_start(division, ask))
        if shift.kind != "same":
            shifts.append(shift)
    return shifts


def _plans(
    effects: Sequence[SplitEffect], capacities: Sequence[ModelCapacity], starts_at: datetime, person: Person
) -> list[DebtPlan]:
    if not effects:
        return []
    rooms = {room.model.pk: room for room in capacities}
    grants = Grant.objects.filter(
        ends_at__gt=starts_at, is_emergency=False, loan=None, project__division__in={e.division for e in effects},
        model__in={e.model for e in effects},
    )  # fmt: skip
    running = list(grants.select_related("project", "model").order_by("ends_at", "pk"))
    seen = set(grants_visible_to(person).filter(pk__in=[grant.pk for grant in running]).values_list("pk", flat=True))
    plans = []
    for effect in effects:
        own = rooms[effect.model.pk].divisions[effect.division.slug]
        cleared_at = clear_from(own.debt, starts_at)
        ending = [
            grant
            for grant in running
            if grant.model_id == effect.model.pk
            and grant.project.division_id == effect.division.pk
            and (cleared_at is None or grant.ends_at <= cleared_at)
        ]
        shown = [grant for grant in ending if grant.pk in seen]
        first = next((step for step in own.debt.steps(starts_at, None) if step.gpus), None)
        plans.append(
            DebtPlan(
                division=effect.division,
                model=effect.model,
                debt_gpus=effect.debt_gpus,
                begins_at=first.starts_at if first and first.starts_at != starts_at else None,
                cleared_at=cleared_at,
                endings=shown,
                others=len(ending) - len(shown),
            )
        )
    return plans
