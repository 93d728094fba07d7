"""Every door of the decisions, tried by everybody: 404 where it is not theirs to see, 403 where not theirs to do."""

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations.models import Grant, Pitch, Project, Split
from tests import factories

EVERYBODY = ("pitcher", "team-mate", "lead", "stranger", "chief-scientist", "research-head", "ceo-applications", "ceo",
             "ops", "auditor", "admin", "applied-pitcher")  # fmt: skip
# Who sees a submitted pitch, a grant and a project of Research.
SEES = {"pitcher", "team-mate", "lead", "chief-scientist", "research-head", "ceo", "ops", "auditor"}


@pytest.fixture
def world(lab):
    """One row of each noun, in Research."""
    factories.split()
    factories.fleet(gpus=64)
    proposed = factories.split(state=Split.State.PROPOSED, starts_at=timezone.now(), by=lab.ceo)
    proposed.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    return {
        "pitch": factories.submitted(lab.project, lab.pitcher),
        "draft": factories.pitch(lab.project, lab.pitcher, title="A draft"),
        "grant": factories.grant(lab.project),
        "split": proposed,
    }


def _statuses(client, lab, method: str, url: str, data=None) -> dict[str, int]:
    """Login -> status; what the answer wrote does not reach the next person."""
    found = {}
    for login in EVERYBODY:
        client.force_login(lab.everyone[login])
        found[login] = getattr(client, method)(url, data or {}).status_code
    return found


def _expected(may: set[str], sees: set[str], *, yes: int, no: int = 403) -> dict[str, int]:
    return {login: yes if login in may else no if login in sees else 404 for login in EVERYBODY}


@pytest.mark.parametrize("name", ["pitch", "grant"])
def test_a_row_opens_for_those_who_may_see_it(client, lab, world, name):
    found = _statuses(client, lab, "get", reverse(name, args=[world[name].public_id]))

    assert found == _expected(SEES, SEES, yes=200)


def test_a_project_opens_for_those_who_may_see_it(client, lab, world):
    found = _statuses(client, lab, "get", reverse("project", args=[lab.project.slug]))

    assert found == _expected(SEES, SEES, yes=200)


def test_a_draft_is_its_writers_alone(client, lab, world):
    for name in ("pitch", "pitch_edit"):
        found = _statuses(client, lab, "get", reverse(name, args=[world["draft"].public_id]))

        assert found == _expected({"pitcher"}, {"pitcher"}, yes=200)


def test_the_queue_item_opens_for_the_roles_that_sign(client, lab, world):
    found = _statuses(client, lab, "get", reverse("queue_item", args=[world["pitch"].public_id]))

    assert found == _expected({"chief-scientist", "research-head"}, SEES, yes=200, no=302)


@pytest.mark.parametrize("name", ["home", "pitches", "pitch_new", "queue", "split", "grants", "projects", "jump"])
def test_lists_open_for_everybody_and_hide_what_is_not_theirs(client, lab, world, name):
    found = _statuses(client, lab, "get", reverse(name))

    assert found == dict.fromkeys(EVERYBODY, 200)


@pytest.mark.parametrize("name", ["home", "pitches", "queue", "split", "grants", "projects", "jump", "password_change"])
def test_nobody_enters_without_a_login(client, db, name):
    answer = client.get(reverse(name))

    assert (answer.status_code, answer.headers["Location"].split("?")[0]) == (302, "/login/")


def test_lists_show_each_person_their_own(client, lab, world):
    shown = {}
    for login in EVERYBODY:
        client.force_login(lab.everyone[login])
        shown[login] = "Train the next one" in client.get("/pitches/").content.decode()

    assert {login for login, is_there in shown.items() if is_there} == SEES


POSTS = ["pitch_sign", "pitch_withdraw", "pitch_submit", "grant_end", "split_sign", "split_withdraw"]


def _url(name: str, lab, world) -> str:
    if name.startswith("project"):
        return reverse(name, args=[lab.project.slug])
    return reverse(name, args=[world[name.split("_")[0]].public_id])


@pytest.mark.parametrize("name", [*POSTS, "project_wind_down", "project_resume", "project_end"])
def test_what_changes_something_takes_a_post(client, lab, world, name):
    client.force_login(lab.ceo)

    assert client.get(_url(name, lab, world)).status_code == 405


def test_only_the_roles_that_sign_a_pitch_may_sign_it(client, lab, world):
    others = [login for login in EVERYBODY if login not in ("chief-scientist", "research-head")]
    url = _url("pitch_sign", lab, world)
    found = {}

    for login in others:
        client.force_login(lab.everyone[login])
        typed = {"answer": "approve", "round": 1, "role": "chief-scientist"}
        found[login] = client.post(url, typed).status_code

    assert found == {login: status for login, status in _expected(set(), SEES, yes=0).items() if login in others}
    assert world["pitch"].sign_offs.count() == 0


def test_a_signer_does_not_sign_in_a_role_of_somebody_else(client, lab, world):
    client.force_login(lab.chief)

    answer = client.post(_url("pitch_sign", lab, world), {"answer": "approve", "round": 1, "role": "research-head"})

    assert answer.status_code == 403
    assert world["pitch"].sign_offs.count() == 0


def test_only_its_people_withdraw_a_pitch(client, lab, world):
    may = {"pitcher", "lead"}
    others = [login for login in EVERYBODY if login not in may]
    found = {}

    for login in others:
        client.force_login(lab.everyone[login])
        found[login] = client.post(_url("pitch_withdraw", lab, world)).status_code

    assert found == {login: status for login, status in _expected(may, SEES, yes=302).items() if login in others}
    assert Pitch.objects.get(pk=world["pitch"].pk).state == Pitch.State.SUBMITTED


def test_only_the_lead_ends_a_grant(client, lab, world):
    may = {"lead"}
    others = [login for login in EVERYBODY if login not in may]
    found = {}

    for login in others:
        client.force_login(lab.everyone[login])
        found[login] = client.post(_url("grant_end", lab, world), {"reason": "It is over."}).status_code

    assert found == {login: status for login, status in _expected(may, SEES, yes=302).items() if login in others}
    assert Grant.objects.get(pk=world["grant"].pk).ended_at is None


@pytest.mark.parametrize("name", ["project_wind_down", "project_end", "project_resume"])
def test_only_lead_and_ops_decide_about_a_project(client, lab, world, name):
    may = {"lead", "ops"}
    others = [login for login in EVERYBODY if login not in may]
    typed = {f"{prefix}-reason": "It is over." for prefix in ("wind", "end", "resume")}
    typed["wind-releases_on"] = "2090-01-01"
    found = {}

    for login in others:
        client.force_login(lab.everyone[login])
        found[login] = client.post(_url(name, lab, world), typed).status_code

    assert found == {login: status for login, status in _expected(may, SEES, yes=302).items() if login in others}
    assert Project.objects.get(pk=lab.project.pk).state == Project.State.ACTIVE


@pytest.mark.parametrize("name", ["split_sign", "split_withdraw"])
def test_only_its_roles_decide_about_a_split(client, lab, world, name):
    others = [login for login in EVERYBODY if login not in ("ceo", "ceo-applications")]
    found = {}

    for login in others:
        client.force_login(lab.everyone[login])
        found[login] = client.post(_url(name, lab, world), {"role": "ceo"}).status_code

    assert found == dict.fromkeys(others, 403)
    assert Split.objects.get(pk=world["split"].pk).state == Split.State.PROPOSED


@pytest.mark.parametrize(("name", "method"), [("split_propose", "post"), ("split_preview", "get")])
def test_only_the_splits_roles_propose_one(client, lab, world, name, method):
    others = [login for login in EVERYBODY if login not in ("ceo", "ceo-applications")]
    found = _statuses(client, lab, method, reverse(name))

    assert {login: found[login] for login in others} == dict.fromkeys(others, 403)
    assert Split.objects.filter(state=Split.State.PROPOSED).count() == 1


def test_a_person_pitches_for_own_projects_only(client, lab, world):
    typed = {
        "project": lab.applied_project.pk, "title": "Not ours", "model": world["pitch"].model_id, "ideal_gpus": 1,
        "min_gpus": 1, "start_on": timezone.now().date().isoformat(), "days": 1, "why": "Because.", "do": "submit",
    }  # fmt: skip
    client.force_login(lab.pitcher)

    answer = client.post("/pitches/new/", typed)

    assert answer.status_code == 422
    assert Pitch.objects.filter(title="Not ours").count() == 0


def test_a_refusal_names_who_may_and_is_a_toast_for_a_part(client, lab, world):
    client.force_login(lab.auditor)
    url = _url("pitch_sign", lab, world)
    typed = {"answer": "approve", "round": 1, "role": "chief-scientist"}

    page = client.post(url, typed)
    part = client.post(url, typed, headers={"HX-Request": "true"})

    assert [answer.status_code for answer in (page, part)] == [403, 403]
    assert "Chief scientist, Research head" in page.content.decode()
    assert "<html" not in part.content.decode()
    assert (part.headers["HX-Retarget"], part.headers["HX-Reswap"]) == ("#toasts", "afterbegin")
