"""Running grants at the desk: seen smaller or ended, asked for and signed there; what else was marked stays."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from allocations.models import ChangeSignOff, Grant, GrantChange, Policy
from tests import factories
from tests.allocations.changes.acts import policy
from tests.portal.desk import marks, outcomes

HTMX = {"HX-Request": "true"}
MOST_QUERIES = 20
DECIDES = {"chief-scientist", "research-head", "ceo"}
SEES = DECIDES | {"pitcher", "team-mate", "lead", "ops", "auditor"}


@pytest.fixture
def three(lab):
    """Three pitches of 8 beside a grant of 16: 3 of 19 are left."""
    factories.split()
    factories.fleet(gpus=32)
    return [factories.submitted(lab.project, lab.pitcher, title=f"Pitch {number}", gpus=8) for number in range(3)]


@pytest.fixture
def grant(lab, three):
    return factories.grant(lab.project, gpus=16)


def _ask(client, grant, three, **said):
    typed = marks(three, taken=[0]) | {"end": str(grant.public_id), "change-reason": "Others wait."}
    said = {"kind": "shrink" if said.get("gpus") else "end"} | said
    typed |= {f"change-{name}": value for name, value in said.items()}
    return client.post(reverse("desk_change", args=[grant.public_id]), typed, headers=HTMX)


def _taken(page: str) -> int:
    return len(re.findall(r'name="take"[^>]* checked', page))


def test_what_it_would_keep_is_left_in_the_budget(client, lab, three, grant):
    client.force_login(lab.chief)
    typed = marks(three) | {"end": str(grant.public_id), f"keeps-{grant.public_id}": "10"}

    page = client.post("/desk/try/", typed).content.decode()

    assert outcomes(page) == ["fits"] * 3
    assert "9 left" in re.findall(r"<title>(.*?)</title>", page)[1]


def test_the_panel_says_who_would_sign_and_writes_nothing(client, lab, three, grant):
    client.force_login(lab.chief)

    page = client.get(
        reverse("desk_change", args=[grant.public_id]), {f"keeps-{grant.public_id}": "10"}, headers=HTMX
    ).content.decode()

    assert "To shrink it, this would need: Chief scientist, Research head." in page
    assert "Your signature as Chief scientist is given with it." in page
    assert re.findall(r'name="change-gpus" value="(\d+)"', page) == ["10"]
    assert re.findall(r'<option value="(\w*)" selected', page) == ["shrink"]
    assert GrantChange.objects.count() == 0


def test_opened_without_a_number_nothing_is_chosen_and_what_it_has_stands_there(client, lab, three, grant):
    client.force_login(lab.chief)

    page = client.get(reverse("desk_change", args=[grant.public_id]), headers=HTMX).content.decode()

    assert re.findall(r'name="change-gpus" value="(\d+)"', page) == ["16"]
    assert re.findall(r'<option value="(\w*)"', page) == ["", "shrink", "end"]
    assert re.findall(r'<option value="(\w*)" selected', page) == [""]


def test_asked_there_it_is_signed_by_who_asks_and_the_marks_stay(client, lab, three, grant):
    client.force_login(lab.chief)

    page = _ask(client, grant, three, gpus="8").content.decode()

    change = GrantChange.objects.get()
    assert (change.kind, change.gpus, change.state, change.asked_by) == ("shrink", 8, "asked", lab.chief)
    assert ChangeSignOff.objects.get().role.slug == "chief-scientist"
    assert "Asked. The lead is told; it waits for Research head." in page
    assert "8 asked, waits for Research head" in page
    assert _taken(page) == 1
    assert re.findall(r'name="end"[^>]* (checked)', page) == ["checked"]


def test_the_last_signature_refills_the_bar(client, lab, three, grant):
    client.force_login(lab.head)
    _ask(client, grant, three, gpus="8")
    change = GrantChange.objects.get()
    client.force_login(lab.chief)
    shown = client.get(reverse("desk_change", args=[grant.public_id]), headers=HTMX).content.decode()

    page = client.post(
        reverse("desk_change_sign", args=[change.public_id]),
        marks(three, taken=[0]) | {"end": str(grant.public_id), "role": "chief-scientist", "verdict": "approve"},
        headers=HTMX,
    ).content.decode()

    assert "Sign as Chief scientist" in shown
    assert Grant.objects.get(pk=grant.pk).gpus == 8
    assert (outcomes(page)[0], _taken(page)) == ("fits", 1)
    assert re.findall(r'name="end"[^>]* (checked)', page) == []


def test_where_the_policy_names_one_role_it_holds_at_once(client, lab, three, grant):
    policy(lab, Policy.Subject.CHANGE, "chief-scientist")
    client.force_login(lab.chief)

    page = _ask(client, grant, three).content.decode()

    assert GrantChange.objects.get().state == "approved"
    assert "Protein folding: approved." in page
    assert outcomes(page)[0] == "fits"
    assert 'name="end"' not in page


@pytest.mark.parametrize(
    "said",
    [
        {"gpus": "16"},
        {"gpus": "x"},
        {"kind": "shrink"},
        {"kind": "", "gpus": "8"},
        {"reason": ""},
        {"takes_effect_on": "2020-01-01"},
    ],
)
def test_a_refusal_keeps_what_was_typed_in_its_panel(client, lab, three, grant, said):
    client.force_login(lab.chief)

    answer = _ask(client, grant, three, **said)

    assert answer.status_code in (409, 422)
    assert answer.headers["HX-Retarget"] == "#desk-change"
    assert 'class="desk-form"' not in answer.content.decode()
    assert GrantChange.objects.count() == 0


def test_without_script_it_is_a_page_and_comes_back_to_the_desk(client, lab, three, grant):
    client.force_login(lab.chief)
    address = reverse("desk_change", args=[grant.public_id])

    page = client.get(address).content.decode()
    answer = client.post(address, {"change-kind": "shrink", "change-gpus": "8", "change-reason": "Others wait."})

    assert "<h1>Shrink or end a grant</h1>" in page
    assert (answer.status_code, answer.url) == (302, "/desk/?division=research&model=H100")


@pytest.mark.parametrize("method", ["get", "post"])
def test_every_door_is_for_those_who_decide_there(client, lab, three, grant, method):
    address = reverse("desk_change", args=[grant.public_id])
    found = {}

    for login, person in lab.everyone.items():
        client.force_login(person)
        found[login] = getattr(client, method)(address, {"change-reason": ""}).status_code

    yes = 200 if method == "get" else 422
    assert found == {login: yes if login in DECIDES else 403 if login in SEES else 404 for login in lab.everyone}


def test_only_who_is_asked_signs(client, lab, three, grant):
    client.force_login(lab.head)
    _ask(client, grant, three)
    address = reverse("desk_change_sign", args=[GrantChange.objects.get().public_id])
    found = {}

    for login, person in lab.everyone.items():
        client.force_login(person)
        found[login] = client.post(address, {"verdict": ""}).status_code

    may = {"chief-scientist": 422, "research-head": 422}
    assert found == {login: may.get(login, 403 if login in SEES else 404) for login in lab.everyone}
    assert ChangeSignOff.objects.count() == 1


def test_many_grants_ask_as_much_as_one(client, lab, three, grant):
    client.force_login(lab.chief)
    costs = []

    for more in (0, 2):
        for _number in range(more):
            other = factories.grant(factories.project(division=lab.research), gpus=1)
            GrantChange.objects.create(
                grant=other, kind="end", reason="Over.", asked_by=lab.chief, asked_at=other.issued_at
            )
        client.get("/desk/")
        with CaptureQueriesContext(connection) as asked:
            client.get("/desk/")
        costs.append(len(asked))

    assert costs[0] == costs[1] <= MOST_QUERIES
