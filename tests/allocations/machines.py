"""A small fleet of fake nodes behind rows: orders go to it as to agents, and what it shows becomes readings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from allocations import executor, plans
from allocations.models import Assignment, Grant, Holding, Move, Person, Plan, Project, Target
from inventory.drivers.base import Applied, NodeAddress, Order
from inventory.models import Gpu, Reading
from inventory.simulator.devices import Device
from tests import factories
from tests.fakes import FakeDriver

HOUR = timedelta(hours=1)


class Crash(BaseException):
    """The worker dies here. No Exception, so that nothing on the way can take it for a node's fault."""


def crashed(error: BaseException) -> bool:
    """Whether the crash is what came out, however many task groups it went through."""
    if isinstance(error, BaseExceptionGroup):
        return all(crashed(inner) for inner in error.exceptions)
    return isinstance(error, Crash)


@dataclass
class Machines(FakeDriver):
    """`calls` counts what the nodes were told; after call number `crash_after` has had its effect the worker dies."""

    calls: list[tuple[str, Order]] = field(default_factory=list)
    crash_after: int | None = None

    async def ensure_unit(self, node: NodeAddress, uuid: str, order: Order) -> Applied:
        try:
            return await super().ensure_unit(node, uuid, order)
        finally:
            self.calls.append((uuid, order))
            if len(self.calls) == self.crash_after:
                raise Crash

    def rack(self, name: str = "", gpus: int = 4, **fields) -> list[Gpu]:
        """A node with free, fresh GPUs in it, in slot order."""
        row = factories.node(name, gpus=gpus, cards=0, address="https://n.test", token="token", **fields)
        self.add(row.name, gpus)
        cards = [
            factories.gpu(row, slot=device.slot, uuid=device.uuid, pci_bus_id=device.pci_bus_id)
            for device in self.nodes[row.name].devices
        ]
        self.see(cards)
        return cards

    def device(self, gpu: Gpu) -> Device:
        return next(device for node in self.nodes.values() for device in node.devices if device.uuid == gpu.uuid)

    def give(self, gpus: Sequence[Gpu], project: Project, grant: Grant | None = None) -> None:
        """The project is assigned them, holds them, and its processes run on them."""
        Target.objects.get_or_create(pk=1, defaults={"generation": 1})
        for gpu in gpus:
            factories.assignment(gpu, project, grant=grant)
            factories.holding(gpu, project, grant=grant)
            self.device(gpu).seed(project.slug, 1, self.clock())
        self.see(gpus)

    def see(self, gpus: Sequence[Gpu] | None = None, *, at: datetime | None = None) -> None:
        """Readings of these GPUs (all), asked for at that instant (now). Killed nodes show nothing."""
        for gpu in Gpu.objects.select_related("node").all() if gpus is None else gpus:
            if self.nodes[gpu.node.name].killed:
                continue
            device = self.device(gpu)
            seen = device.seen(now=self.clock(), habit="life")
            factories.reading(
                gpu,
                seen.holder,
                requested_at=at or timezone.now(),
                generation=seen.generation,
                draining=seen.draining,
                running=None if seen.processes is None else len(seen.processes),
                access_revision=device.order.access_revision,
            )

    def finish_drains(self) -> None:
        """Every process of an old holder has ended."""
        self.clock.advance(self.drain_s * 2)

    def settle(self, passes: int = 6) -> None:
        """Passes, the end of drains and surveys come and go, often enough for any move to be done."""
        for _ in range(passes):
            Move.objects.filter(state__in=Move.OPEN).update(tried_at=None)  # the back-off is over
            executor.run_pass()
            self.finish_drains()
            self.see()
        executor.run_pass()

    def holders(self, gpus: Sequence[Gpu]) -> list[str]:
        """Who has each of them, as the nodes see it."""
        return [self.device(gpu).holder for gpu in gpus]


def committed(grant: Grant, by: Person) -> Plan:
    """A plan for the grant's need, proposed and committed."""
    return commit(plans.propose_plan(grant=grant, by=by), by)


def commit(plan: Plan, by: Person) -> Plan:
    """The plan, committed by somebody who saw the target as it is."""
    target = Target.objects.filter(pk=1).first()
    return plans.commit_plan(plan=plan, by=by, generation=target.generation if target else 0)


def assigned(gpus: Sequence[Gpu]) -> list[str]:
    """Who is meant to have each of them."""
    rows = Assignment.objects.filter(gpu__in=gpus, during__endswith=None)
    intended = dict(rows.values_list("gpu_id", "project__slug"))
    return [intended.get(gpu.pk, "") for gpu in gpus]


def states(plan: Plan) -> list[str]:
    """The states of the plan's moves, in the order of its GPUs."""
    return list(plan.moves.order_by("gpu_id").values_list("state", flat=True))


def readings_age(gpus: Sequence[Gpu], at: datetime) -> None:
    """The newest readings of these GPUs were asked for at that instant."""
    Reading.objects.filter(gpu__in=gpus).update(requested_at=at)


def ended_grant(project: Project, **fields) -> Grant:
    """A grant that ended an hour ago."""
    now = timezone.now()
    return factories.grant(project, starts_at=now - 48 * HOUR, ends_at=now - HOUR, **fields)


def end(grant: Grant) -> None:
    """The grant ends now."""
    Grant.objects.filter(pk=grant.pk).update(ends_at=timezone.now())


def winding_down(lead: Person | None = None, **fields) -> Project:
    """A project that winds down and promised its GPUs for an hour ago."""
    values = {"state": Project.State.WINDING_DOWN, "releases_at": timezone.now() - HOUR, "wind_down_reason": "done"}
    return factories.project(lead=lead, **{**values, **fields})


def holdings(gpus: Sequence[Gpu]) -> list[tuple[str, bool]]:
    """(project, still held) of every holding of these GPUs, in the order in which they began."""
    rows = Holding.objects.filter(gpu__in=gpus).order_by("gpu", "during").select_related("project")
    return [(row.project.slug, row.during.upper is None) for row in rows]
