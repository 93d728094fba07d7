"""The pages of the job as single acts of a person: pitch, sign, split, wind down, plan, commit, undo."""

from datetime import date, timedelta

from django.utils import timezone

from allocations.models import Division, Grant, Pitch, Plan, Project, Split
from inventory.models import GpuModel
from tests.drill.lab import PASSWORD
from tests.drill.visitor import Page, Visitor

DAYS = 30


class People:
    """Sessions by login, each opened at its first use and kept over restarts of the portal."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._open: dict[str, Visitor] = {}

    def __getitem__(self, login: str) -> Visitor:
        if login not in self._open:
            visitor = Visitor(self._base, login)
            page = visitor.log_in(PASSWORD)
            assert page.status == 200 and "/login" not in page.url, f"{login} cannot log in: {page.status}"
            self._open[login] = visitor
        return self._open[login]


def today() -> date:
    return timezone.now().date()


def expect(page: Page, status: int = 200) -> Page:
    """The page, if it has that status. Raises AssertionError with what it says."""
    assert page.status == status, f"{page.url}: {page.status} instead of {status}: {page.text[:600]}"
    return page


def pitch(
    by: Visitor, project: str, title: str, model: str, gpus: int, *, whole_nodes: bool = False, one_island: bool = False
) -> Pitch:
    """A pitch was typed and submitted."""
    shape = {"whole_nodes": whole_nodes, "one_island": one_island}
    values = {
        "project": Project.objects.get(slug=project).pk,
        "model": GpuModel.objects.get(name=model).pk,
        "title": title,
        "why": "The drill needs them.",
        "ideal_gpus": gpus,
        "min_gpus": max(1, gpus // 2),
        "start_on": today(),
        "days": DAYS,
        "do": "submit",
        **{name: "on" for name, wanted in shape.items() if wanted},
    }
    expect(by.send("/pitches/new/", "/pitches/new/", values))
    row = Pitch.objects.get(title=title)
    assert row.state == Pitch.State.SUBMITTED, f"{title} is {row.state}"
    return row


def sign(by: Visitor, row: Pitch) -> Page:
    """The answer `approve` was pressed in the queue."""
    page = f"/queue/{row.public_id}/"
    return expect(by.send(page, f"/pitches/{row.public_id}/sign/", {}, where={"answer": "approve"}))


def force_sign(by: Visitor, row: Pitch, role: str) -> Page:
    """An approval was sent without a form that asks for it."""
    values = {"answer": "approve", "round": row.round, "role": role}
    return by.force(f"/pitches/{row.public_id}/sign/", values)


def propose_split(by: Visitor, research: int, applied: int, why: str, starts_on: date | None = None) -> Split:
    """A split was proposed from `starts_on` (today) on."""
    values = {"starts_on": starts_on or today(), "reason": why, "do": "propose"}
    percents = {"research": research, "applied": applied}
    values |= {f"p-all-{division.slug}": percents[division.slug] for division in Division.objects.all()}
    expect(by.send("/split/", "/split/propose/", values))
    return Split.objects.latest("pk")


def sign_split(by: Visitor, row: Split) -> Page:
    """The person's field under the split was signed."""
    return expect(by.send("/split/", f"/split/{row.public_id}/sign/", {}))


def wind_down(by: Visitor, slug: str, why: str) -> Page:
    """The project winds down until the day after tomorrow."""
    values = {"wind-releases_on": today() + timedelta(days=2), "wind-reason": why}
    return expect(by.send(f"/projects/{slug}/", f"/projects/{slug}/wind-down/", values))


def end_grant(by: Visitor, grant: Grant, why: str) -> Page:
    """The promise ends now."""
    page = f"/grants/{grant.public_id}/"
    return expect(by.send(page, f"{page}end/", {"reason": why}))


def propose_plan(by: Visitor, grant: Grant) -> Plan:
    """A plan for the need stands on the desk."""
    expect(by.send("/reshuffle/", f"/reshuffle/needs/{grant.public_id}/propose/", {}))
    return Plan.objects.filter(grant=grant).latest("pk")


def propose_undo(by: Visitor, plan: Plan) -> Plan:
    """A plan that gives back what `plan` moved stands on the desk."""
    page = f"/plans/{plan.public_id}/"
    expect(by.send(page, f"{page}undo/", {}))
    return Plan.objects.get(inverse_of=plan)


def try_commit(by: Visitor, plan: Plan) -> Page:
    """What came of a commit on the generation that the page shows."""
    page = f"/plans/{plan.public_id}/"
    return by.send(page, f"{page}commit/", {})


def force_commit(by: Visitor, plan: Plan) -> Page:
    """What came of a commit that the page no longer offers."""
    return by.force(f"/plans/{plan.public_id}/commit/", {"generation": plan.base_generation})


def commit(by: Visitor, plan: Plan) -> Plan:
    """The plan was committed."""
    expect(try_commit(by, plan))
    plan.refresh_from_db()
    assert plan.generation is not None, "the plan was not committed"
    return plan
