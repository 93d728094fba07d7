"""Every address of the portal asks who comes: without a login nothing opens, and a stranger changes nothing.

Addresses are read from the portal itself, so that a new one is tried without being named here.
"""

import re
from collections.abc import Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from allocations import exceptions, loans, plans
from allocations.models import Deputy, Move, Notice, Scenario, Split
from inventory.models import Event
from tests import factories
from tests.allocations.changes.acts import ask

pytestmark = pytest.mark.django_db

KINDS = {True: {"content_type": "application/json"}, False: {}}
REFUSED = {401, 403, 404, 405}
# For whoever comes: does it live, the way in, the way out, where a node's agent joins by a one-time code, and two that
# only name another address.
OPEN = {"/healthz", "/login/", "/logout/", "/api/", "/api/auth/login/", "/api/enrol/", "/admin/password_change/"}
# The fleet and how it is shared are for everybody with a login.
EVERYBODYS = {"/nodes/", "/api/nodes/", "/api/gpus/", "/api/models/", "/api/splits/", "/api/exceptions/"}


def addresses(resolver: URLResolver | None = None, before: str = "/") -> Iterator[str]:
    """Every pattern of the portal as one string; the admin site has a door of its own."""
    for entry in (resolver or get_resolver()).url_patterns:
        route = before + str(entry.pattern).removeprefix("^").removesuffix("$")
        if isinstance(entry, URLPattern):
            yield route
        elif not route.startswith("/admin/"):
            yield from addresses(entry, route)


@pytest.fixture
def rows(lab, db) -> dict[str, object]:
    """The name of a noun in addresses -> what stands there for a row that is not the stranger's."""
    now = timezone.now()
    factories.split()
    node = factories.node("gpu-1.lab", gpus=32)
    for card in node.gpus.all():
        factories.reading(card, "")
    split = factories.split(state=Split.State.PROPOSED, starts_at=now, by=lab.ceo)
    split.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    pitch = factories.submitted(lab.project, lab.pitcher)
    grant = factories.grant(lab.project, gpus=8)
    plan = plans.propose_plan(grant=grant, by=lab.ops)
    plans.commit_plan(plan=plan, by=lab.ops, generation=0)
    loan = loans.propose_loan(
        lender=lab.project, borrower=lab.applied_project, model=node.model, gpus=2, starts_at=now,
        ends_at=grant.ends_at, reason="Your run starts later.", by=lab.applied_lead,
    )  # fmt: skip
    deputy = Deputy.objects.create(
        principal=lab.chief, deputy=lab.ops, role=lab.role("chief-scientist"), during=(now, None), set_by=lab.chief
    )
    exception = exceptions.propose_exception(
        division=lab.research, model=node.model, gpus=2, starts_at=now, ends_at=grant.ends_at, by=lab.chief,
        reason="The deadline.",
    )  # fmt: skip
    return {
        "exceptions": exception.public_id,
        "undo": factories.sign_off(pitch, lab.chief, "chief-scientist").pk,
        "scenarios": Scenario.objects.create(name="One", by=lab.chief, saved_at=now).public_id,
        "pitches": pitch.public_id, "queue": pitch.public_id, "split": split.public_id, "splits": split.public_id,
        "grants": grant.public_id, "needs": grant.public_id, "changes": ask(lab, grant).public_id,
        "loans": loan.public_id, "plans": plan.public_id, "moves": Move.objects.first().pk, "people": lab.pitcher.pk,
        "deputies": deputy.pk, "inbox": Notice.objects.exclude(person=lab.stranger).first().pk,
        "projects": lab.project.slug, "release": lab.project.slug, "nodes": node.name,
        "gpus": node.gpus.first().uuid, "models": node.model.name, "events": Event.objects.first().pk,
        "api": "nowhere",
    }  # fmt: skip


def filled(route: str, rows: dict[str, object]) -> str:
    """The address with a row in each gap, of the noun before it; a member of a project is a person."""
    parts: list[str] = []
    for part in re.sub(r"\(\?P<\w+>\[[^\]]+\]\+\)", "<row>", route).split("/"):
        nouns = [noun for noun in reversed(parts) if noun in (*rows, "members")]
        noun = "people" if nouns[:1] == ["members"] else (nouns or [""])[0]
        parts.append(str(rows.get(noun, "nowhere")) if part.startswith("<") else part)
    return "/".join(parts)


def rows_of(rows: dict[str, object]) -> list[tuple[str, str]]:
    """(pattern, address) of all that is about one row."""
    return [(route, filled(route, rows)) for route in addresses() if "<" in route]


def test_nothing_opens_without_a_login(client, rows):
    """coldfront PR#348: an endpoint had no permission check."""
    opened = set()
    for address in {filled(route, rows) for route in addresses()}:
        for method in (client.get, client.post):
            answer = method(address)
            asks_who = answer.status_code in REFUSED or "/login/?next=" in answer.get("Location", "")
            opened |= set() if asks_who else {address}

    assert opened == OPEN


def test_a_stranger_changes_nothing_of_others(client, lab, rows):
    """coldfront PR#348: who was logged in could change what was none of theirs."""
    said, entered = Event.objects.count(), {}
    for route, address in rows_of(rows):
        client.force_login(lab.stranger)
        entered[route] = client.post(address, {"reason": "Mine now."}, **KINDS[route.startswith("/api/")]).status_code

    assert {route: status for route, status in entered.items() if status not in REFUSED} == {}
    assert Event.objects.count() == said


def test_a_stranger_reads_no_row_of_others(client, lab, rows):
    """coldfront PR#348."""
    read = {}
    for route, address in rows_of(rows):
        client.force_login(lab.stranger)
        read[route] = client.get(address).status_code

    opened = {re.split("[<(]", route)[0] for route, status in read.items() if status not in REFUSED}
    assert opened == EVERYBODYS
