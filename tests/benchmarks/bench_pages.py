"""What each page of a large lab costs: `python -m tests.benchmarks.bench_pages [NAME ...]`, or `make bench-pages`.

Embedded services of its own, the lab of `pages_data` and `pages_history`, and Django's test client in this process: the
whole stack of middleware with a person logged in. A line a page, the median of nine answers: queries, CPU of this
process (the database's is its own), bytes of the answer. The live part of the form is asked over real HTTP besides,
with the time of its answer, that of a new process too. Ends with 1 and names the pages that miss their target.
"""

# ruff: noqa: E402 - the services must run before settings are read
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

import tests.services_plugin  # noqa: F401 - starts the services before settings are read

os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
os.environ["ALLOT_POLL_INTERVAL_S"] = "3600"  # the readings stay fresh for as long as this takes
os.environ["ALLOT_LOG_LEVEL"] = "WARNING"

import django

django.setup()

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import portal.asgi  # noqa: F401 - this process works as the web part does
from allocations.models import Grant, Person, Pitch, Role, SignOff
from tests.benchmarks import pages_data, pages_history, pages_http
from tests.benchmarks.pages_data import Lab

RUNS = 9
ASKS = RUNS + 2  # one to warm up, one to count the queries
REDIRECT = 302
WAITING_PLACE = 980  # in the queue's first fifty: the longest wait comes first
MARKED = 40  # pitches of the desk
HTMX = {"HX-Request": "true"}


@dataclass(frozen=True)
class Target:
    """The most that a page may take; None has no limit."""

    queries: int | None = None
    cpu_ms: float | None = None
    kilobytes: float | None = None

    def missed(self, queries: int, cpu_ms: float, size: int) -> list[str]:
        """What is above the limit, in words."""
        seen = (("queries", queries, self.queries), ("cpu_ms", cpu_ms, self.cpu_ms), ("kB", size / 1e3, self.kilobytes))
        return [f"{name} {value:.0f} > {most}" for name, value, most in seen if most is not None and value > most]


QUEUE = Target(12, 60, 150)
PLAIN = Target(15, 40)
APPROVAL = Target(30, 30)
DESK = Target(20, 150)
LIVE = Target(cpu_ms=100)
LIVE_MS = 100  # of the part over HTTP, the first answer of a process included
LIVE_NAME = "pitch_outlook_http"
MEASURED = Target()


@dataclass(frozen=True)
class Page:
    """An answer to measure; `ask` is called once an answer, so that each one may be about a row of its own."""

    name: str
    person: Person
    ask: Callable[[Client], HttpResponse]
    target: Target
    status: int = 200


def pages(lab: Lab) -> Iterator[Page]:
    """Every page, asked by somebody who uses it."""
    chief, ops, auditor, ceo = (lab.roles[slug] for slug in ("chief-scientist", "ops", "auditor", "ceo"))
    yield Page("home_staff", lab.lead, _get("home"), PLAIN)
    for slug, person in lab.roles.items():
        yield Page(f"home_{slug}", person, _get("home"), PLAIN)
    yield Page("queue", chief, _get("queue"), QUEUE)
    yield Page("queue_part", chief, _get("queue", headers=HTMX), QUEUE)
    yield Page("queue_item", chief, _get("queue_item", lab.waiting[WAITING_PLACE].public_id), QUEUE)
    decided = Pitch.objects.filter(state=Pitch.State.GRANTED).order_by("-pk")[200]
    running = Grant.objects.filter(pitch__state=Pitch.State.GRANTED, ends_at__gt=pages_data.NOW).order_by("pk")[50]
    for name, person in (("staff", lab.lead), ("signer", chief), ("auditor", auditor)):
        yield Page(f"pitches_{name}", person, _get("pitches"), PLAIN)
    yield Page("pitch_waiting", chief, _get("pitch", lab.waiting[WAITING_PLACE].public_id), PLAIN)
    yield Page("pitch_granted", auditor, _get("pitch", decided.public_id), PLAIN)
    yield Page("pitch_form", lab.lead, _get("pitch_new"), PLAIN)
    yield Page("pitch_outlook", lab.lead, _get("pitch_outlook", query=_ask(lab), headers=HTMX), LIVE)
    yield Page("pitch_outlook_ops", ops, _get("pitch_outlook", query=_ask(lab), headers=HTMX), LIVE)
    yield Page("desk", chief, _get("desk"), DESK)
    yield Page("desk_try", chief, _marked(lab, "try"), DESK)
    yield Page("split", ceo, _get("split"), MEASURED)
    yield Page("grants", auditor, _get("grants"), PLAIN)
    yield Page("grants_staff", lab.lead, _get("grants"), PLAIN)
    yield Page("grant", auditor, _get("grant", running.public_id), PLAIN)
    yield Page("projects", auditor, _get("projects"), PLAIN)
    yield Page("projects_staff", lab.lead, _get("projects"), PLAIN)
    yield Page("project", lab.lead, _get("project", lab.projects[0].slug), PLAIN)
    yield Page("project_auditor", auditor, _get("project", running.project.slug), PLAIN)
    yield Page("reshuffle", ops, _get("reshuffle"), MEASURED)
    yield Page("fleet", ops, _get("fleet"), PLAIN)
    yield Page("fleet_tiles", ops, _get("fleet_tiles"), MEASURED)
    yield Page("fleet_table", ops, _get("fleet", query={"as": "table"}), PLAIN)
    yield Page("node", ops, _get("node", "n0001"), PLAIN)
    yield Page("trail", auditor, _get("trail"), PLAIN)
    for noun in ("pitch", "grant", "project", "node", "gpu", "event", "move", "need"):
        yield Page(f"api_{noun}", auditor, _get(f"api-{noun}-list"), MEASURED)
    fresh, half_signed = lab.waiting[100 : 100 + ASKS], _half_signed(lab, lab.waiting[200 : 200 + ASKS])
    yield Page("sign_first", chief, _sign(fresh, "chief-scientist"), APPROVAL, REDIRECT)
    yield Page("sign_last", lab.roles["research-head"], _sign(half_signed, "research-head"), APPROVAL, REDIRECT)


def _get(name: str, *args: object, query: dict[str, object] | None = None, headers: dict[str, str] | None = None):
    address = reverse(name, args=args)
    return lambda client: client.get(address, query or {}, headers=headers or {})


def _marked(lab: Lab, do: str):
    """The desk's form as a browser sends it, with some pitches marked."""
    research = [pitch for pitch in lab.waiting if pitch.project.division.slug == "research"]
    model = next(iter(lab.gpus))
    rows = [pitch for pitch in research if pitch.model_id == model.pk][::-1][:200]
    said: dict[str, object] = {"division": "research", "model": model.name, "do": do}
    said["take"] = [f"{pitch.public_id}:1:chief-scientist" for pitch in rows[:MARKED]]
    for rank, pitch in enumerate(rows, start=1):
        said |= {f"rank-{pitch.public_id}": rank, f"gpus-{pitch.public_id}": pitch.offered_gpus}
    return lambda client: client.post(reverse("desk_try"), said, headers=HTMX)


def _ask(lab: Lab) -> dict[str, object]:
    """What somebody has typed into the form."""
    model = next(iter(lab.gpus))
    return {
        "project": lab.projects[0].pk, "model": model.pk, "ideal_gpus": 64, "min_gpus": 16,
        "start_on": str((pages_data.NOW + pages_data.DAY).date()), "days": 21,
    }  # fmt: skip


def _sign(rows: list[Pitch], role: str):
    """An approval of the next of the rows, with the redirect to the queue as its answer."""
    waiting = iter(rows)
    said = {"answer": "approve", "round": 1, "role": role, "reason": ""}
    return lambda client: client.post(reverse("pitch_sign", args=[next(waiting).public_id]), said)


def _half_signed(lab: Lab, rows: list[Pitch]) -> list[Pitch]:
    """The rows, signed by the other role: the next signature makes the promise."""
    role = Role.objects.get(slug="chief-scientist")
    SignOff.objects.bulk_create(
        SignOff(
            pitch=row, round=1, role=role, person=lab.roles[role.slug], verdict=SignOff.Verdict.APPROVE,
            gpus=row.offered_gpus, at=pages_data.NOW,
        )
        for row in rows
    )  # fmt: skip
    return rows


def measure(page: Page) -> tuple[int, float, int]:
    """Queries, milliseconds of CPU and bytes of one answer; the median of nine after one that warms up."""
    client = Client(SERVER_NAME="localhost")
    client.force_login(page.person)
    page.ask(client)
    with CaptureQueriesContext(connection) as asked:
        page.ask(client)
    queries = len(asked)  # now: the next request empties the log
    took = []
    for _run in range(RUNS):
        gc.collect()
        began = time.process_time()
        answer = page.ask(client)
        took.append((time.process_time() - began) * 1e3)
        assert answer.status_code == page.status, (page.name, answer.status_code)
    return queries, statistics.median(took), len(answer.content)


def measure_live(lab: Lab) -> list[str]:
    """The live part of the form, asked of a web process; what is above the limit, in words."""
    address = f"{reverse('pitch_outlook')}?{urlencode(_ask(lab))}"
    took = pages_http.time_part(address, lab.lead)
    sys.stdout.write(
        f"page: name={LIVE_NAME} cold_ms={took.cold_ms:.1f} warm_ms={took.warm_ms:.1f} bytes={took.size}\n"
    )
    seen = {"cold_ms": took.cold_ms, "warm_ms": took.warm_ms}
    return [f"{LIVE_NAME}: {name} {value:.0f} > {LIVE_MS}" for name, value in seen.items() if value > LIVE_MS]


def main() -> None:
    wanted = set(sys.argv[1:])
    call_command("migrate", verbosity=0)
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    began = time.monotonic()
    lab = pages_data.fill()
    pages_history.fill(lab)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    sys.stderr.write(f"lab: seconds={time.monotonic() - began:.0f}\n")
    missed = []
    for page in pages(lab):
        if wanted and page.name not in wanted:
            continue
        queries, cpu_ms, size = measure(page)
        sys.stdout.write(f"page: name={page.name} queries={queries} cpu_ms={cpu_ms:.1f} bytes={size}\n")
        missed += [f"{page.name}: {what}" for what in page.target.missed(queries, cpu_ms, size)]
    if not wanted or LIVE_NAME in wanted:
        missed += measure_live(lab)
    sys.stderr.writelines(f"above target: {line}\n" for line in missed)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
