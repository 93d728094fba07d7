"""Who is told that a plan was committed: whoever gives GPUs, and whoever gets them."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import notify
from allocations.models import Person, Plan, PlanStep, Project
from inventory.models import Event


def tell(event: Event, plan: Plan, moves: Sequence[PlanStep]) -> None:
    """One message to each person concerned, with a line for each project that gives or gets GPUs."""
    lines: dict[Person, dict[Project, list[str]]] = defaultdict(lambda: defaultdict(list))
    for project, gpus in _givers(moves).items():
        lines[project.lead][project].append(_given(project, gpus))
    for project, gpus in _receivers(moves).items():
        for person in {project.lead, *_requester(plan, project)}:
            lines[person][project].append(_got(project, gpus))
    notify.tell_each(event, {person: _text(said) for person, said in lines.items()}, _("GPUs are on the move"))


def _text(said: dict[Project, list[str]]) -> notify.Text:
    """The lines of all projects, with the page of the first: plans are for those who read the trail."""
    body = "\n".join(line for lines in said.values() for line in lines)
    return notify.Text(body, notify.page("projects", next(iter(said)).slug))


def _givers(moves: Sequence[PlanStep]) -> Counter[Project]:
    """Project -> GPUs that leave it; those that only change from one of its grants to another do not."""
    before = ((step.from_assignment.project, step.project) for step in moves if step.from_assignment)
    return Counter(giver for giver, receiver in before if giver != receiver)


def _receivers(moves: Sequence[PlanStep]) -> Counter[Project]:
    """Project -> GPUs that come to it."""
    after = ((step.from_assignment and step.from_assignment.project, step.project) for step in moves)
    return Counter(receiver for giver, receiver in after if receiver and receiver != giver)


def _requester(plan: Plan, project: Project) -> list[Person]:
    grant = plan.grant
    return [grant.pitch.pitcher] if grant and grant.pitch and grant.project == project else []


def _given(project: Project, gpus: int) -> str:
    text = ngettext(
        "%(gpus)d GPU leaves %(project)s. What runs on it may end first.",
        "%(gpus)d GPUs leave %(project)s. What runs on them may end first.",
        gpus,
    )
    return text % {"gpus": gpus, "project": project}


def _got(project: Project, gpus: int) -> str:
    text = ngettext(
        "%(gpus)d GPU is on its way to %(project)s.", "%(gpus)d GPUs are on their way to %(project)s.", gpus
    )
    return text % {"gpus": gpus, "project": project}
