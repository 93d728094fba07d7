"""What a plan would do or did, as its page and the reshuffle page tell it: GPUs by place, people, why, outcome."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from allocations import queries, rules
from allocations.models import Person, Plan, PlanStep, Project
from allocations.queries import lanes
from portal import why

REASONS_OF_OTHERS = 8  # commits since then that a page names


@dataclass(frozen=True)
class Way:
    """So many GPUs of a model that go from one holder to another ("" nobody) for one reason."""

    source: str
    from_holder: str
    to: Project | None
    model: str
    gpus: int
    running_gpus: int


@dataclass(frozen=True)
class Place:
    """How many GPUs of which nodes of one island."""

    island: str
    gpus: int
    nodes: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Disturbed:
    """A project that loses GPUs, and who answers for it. `running_gpus` have processes, or nobody knows."""

    project: Project
    gpus: int
    running_gpus: int


class PlanStory:
    """One plan for one viewer; each part is read when a template asks for it."""

    def __init__(self, plan: Plan, viewer: Person) -> None:
        self.plan = plan
        self.may_commit = rules.can(viewer, "commit_plan", plan)
        self.may_propose = rules.can(viewer, "propose_plan", plan)

    @cached_property
    def generation(self) -> int:
        """The target's generation that the viewer sees; a commit sends it back."""
        return queries.target().generation

    @cached_property
    def is_overtaken(self) -> bool:
        """A later commit has moved one of its GPUs or met its need: it can only be proposed again."""
        return self.plan.generation is None and not lanes.proposals().filter(pk=self.plan.pk).exists()

    @cached_property
    def moves(self) -> list[PlanStep]:
        """The GPUs that move."""
        related = ("gpu__node", "gpu__model", "gpu__reading", "project", "from_assignment__project__lead")
        return list(self.plan.steps.filter(kind=PlanStep.Kind.MOVE).select_related(*related))

    @cached_property
    def kept(self) -> int:
        """How many open moves go on as they are."""
        return self.plan.steps.filter(kind=PlanStep.Kind.KEEP).count()

    @cached_property
    def ways(self) -> list[Way]:
        """The moves, those of one kind together, the most first."""
        found: Counter[tuple[str, str, Project | None, str]] = Counter()
        running: Counter[tuple[str, str, Project | None, str]] = Counter()
        for step in self.moves:
            key = (step.source, step.from_holder, step.project, step.gpu.model.name)
            found[key] += 1
            running[key] += _may_run(step)
        return [Way(*key, gpus, running[key]) for key, gpus in found.most_common()]

    @cached_property
    def places(self) -> list[Place]:
        """Where the GPUs are: by island, then by node."""
        islands: dict[str, Counter[str]] = defaultdict(Counter)
        for step in self.moves:
            islands[step.gpu.node.island][step.gpu.node.name] += 1
        return [Place(island, sum(nodes.values()), sorted(nodes.items())) for island, nodes in sorted(islands.items())]

    @cached_property
    def disturbed(self) -> list[Disturbed]:
        """Projects that lose GPUs by it, the most first."""
        lost: Counter[Project] = Counter()
        running: Counter[Project] = Counter()
        for step in self.moves:
            giver = step.from_assignment.project if step.from_assignment else None
            if giver is not None and giver != step.project:
                lost[giver] += 1
                running[giver] += _may_run(step)
        return [Disturbed(project, gpus, running[project]) for project, gpus in lost.most_common()]

    @cached_property
    def receivers(self) -> list[tuple[Project | None, int]]:
        """Who gets how many; None is nobody."""
        return Counter(step.project for step in self.moves).most_common()

    @cached_property
    def reasons(self) -> list[str]:
        """Why these GPUs."""
        return why.reasons(self.plan.why)

    @cached_property
    def left_out(self) -> list[tuple[int, str]]:
        """What was not taken, and why."""
        return why.left_out(self.plan.why)

    @cached_property
    def shortfall(self) -> list[str]:
        """What is missing still, and what would help."""
        return why.shortfall(self.plan.why)

    @cached_property
    def groups(self) -> list[lanes.Group]:
        """How far its moves are."""
        return lanes.lanes(plan=self.plan)

    @cached_property
    def outcome(self) -> Counter[str]:
        """State -> moves."""
        counts: Counter[str] = Counter()
        for group in self.groups:
            counts[group.state] += group.gpus
        return counts

    @cached_property
    def inverses(self) -> list[Plan]:
        """Plans that undo it, or would."""
        return list(self.plan.inverses.order_by("-pk"))

    @cached_property
    def committed_since(self) -> list[Plan]:
        """What was committed after the target that the plan was made on, newest first."""
        newer = Plan.objects.filter(generation__gt=self.plan.base_generation).exclude(pk=self.plan.pk)
        return list(newer.select_related("committed_by", "grant__project").order_by("-generation")[:REASONS_OF_OTHERS])


def _may_run(step: PlanStep) -> bool:
    """Whether something runs on the GPU, or nobody knows."""
    reading = getattr(step.gpu, "reading", None)
    return reading is None or reading.running is None or reading.running > 0
