"""The demo's history, told through the real services in the order in which it happened."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from django.utils import timezone

from allocations import asks, pitches, projects, splits
from allocations.models import Division, Holiday, Person, Pitch, Policy, PolicyRole, Project, Question, Role, Split
from inventory import trail
from inventory.models import GpuModel
from portal.demo import lending
from portal.demo.clock import clock_at
from portal.demo.people import EVERYONE
from portal.demo.pitches import PITCHES, Answer, DemoPitch
from portal.demo.projects import PROJECTS, DemoProject

FOUNDED_DAYS_AGO = 120
DRAFTED_DAYS_AGO = 1.5
FAST_LANE_DAYS_AGO = 0.01


class Scene(NamedTuple):
    days_ago: float
    act: Callable[[], object]


def tell(now: datetime, *, more: Sequence[Scene] = ()) -> None:
    """Everything that happened in the demo lab up to `now`, and `more`, oldest first, each at its own time."""
    for scene in sorted([*_scenes(now), *more], key=lambda scene: -scene.days_ago):
        with clock_at(now - timedelta(days=scene.days_ago)):
            scene.act()


def _scenes(now: datetime) -> Iterator[Scene]:
    yield Scene(FOUNDED_DAYS_AGO, _give_roles)
    for project in PROJECTS:
        yield Scene(FOUNDED_DAYS_AGO - 1, partial(_create_project, project))
        if project.protected:
            yield Scene(FOUNDED_DAYS_AGO - 2, partial(_protect, project))
        if project.ends == "winding_down":
            yield Scene(4, partial(_wind_down, project))
        if project.ends == "ended":
            yield Scene(3, partial(_end, project))
    yield from _split_scenes()
    for pitch in PITCHES:
        yield from _pitch_scenes(pitch, now)
    for act in (lending.propose_exception, lending.ask_extension, lending.ask_smaller):
        yield Scene(1.5, act)
    for act in (lending.lend_by_night, lending.propose_loan, lending.say_result):
        yield Scene(0.3, act)
    # After all of them, which were signed in the usual way.
    yield Scene(FAST_LANE_DAYS_AGO, _open_fast_lane)
    yield Scene(FAST_LANE_DAYS_AGO, _ask_more)


def _split_scenes() -> Iterator[Scene]:
    yield Scene(
        110,
        partial(_split, {"research": 55, "applied": 40}, 110, "First split of the year.", ("ceo", "ceo-applications")),
    )
    yield Scene(
        22,
        partial(
            _split, {"research": 60, "applied": 35}, 20, "Pretraining needs the winter.", ("ceo", "ceo-applications")
        ),
    )
    yield Scene(
        1,
        partial(
            _split, {"research": 55, "applied": 40}, -14, "Voice mode ships; Applied gets its share back.", ("ceo",)
        ),
    )


def _pitch_scenes(pitch: DemoPitch, now: datetime) -> Iterator[Scene]:
    if pitch.submitted is None:
        yield Scene(DRAFTED_DAYS_AGO, partial(_draft, pitch, now))
        return
    yield Scene(pitch.submitted + 0.4, partial(_draft, pitch, now))
    yield Scene(pitch.submitted, partial(_submit, pitch))
    for answer in pitch.answers:
        yield Scene(answer.days_ago, partial(_answer, pitch, answer))
    if pitch.withdrawn is not None:
        yield Scene(pitch.withdrawn, partial(_withdraw, pitch))


def _person(login: str) -> Person:
    return Person.objects.get(username=login)


def _row(pitch: DemoPitch) -> Pitch:
    return Pitch.objects.get(title=pitch.title)


def _give_roles() -> None:
    admin = _person("admin")
    for person in EVERYONE:
        for slug in set(person.roles) - {"admin"}:
            projects.give_role(role=Role.objects.get(slug=slug), person=_person(person.login), by=admin)


def _create_project(project: DemoProject) -> None:
    admin = _person("admin")
    row = projects.create_project(
        slug=project.slug,
        name=project.name,
        division=Division.objects.get(slug=project.division),
        lead=_person(project.lead),
        by=admin,
    )
    for login in project.members:
        projects.add_member(project=row, person=_person(login), by=admin)


def _protect(project: DemoProject) -> None:
    decider = "ceo-applications" if project.division == "applied" else "research-head"
    projects.set_terms(
        project=Project.objects.get(slug=project.slug),
        by=_person(decider),
        guarantee_gpus=16,
        protected=True,
        quota_gpus=None,
        priority=5,
        starts_at=timezone.now(),
        reason="Others build on it every day.",
    )


def _wind_down(project: DemoProject) -> None:
    projects.wind_down(
        project=Project.objects.get(slug=project.slug),
        by=_person(project.lead),
        reason=project.reason,
        releases_at=timezone.now() + timedelta(days=6),
    )


def _end(project: DemoProject) -> None:
    projects.end_project(
        project=Project.objects.get(slug=project.slug), by=_person(project.lead), reason=project.reason
    )


def _split(percents: dict[str, int], starts_days_ago: float, reason: str, signers: tuple[str, ...]) -> Split:
    by = _person("ceo")
    starts_at = timezone.now() + timedelta(days=_days_until(starts_days_ago))
    lines = {"": {division: Decimal(percent) for division, percent in percents.items()}}
    weights = {"A100": Decimal("0.4"), "H200": Decimal("1.2")}  # in H100, by what a training run gains
    split = splits.propose_split(by=by, starts_at=starts_at, percents=lines, weights=weights, reason=reason)
    for login in signers:
        splits.sign_split(split=split, by=_person(login))
    return split


def _days_until(starts_days_ago: float) -> float:
    # The first two splits were signed shortly before they began; the third is proposed for later.
    return 2 if starts_days_ago > 0 else -starts_days_ago


def _ask_more() -> None:
    """Research asks one question more, and nothing falls due on New Year's Day."""
    admin, research = _person("admin"), Division.objects.get(slug="research")
    question = Question.objects.create(
        division=research, text="Which data does it use?", kind=Question.Kind.CHOICE,
        choices=["Public", "Licensed", "Our own", "None"], help="For the data office; it decides nothing.",
    )  # fmt: skip
    new_year = date(timezone.now().year + 1, 1, 1)
    holiday = Holiday.objects.create(on=new_year, name="New Year")
    for noun, row in (("question", question), ("holiday", holiday)):
        trail.record(f"{noun}.added", row, by=admin)


def _open_fast_lane() -> None:
    """Up to a node for a week needs one signature in Research, as long as the project stays small this month."""
    lane = Policy.objects.create(
        subject=Policy.Subject.PITCH, division=Division.objects.get(slug="research"), max_gpus=8, max_gpu_hours=1_344,
        is_fast_lane=True, cap_gpu_hours=4_000, due_working_days=1, during=(timezone.now(), None),
        escalates_to=Role.objects.get(slug="chief-scientist"),
    )  # fmt: skip
    PolicyRole.objects.create(policy=lane, role=Role.objects.get(slug="research-head"))
    trail.record("policy.added", lane, by=_person("admin"))


def _draft(pitch: DemoPitch, now: datetime) -> Pitch:
    first_day = (now + timedelta(days=pitch.begins)).date()
    return pitches.save_draft(
        pitch=None,
        by=_person(pitch.pitcher),
        project=Project.objects.get(slug=pitch.project),
        title=pitch.title,
        why=pitch.why,
        expected_result=pitch.result,
        check_on=first_day + timedelta(days=pitch.days),
        if_declined=pitch.if_declined,
        model=GpuModel.objects.get(name=pitch.model),
        ideal_gpus=pitch.ideal,
        min_gpus=pitch.minimum,
        whole_nodes=pitch.whole_nodes,
        one_island=pitch.one_island,
        start_on=first_day,
        days=pitch.days,
        start_until=None if pitch.start_within_days is None else first_day + timedelta(days=pitch.start_within_days),
        required_labels={"site": pitch.site} if pitch.site else None,
        details=asks.Details(
            tuple(asks.Alternative(GpuModel.objects.get(name=name), gpus) for name, gpus in pitch.others),
            (asks.Link("What we know so far", pitch.link),) if pitch.link else (),
        ),
    )


def _submit(pitch: DemoPitch) -> None:
    row = _row(pitch)
    pitches.submit_pitch(pitch=row, by=row.pitcher)


def _answer(pitch: DemoPitch, answer: Answer) -> None:
    row = _row(pitch)
    pitches.sign_off(
        pitch=row,
        by=_person(answer.login),
        role=Role.objects.get(slug=answer.login),
        verdict=answer.verdict,
        round=row.round,
        gpus=answer.gpus,
        reason=answer.reason,
    )


def _withdraw(pitch: DemoPitch) -> None:
    row = _row(pitch)
    pitches.withdraw_pitch(pitch=row, by=row.pitcher, reason="Not needed now.")
