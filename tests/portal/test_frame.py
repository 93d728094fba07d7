"""The frame: who sees which places, what waits there, the demo's switch, security headers, the viewer's zone."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db import DatabaseError
from django.urls import reverse
from django.utils import timezone
from knox.models import get_token_model

from allocations.models import Split
from portal.middleware import POLICY
from portal.views import health
from tests import factories

ALL = ["Home", "Queue", "Pitches", "Split", "Grants", "Projects", "Reshuffle", "Fleet", "Trail"]
STAFF = ["Home", "Pitches", "Grants", "Projects", "Fleet"]
DECIDER = ["Home", "Queue", "Desk", "Pitches", "Split", "Deputies", "Grants", "Projects", "Fleet", "Trail"]
READER = ["Home", "Pitches", "Split", "Grants", "Projects", "Fleet", "Trail"]


def _places(page: str) -> list[str]:
    rail = page[page.index('class="rail-main"') : page.index('class="rail-more"')]
    return re.findall(r'<span class="rail-word">(.*?)</span>', rail)


@pytest.mark.parametrize(
    ("login", "places"),
    [
        ("pitcher", STAFF),
        ("stranger", STAFF),
        ("chief-scientist", DECIDER),
        ("ceo", DECIDER),
        ("auditor", READER),
        ("admin", [*READER[:3], "Deputies", *READER[3:-1], "People", READER[-1]]),
        ("ops", [*READER[:-2], "Reshuffle", *READER[-2:]]),
    ],
)
def test_the_navigation_holds_what_the_role_can_use(client, lab, login, places):
    client.force_login(lab.everyone[login])

    page = client.get("/").content.decode()

    assert _places(page) == places


@pytest.mark.parametrize(
    ("login", "places"),
    [
        ("pitcher", ["Home", "Pitches", "Grants", "Projects"]),
        ("chief-scientist", ["Home", "Queue", "Desk", "Pitches"]),
        ("ops", ["Home", "Pitches", "Split", "Reshuffle"]),
    ],
)
def test_the_bar_of_a_phone_holds_first_where_work_waits(client, lab, login, places):
    client.force_login(lab.everyone[login])

    page = client.get("/").content.decode()
    entries = page[page.index('class="rail-main"') : page.index('class="rail-more"')].split("<li")

    assert [
        re.findall(r'rail-word">(.*?)<', each)[0] for each in entries if "rail-rest" not in each and "rail-word" in each
    ] == places


def test_a_badge_counts_the_pitches_that_wait(client, lab):
    for _number in range(3):
        factories.submitted(lab.project, lab.pitcher)
    client.force_login(lab.chief)

    page = client.get("/").content.decode()

    assert re.findall(r'badge-count">(\d+)', page) == ["3"]


def test_a_badge_counts_the_splits_that_wait(client, lab):
    split = factories.split(state=Split.State.PROPOSED, starts_at=timezone.now(), by=lab.ceo)
    split.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    client.force_login(lab.ceo_apps)

    page = client.get("/").content.decode()
    rail = page[: page.index('class="rail-more"')]  # "More" names it again, for phones

    assert re.findall(r'badge-count">(\d+)', rail) == ["1"]


@pytest.mark.parametrize("waiting", [1, 3])
def test_the_frame_costs_the_same_however_much_waits(client, lab, django_assert_num_queries, waiting):
    for _number in range(waiting):
        factories.submitted(lab.project, lab.pitcher)
    client.force_login(lab.chief)
    url = reverse("password_change")
    client.get(url)

    with django_assert_num_queries(4):  # session, person, roles, what waits
        client.get(url)


def test_every_answer_carries_the_strict_policy(client, lab):
    client.force_login(lab.pitcher)

    answers = [client.get("/"), client.get("/login/"), client.get("/nowhere/"), client.get("/healthz")]

    assert [answer.headers["Content-Security-Policy"] for answer in answers] == [POLICY] * 4
    assert "unsafe" not in POLICY


def test_without_the_demo_nobody_becomes_anybody(client, lab):
    client.force_login(lab.pitcher)

    answer = client.post("/demo/become/", {"login": "ceo"})

    assert answer.status_code == 404
    assert client.session["_auth_user_id"] == str(lab.pitcher.pk)


def test_without_the_demo_no_page_says_that_it_is_one(client, lab):
    client.force_login(lab.pitcher)

    page = client.get("/").content.decode()

    assert "This is a demo" not in page


def test_in_the_demo_one_click_is_another_person_and_every_page_says_so(client, lab, settings):
    settings.DEMO = True

    login = client.get("/login/").content.decode()
    client.post("/demo/become/", {"login": "ceo"})
    home = client.get("/").content.decode()

    assert client.session["_auth_user_id"] == str(lab.ceo.pk)
    assert [page.count("This is a demo: simulated GPUs, made-up people") for page in (login, home)] == [1, 1]


def test_the_demo_switches_by_post_alone_and_only_to_people_who_exist(client, lab, settings):
    settings.DEMO = True

    answers = [client.get("/demo/become/?login=ceo"), client.post("/demo/become/", {"login": "nobody"})]

    assert [answer.status_code for answer in answers] == [405, 404]
    assert "_auth_user_id" not in client.session


def test_times_are_shown_in_the_viewers_zone(client, lab, settings):
    settings.SITE_TIME_ZONE = "UTC"
    instant = datetime(2020, 1, 1, 23, 30, tzinfo=UTC)
    factories.grant(lab.project, starts_at=instant, ends_at=instant.replace(year=2090))
    lab.pitcher.time_zone = "Asia/Tokyo"
    lab.pitcher.save()
    pages = []

    for person in (lab.pitcher, lab.lead):
        client.force_login(person)
        pages.append(client.get("/grants/").content.decode())

    assert ["2 Jan 2020, 08:30 JST" in page for page in pages] == [True, False]
    assert ["1 Jan 2020, 23:30 UTC" in page for page in pages] == [False, True]


def test_a_zone_that_nobody_knows_falls_back_to_the_sites(client, lab):
    lab.pitcher.time_zone = "Mars/Olympus_Mons"
    lab.pitcher.save()
    client.force_login(lab.pitcher)

    assert client.get("/").status_code == 200


def test_health_is_good_while_the_database_answers(client, db):
    assert client.get("/healthz").status_code == 200


def test_health_is_bad_without_a_database(client, db, monkeypatch):
    def gone():
        raise DatabaseError

    with monkeypatch.context() as without:
        without.setattr(health, "connection", SimpleNamespace(cursor=gone))
        answer = client.get("/healthz")

    assert answer.status_code == 503


def test_a_login_works_with_the_right_password_only(client, lab):
    lab.pitcher.set_password("a long enough one")
    lab.pitcher.save()

    wrong = client.post("/login/", {"username": "pitcher", "password": "guess"})
    right = client.post("/login/", {"username": "pitcher", "password": "a long enough one"})

    assert (wrong.status_code, right.status_code) == (200, 302)
    assert 'value="pitcher"' in wrong.content.decode()


def test_too_many_wrong_passwords_close_the_login_even_for_the_right_one(client, lab, settings):
    cache.clear()
    settings.AXES_FAILURE_LIMIT = 3
    lab.pitcher.set_password("a long enough one")
    lab.pitcher.save()
    for _try in range(3):
        client.post("/login/", {"username": "pitcher", "password": "guess"})

    answer = client.post("/login/", {"username": "pitcher", "password": "a long enough one"})

    assert answer.status_code == 429
    assert "Too many wrong passwords" in answer.content.decode()
    assert "_auth_user_id" not in client.session


def test_a_password_is_changed_by_its_owner(client, lab):
    lab.pitcher.set_password("a long enough one")
    lab.pitcher.save()
    client.force_login(lab.pitcher)
    get_token_model().objects.create(lab.pitcher)
    others, _token = get_token_model().objects.create(lab.lead)
    words = {
        "old_password": "a long enough one",
        "new_password1": "quite another one",
        "new_password2": "quite another one",
    }

    answer = client.post("/password/", words)

    lab.pitcher.refresh_from_db()
    assert answer.status_code == 302
    assert lab.pitcher.check_password("quite another one")
    assert list(get_token_model().objects.all()) == [others]


def test_the_admin_site_changes_ones_own_password_at_the_same_door(client, lab):
    client.force_login(lab.admin)

    answer = client.get("/admin/password_change/")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/password/")


def test_an_unknown_address_says_what_to_do(client, lab):
    client.force_login(lab.pitcher)

    answer = client.get("/nowhere/")

    assert answer.status_code == 404
    assert "not yours to see" in answer.content.decode()


def test_a_forged_form_is_refused(lab, client):
    strict = type(client)(enforce_csrf_checks=True)
    strict.force_login(lab.ceo)

    answer = strict.post("/logout/")

    assert answer.status_code == 403
    assert "nothing was written" in answer.content.decode()


class TestJump:
    """The jump field finds by name what the person may see."""

    def test_it_finds_pitches_projects_and_nodes(self, client, lab):
        factories.node("needle-node-01")
        factories.pitch(lab.project, lab.pitcher, title="Needle tests")
        client.force_login(lab.pitcher)

        page = client.get("/jump/", {"q": "needle"}).content.decode()

        assert re.findall(r"<h2>(.*?)</h2>", page[page.index("<main") : page.index("</main")]) == ["Pitches", "Nodes"]

    def test_a_whole_name_goes_straight_there(self, client, lab):
        factories.node("needle-node-01")
        client.force_login(lab.pitcher)

        answer = client.get("/jump/", {"q": "Needle-node-01"})

        assert (answer.status_code, answer.headers["Location"]) == (302, "/nodes/needle-node-01/")

    def test_other_peoples_pitches_stay_hidden(self, client, lab):
        factories.submitted(lab.project, lab.pitcher, title="Needle tests")
        client.force_login(lab.stranger)

        page = client.get("/jump/", {"q": "needle"}).content.decode()

        assert "Nothing has that name" in page
