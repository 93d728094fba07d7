"""What is wrong with nodes and GPUs, one line for one cause: the same code in one place, however many GPUs have it."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
    Window,
)
from django.db.models.functions import Coalesce, NullIf, RowNumber
from django.utils import timezone

from inventory.advice import Advice, advice_for
from inventory.models import Cordon, Finding, Gpu, Node
from inventory.queries.nodes import units

ENDED_DAYS = 7
LINES_MOST = 100  # causes on one page; whoever has more of them looks at the first
PLACES_MOST = 12  # nodes and GPUs named under a cause
SEVERITIES = [Finding.Severity.OUT, Finding.Severity.WARN, Finding.Severity.NOTE]  # worst first
# What a GPU says that is lost already: the same cause once more.
OF_LOST = ("handle_failed", "not_answering", "stale", "hung")

Cause = tuple[str, str]  # a code, and the island, or the node where that is on none


@dataclass(slots=True)
class Trouble:
    """A cause: one code in one place. `gpus`: how many it touches, all of a node where the node itself is out.

    `evidence` is that of one of them. `places`: (finding, is its node cordoned) of the first ones. `island` "" for a
    node on none.
    """

    code: str
    place: str
    severity: str
    island: str
    site: str
    nodes: int
    gpus: int
    since: datetime
    at: datetime
    evidence: str
    times: int = 1
    places: list[Finding] = field(default_factory=list)

    @property
    def key(self) -> Cause:
        return self.code, self.place

    @property
    def advice(self) -> Advice:
        """What it is and what to do about it."""
        return advice_for(self.code, self.evidence)

    @property
    def level(self) -> str:
        """How bad, in words."""
        return str(Finding.Severity(self.severity).label)

    @property
    def unnamed(self) -> int:
        """How many findings are not among `places`."""
        return self.times - len(self.places)

    @property
    def is_cordoned(self) -> bool:
        """Whether all the nodes that are named are out of use already."""
        return bool(self.places) and all(getattr(finding, "is_cordoned", False) for finding in self.places)

    @property
    def where(self) -> str:
        """The names of the nodes, or of the island where there are more of them than are named."""
        return self.place if self.unnamed else ", ".join(sorted({finding.node.name for finding in self.places}))


def standing() -> QuerySet[Any]:
    """Findings that have not ended, of nodes in use, each with its `place`; what only follows from another is left out.

    A GPU that is lost is one: what else it says then, and that its node shows a card less, is the same cause.
    """
    lost = Finding.objects.filter(code="lost", ended_at=None)
    cards = Gpu.objects.filter(node=OuterRef("node"), kind=Gpu.Kind.GPU, retired_at=None).order_by().values("node")
    seen = Coalesce(_count(cards.filter(lost_at=None)), 0)
    counted = Coalesce(_count(cards.filter(Exists(lost.filter(gpu=OuterRef("pk"))))), 0)
    rows = _in_use().filter(ended_at=None)
    rows = rows.exclude(Q(code__in=OF_LOST) & Exists(lost.filter(gpu=OuterRef("gpu"))))
    explained = Q(lost_cards__gt=0, node__expected_gpus__lte=F("seen_cards") + F("lost_cards"))
    told: QuerySet[Any] = rows.annotate(seen_cards=seen, lost_cards=counted)
    return told.exclude(explained, code="cards_missing")


def troubles() -> list[Trouble]:
    """What is wrong now, worst first, then by how much it touches; three queries."""
    lines = _lines(standing(), at=Max("seen_at"))
    found = {line.key: line for line in lines}
    whole = units().filter(node__findings__in=standing().filter(gpu=None, severity=Finding.Severity.OUT))
    place = place_of("node__")
    for code, where, gpus in (
        whole.order_by().annotate(place=place).values_list("node__findings__code", "place").annotate(n=Count("pk"))
    ):
        if line := found.get((code, where)):
            line.gpus = max(line.gpus, gpus)
    _name_places(found)
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    return sorted(lines, key=lambda line: (order[Finding.Severity(line.severity)], -line.gpus, -line.nodes, line.since))


def ended_troubles(*, now: datetime | None = None) -> list[Trouble]:
    """What was wrong and ended in the last days, newest end first; one query. `at`: when the last of it ended."""
    since = (now or timezone.now()) - timedelta(days=ENDED_DAYS)
    lines = _lines(_in_use().filter(ended_at__gt=since), at=Max("ended_at"))
    return sorted(lines, key=lambda line: line.at, reverse=True)


def findings_of(node: Node) -> QuerySet[Finding]:
    """What is wrong with the node and its GPUs now, worst first."""
    rows = Finding.objects.filter(node=node, ended_at=None).select_related("gpu")
    return rows.annotate(rank=_rank()).order_by("rank", "since", "pk")


def place_of(node: str) -> Coalesce:
    """The island of a node, or its name where it is on none. `node`: the way to it, as `node__`."""
    return Coalesce(NullIf(F(f"{node}island"), Value("")), F(f"{node}name"), output_field=CharField())


def _in_use() -> QuerySet[Any]:
    return Finding.objects.filter(node__retired_at=None).annotate(place=place_of("node__")).order_by()


def _rank() -> Case:
    whens = [When(severity=severity, then=Value(number)) for number, severity in enumerate(SEVERITIES)]
    return Case(*whens, output_field=IntegerField())


def _count(rows: QuerySet[Any]) -> Any:
    return rows.annotate(n=Count("pk")).values("n")


def _lines(rows: QuerySet[Any], *, at: Max) -> list[Trouble]:
    grouped = rows.values("code", "place").annotate(
        rank=Min(_rank()),
        island=Max("node__island"),
        site=Max("node__site"),
        nodes=Count("node", distinct=True),
        gpus=Count("gpu", distinct=True),
        first=Min("since"),
        at=at,
        says=Max("evidence"),
        times=Count("pk"),
    )
    return [
        Trouble(
            code=row["code"],
            place=row["place"],
            severity=SEVERITIES[row["rank"]],
            island=row["island"],
            site=row["site"],
            nodes=row["nodes"],
            gpus=row["gpus"],
            since=row["first"],
            at=row["at"],
            evidence=row["says"],
            times=row["times"],
        )
        for row in grouped.order_by("rank", "-gpus", "-nodes", "first")[:LINES_MOST]
    ]


def _name_places(found: dict[Cause, Trouble]) -> None:
    """Each cause names its first findings, with `node`, `gpu` and `is_cordoned`."""
    number = Window(RowNumber(), partition_by=[F("code"), F("place")], order_by=["since", "pk"])
    cordoned = Exists(Cordon.objects.filter(node=OuterRef("node"), during__contains=timezone.now()))
    rows = standing().annotate(number=number, is_cordoned=cordoned).filter(number__lte=PLACES_MOST)
    named: dict[Cause, list[Finding]] = defaultdict(list)
    for finding in rows.select_related("node", "gpu").order_by("node__name", "gpu__pci_bus_id", "pk"):
        named[finding.code, finding.place].append(finding)
    for key, line in found.items():
        line.places = named[key]
