"""What each division may promise, has promised and has left of a GPU model over time; the split that is in force."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.db.models import Q, QuerySet, prefetch_related_objects

from allocations import capacity
from allocations.capacity import Booking, Shortage, SplitTerm, Timeline
from allocations.models import Division, Split
from allocations.queries.bookings import NOTHING, Promised, promised
from allocations.queries.look import once_a_look
from inventory import queries as facts
from inventory.models import GpuModel

# GPU model name ("": every model that is not named) -> division slug -> percent; what is left of 100 is the reserve.
Percents = Mapping[str, Mapping[str, Decimal]]


@dataclass(frozen=True)
class DivisionCapacity:
    """GPUs of one model that a division may promise (`share`), has promised, and could still promise (`free`).

    `share` is the signed one (`split_share`) raised by exceptions for their time. `promised` counts against it;
    `emergency` stands beside it. `free` goes by the share and by what is healthy; below 0 it is debt.
    """

    division: Division
    share: Timeline
    promised: Timeline
    free: Timeline
    split_share: Timeline
    emergency: Timeline

    @property
    def debt(self) -> Timeline:
        """How far the promises stand above the share, 0 where they do not."""
        return capacity.debt(share=self.share, promised=self.promised)


@dataclass(frozen=True)
class ModelCapacity:
    """One GPU model over time; true from the instant on that was asked for. `divisions`: slug -> its numbers.

    `healthy` counts GPUs that are to come from their day on; `coming` names them, since they are not there yet.
    """

    model: GpuModel
    healthy: Timeline
    promised: Timeline
    coming: Sequence[facts.Coming]
    divisions: Mapping[str, DivisionCapacity]

    def shortage(self, division: Division, ask: Booking) -> Shortage | None:
        """The worst stretch in which the ask does not fit, None if it fits at every instant."""
        own = self.divisions[division.slug]
        return capacity.shortage(
            ask,
            share=own.share,
            healthy=self.healthy,
            promised_division=own.promised,
            promised_model=self.promised,
        )

    def shortage_of_all(self, ask: Booking) -> Shortage | None:
        """The worst stretch in which the ask does not fit into what is healthy, whoever's share it is."""
        found = capacity.shortage(
            ask, share=self.healthy, healthy=self.healthy, promised_division=self.promised, promised_model=self.promised
        )
        return found and replace(found, kind=capacity.Kind.CAPACITY)

    def earliest_start(self, division: Division, ask: Booking, *, latest: datetime | None = None) -> datetime | None:
        """The first instant from the ask's own on at which it would fit for its whole length; None: never."""
        own = self.divisions[division.slug]
        return capacity.earliest_start(
            ask,
            share=own.share,
            healthy=self.healthy,
            promised_division=own.promised,
            promised_model=self.promised,
            latest=latest,
        )


@dataclass(frozen=True)
class SplitEffect:
    """What a split would do to a division and a GPU model on its first instant. `debt_gpus`: the worst from then on."""

    model: GpuModel
    division: Division
    before_gpus: int
    after_gpus: int
    promised_gpus: int
    debt_gpus: int


def capacity_of(model: GpuModel, *, at: datetime) -> ModelCapacity:
    """The model's numbers from `at` on; a constant number of queries."""
    return capacities_of([model], at=at)[0]


def capacities_of(models: Iterable[GpuModel] | None = None, *, at: datetime) -> list[ModelCapacity]:
    """The numbers of each model (None: of all, by name) from `at` on; a constant number of queries."""
    return _capacities(models, at, _signed_splits(at))


def effective_split(at: datetime) -> Split | None:
    """The signed split in force at that instant, with its lines; None before the first."""
    splits = Split.objects.filter(state=Split.State.SIGNED, starts_at__lte=at)
    newest = splits.order_by("-starts_at", "-signed_at", "-pk")
    return newest.prefetch_related("lines__division", "lines__model").first()


def coming_splits(at: datetime) -> QuerySet[Split]:
    """Signed splits whose day is still to come, soonest first."""
    splits = Split.objects.filter(state=Split.State.SIGNED, starts_at__gt=at).order_by("starts_at", "signed_at", "pk")
    return splits.prefetch_related("lines__division", "lines__model")


def percents_of(split: Split) -> dict[str, dict[str, Decimal]]:
    """The split's lines as people propose them."""
    percents: dict[str, dict[str, Decimal]] = defaultdict(dict)
    prefetch_related_objects([split], "lines__division", "lines__model")
    for line in split.lines.all():
        percents[line.model.name if line.model else ""][line.division.slug] = line.percent
    return dict(percents)


def preview_split(percents: Percents, *, starts_at: datetime) -> list[SplitEffect]:
    """Who would have how many and who would stand over, if these percents came into force at `starts_at`.

    Models by name, each with its divisions in their order. Later signed splits stay where they are, and so what stands
    over from the day of the next one on is theirs.
    """
    before, after, until = split_capacities(percents, starts_at=starts_at)
    return effects_of(before, after, starts_at=starts_at, until=until)


def split_capacities(
    percents: Percents, *, starts_at: datetime
) -> tuple[list[ModelCapacity], list[ModelCapacity], datetime | None]:
    """The numbers from that instant on without these percents and with them, and until when they would hold."""
    signed = _signed_splits(starts_at)
    at_once = sum(begins <= starts_at for begins, _ in signed)
    until = min((begins for begins, _ in signed[at_once:]), default=None)
    proposed = [*signed[:at_once], (starts_at, percents), *signed[at_once:]]
    return _capacities(None, starts_at, signed), _capacities(None, starts_at, proposed), until


def effects_of(
    before: Sequence[ModelCapacity], after: Sequence[ModelCapacity], *, starts_at: datetime, until: datetime | None
) -> list[SplitEffect]:
    """Model by model, what each division had and would have, and by how much it would stand over at the worst."""
    return [
        SplitEffect(
            model=new.model,
            division=own.division,
            before_gpus=old.divisions[slug].share.at(starts_at),
            after_gpus=own.share.at(starts_at),
            promised_gpus=own.promised.at(starts_at),
            debt_gpus=max(step.gpus for step in own.debt.steps(starts_at, until)),
        )
        for old, new in zip(before, after, strict=True)
        for slug, own in new.divisions.items()
    ]


@once_a_look
def divisions_of_lab() -> tuple[Division, ...]:
    """All divisions in their order."""
    return tuple(Division.objects.all())


def _capacities(
    models: Iterable[GpuModel] | None, at: datetime, splits: Sequence[tuple[datetime, Percents]]
) -> list[ModelCapacity]:
    models = list(GpuModel.objects.order_by("name") if models is None else models)
    divisions = divisions_of_lab()
    supply = facts.supply()
    out = _by_model(supply.outages)
    found = promised(models, at=at)
    return [
        _capacity(
            model,
            supply.healthy.get(model.pk, 0),
            out[model.pk],
            [each for each in supply.coming if each.model_id == model.pk],
            divisions,
            found,
            [SplitTerm(begins, percents.get(model.name, percents.get("", {}))) for begins, percents in splits],
        )
        for model in models
    ]


def _capacity(
    model: GpuModel,
    gpus_now: int,
    outages: Sequence[Booking],
    coming: Sequence[facts.Coming],
    divisions: Sequence[Division],
    found: Promised,
    terms: list[SplitTerm],
) -> ModelCapacity:
    healthy = capacity.healthy(gpus_now, outages, [Booking(each.starts_at, None, each.gpus) for each in coming])
    keys = [(model.pk, division.pk) for division in divisions]
    lines = [found.inside.get(key, NOTHING) for key in keys]
    emergencies = [found.emergency.get(key, NOTHING) for key in keys]
    total = sum([*lines, *emergencies], NOTHING)
    shares = [capacity.share(healthy, terms, division.slug) for division in divisions]
    raised = [share + found.exceptions.get(key, NOTHING) for share, key in zip(shares, keys, strict=True)]
    return ModelCapacity(
        model=model,
        healthy=healthy,
        promised=total,
        coming=coming,
        divisions={
            division.slug: DivisionCapacity(
                division=division,
                share=share,
                promised=line,
                free=capacity.free(share=share, healthy=healthy, promised_division=line, promised_model=total),
                split_share=split_share,
                emergency=emergency,
            )
            for division, share, line, split_share, emergency in zip(
                divisions, raised, lines, shares, emergencies, strict=True
            )
        },
    )


def _by_model(found: Iterable[facts.Outage]) -> dict[int, list[Booking]]:
    outages: dict[int, list[Booking]] = defaultdict(list)
    for outage in found:
        outages[outage.model_id].append(Booking(outage.starts_at, outage.ends_at, outage.gpus))
    return outages


def _signed_splits(at: datetime) -> list[tuple[datetime, Percents]]:
    """The split in force at `at` and those after it, the one that holds last where two begin at one instant."""
    signed = Split.objects.filter(state=Split.State.SIGNED)
    begun = signed.filter(starts_at__lte=at).order_by("-starts_at", "-signed_at", "-pk").values("pk")[:1]
    rows = signed.filter(Q(starts_at__gt=at) | Q(pk__in=begun)).order_by("starts_at", "signed_at", "pk")
    splits: dict[int, tuple[datetime, dict[str, dict[str, Decimal]]]] = {}
    for pk, starts_at, model, division, percent in rows.values_list(
        "pk", "starts_at", "lines__model__name", "lines__division__slug", "lines__percent"
    ):
        _begins, percents = splits.setdefault(pk, (starts_at, {}))
        if division is not None:
            percents.setdefault(model or "", {})[division] = percent
    return list(splits.values())
