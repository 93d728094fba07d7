"""Who could give GPUs, by what right and with what evidence; and what cannot be taken, and why."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from allocations import planner
from allocations.models import Project

GIVING = (planner.Source.FREE, planner.Source.ENDED, planner.Source.WINDING_DOWN)  # in the order they are taken
SOONEST = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Donor:
    """GPUs of one model that one holder ("" nobody) could give for one reason.

    `running_gpus`: with processes, or nobody knows; `oldest_seen_s`: age of the oldest reading that this rests on;
    `releases_at`: the last promised date.
    """

    source: planner.Source
    holder: str
    project: Project | None
    model: str
    gpus: int = 0
    running_gpus: int = 0
    oldest_seen_s: float = 0.0
    releases_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Supply:
    """What a snapshot holds for planning: donors in the order they are taken, and per model why the rest stays."""

    donors: list[Donor]
    left: dict[str, Counter[str]]


def supply(snapshot: planner.Snapshot) -> Supply:
    """The donors of the snapshot, and model -> reason -> GPUs that nothing can be planned with."""
    projects = {project.slug: project for project in Project.objects.select_related("division")}
    donors: dict[tuple[planner.Source, str, str], Donor] = {}
    left: dict[str, Counter[str]] = {}
    for unit in snapshot.units:
        if unit.source not in GIVING:
            left.setdefault(unit.model, Counter())[unit.detail or unit.source.value] += 1
            continue
        key = (unit.source, unit.holder, unit.model)
        if key not in donors:
            donors[key] = Donor(unit.source, unit.holder, projects.get(unit.holder), unit.model)
        _add(donors[key], unit)
    return Supply(donors=sorted(donors.values(), key=_rank), left=dict(sorted(left.items())))


def _rank(donor: Donor) -> tuple[str, int, datetime, int, str]:
    winds_down = donor.source is planner.Source.WINDING_DOWN
    promised_at = donor.releases_at if winds_down and donor.releases_at else SOONEST
    return donor.model, GIVING.index(donor.source), promised_at, -donor.gpus, donor.holder


def _add(donor: Donor, unit: planner.Unit) -> None:
    donor.gpus += 1
    donor.running_gpus += unit.running != 0
    donor.oldest_seen_s = max(donor.oldest_seen_s, unit.seen_age_s)
    if unit.releases_at and (donor.releases_at is None or unit.releases_at > donor.releases_at):
        donor.releases_at = unit.releases_at
