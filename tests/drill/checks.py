"""What the rows say, and what the simulated nodes say when they are asked by their own protocol."""

from collections import Counter
from collections.abc import Iterable

from django.db import connections
from django.db.utils import InterfaceError, OperationalError

from allocations.models import Assignment, Grant, Holding, Move, Plan
from inventory.drivers.base import Observed
from inventory.drivers.loop import observe_many
from inventory.models import Gpu, Node, Reading
from inventory.queries import addresses_of

OPEN_ENDED = {"during__endswith__isnull": True}


def forget_connections() -> None:
    """The next query connects anew: the database may have been killed meanwhile."""
    connections.close_all()


def open_moves() -> int:
    """How many moves are on their way; -1 while the database cannot be asked."""
    try:
        return Move.objects.filter(state__in=Move.OPEN).count()
    except (OperationalError, InterfaceError):
        forget_connections()
        return -1


def assigned(grant: Grant) -> int:
    return Assignment.objects.filter(grant=grant, **OPEN_ENDED).count()


def held(slug: str) -> int:
    """GPUs that the project is proven to hold."""
    return Holding.objects.filter(project__slug=slug, **OPEN_ENDED).count()


def on_nodes(names: Iterable[str] | None = None) -> dict[str, str]:
    """GPU uuid -> holder, as the nodes say now when asked directly. Raises AssertionError where one does not answer."""
    nodes = Node.objects.filter(retired_at=None)
    chosen = nodes if names is None else nodes.filter(name__in=list(names))
    answers = observe_many(list(addresses_of(chosen)))
    silent = [name for name, answer in answers if not isinstance(answer, Observed)]
    assert not silent, f"{len(silent)} nodes do not answer: {silent[:3]}"
    return {gpu.uuid: gpu.holder for _, answer in answers for gpu in answer.observation.gpus}


def held_on_nodes(slug: str) -> int:
    """GPUs of the project as the nodes say."""
    return Counter(on_nodes().values())[slug]


def nodes_agree_with_rows() -> None:
    """Every node says of every GPU exactly what is assigned and proven. Raises AssertionError."""
    said = on_nodes()
    meant = dict(Assignment.objects.filter(**OPEN_ENDED).values_list("gpu__uuid", "project__slug"))
    proven = dict(Holding.objects.filter(**OPEN_ENDED).values_list("gpu__uuid", "project__slug"))
    wrong = {uuid: (holder, meant.get(uuid, "")) for uuid, holder in said.items() if holder != meant.get(uuid, "")}
    assert not wrong, f"{len(wrong)} GPUs are otherwise than assigned, such as {next(iter(wrong.items()))}"
    assert meant == proven, f"{len(meant.items() ^ proven.items()) // 2 or 1} assignments are not proven holdings"
    assert set(said) == set(Gpu.objects.filter(retired_at=None).values_list("uuid", flat=True)), "other GPUs than known"


def done_moves_are_proven(plan: Plan) -> None:
    """Each done move of the plan has a reading that was asked for after its switch. Raises AssertionError."""
    for move in plan.moves.filter(state=Move.State.DONE).select_related("project", "gpu"):
        reading = Reading.objects.get(gpu=move.gpu)
        assert move.switched_at is not None and move.done_at is not None
        assert reading.requested_at > move.switched_at, f"{move.gpu}: read before its switch"
        assert reading.generation >= move.generation, f"{move.gpu}: the device is at an older generation"


def outcome(plan: Plan) -> Counter[str]:
    """State -> number of moves of the plan."""
    return Counter(plan.moves.values_list("state", flat=True))
