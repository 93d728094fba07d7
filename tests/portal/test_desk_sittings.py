"""Around the desk: deputies, what is new, grants left out, pitches that must be open first, its cost."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from allocations import deputies, recusals
from allocations.models import Grant, LastLook, Opened, Pitch, SignOff
from tests import factories
from tests.portal.desk import marks, outcomes, said

HTMX = {"HX-Request": "true"}
MOST_QUERIES = 20


@pytest.fixture
def fleet(lab):
    """32 H100 of which Research may promise 19."""
    factories.split()
    return factories.fleet(gpus=32)


@pytest.fixture
def three(lab, fleet):
    return [
        factories.submitted(lab.project, lab.pitcher, title=title, gpus=8, min_gpus=2)
        for title in ("First", "Second", "Third")
    ]


@pytest.fixture
def hugo(lab):
    """Stands in for the chief scientist this week; holds no role."""
    someone, now = factories.person("hugo"), timezone.now()
    deputies.set_deputy(
        principal=lab.chief, deputy=someone, role=lab.role("chief-scientist"), starts_at=now,
        until=now + timedelta(days=7), reason="", by=lab.chief,
    )  # fmt: skip
    return someone


def _titles(page: str) -> list[str]:
    return re.findall(r'rel="noopener">(.*?)</a>', page)


class TestDeputies:
    def test_a_deputy_works_at_the_desk_as_the_principal_could(self, client, lab, three, hugo):
        client.force_login(hugo)

        page = client.get("/desk/").content.decode()
        answer = client.post("/desk/decide/", marks(three, taken=[0]))

        assert _titles(page) == ["First", "Second", "Third"]
        assert page.count("Chief scientist: your turn for chief-scientist") == 3
        assert said(answer.content.decode())[0][1].startswith("Signed for 8.")
        assert SignOff.objects.values_list("person__username", "deputy_for__username").get() == (
            "hugo", "chief-scientist"
        )  # fmt: skip

    def test_it_is_nobodys_turn_under_a_pitch_of_the_principal(self, client, lab, fleet, hugo):
        factories.member(lab.project, lab.chief)
        factories.submitted(lab.project, lab.chief, title="The principal's own", gpus=4)
        client.force_login(hugo)

        assert "your turn" not in client.get("/desk/").content.decode()

    def test_who_stepped_aside_has_no_turn(self, client, lab, three):
        recusals.recuse(pitch=three[0], by=lab.chief, reason="A friend pitched it.")
        client.force_login(lab.chief)

        assert client.get("/desk/").content.decode().count("Chief scientist: your turn") == 2


class TestNews:
    def _told(self, client) -> str:
        page = client.get("/desk/").content.decode()
        return " ".join(re.sub(r"<[^>]+>", "", re.search(r'page-lede">(.*?)</p>', page, re.S)[1]).split())

    def test_since_you_last_looked(self, client, lab, three):
        client.force_login(lab.chief)
        before = self._told(client)
        LastLook.objects.create(person=lab.chief, page="desk", at=timezone.now() - timedelta(minutes=5))
        Pitch.objects.filter(pk=three[0].pk).update(submitted_at=timezone.now() - timedelta(days=2))
        Pitch.objects.filter(pk=three[1].pk).update(submitted_at=timezone.now() - timedelta(days=2))
        client.force_login(lab.head)
        client.post("/desk/decide/", marks(three, taken=[0], role="research-head"))
        three[1].needed_roles.update(due_at=timezone.now() - timedelta(hours=1))
        client.force_login(lab.chief)

        assert before == "3 pitches wait here. 0 overdue."
        assert re.sub(r", [^,:]* ago", "", self._told(client)) == (
            "Since you last looked: 1 new, 1 changed, 1 overdue."
        )

    def test_only_the_button_says_that_it_was_seen(self, client, lab, three):
        client.force_login(lab.chief)
        client.get("/desk/")
        looked = [LastLook.objects.count()]

        answer = client.post("/desk/seen/", {"division": "research", "model": "H100"})

        looked.append(LastLook.objects.filter(person=lab.chief, page="desk").count())
        assert (looked, answer.url) == ([0, 1], "/desk/?division=research&model=H100")
        assert self._told(client).endswith("0 new, 0 changed, 0 overdue.")


class TestGrantsLeftOut:
    def test_a_grant_that_is_left_out_refills_the_bar_and_stands(self, client, lab, three):
        grant = factories.grant(lab.project, gpus=16)  # 3 of 19 are left
        client.force_login(lab.chief)
        before = client.get("/desk/").content.decode()

        page = client.post("/desk/try/", marks(three) | {"end": [str(grant.public_id)]}).content.decode()

        assert {outcome.split(" from")[0] for outcome in outcomes(before)} == {"5 short"}
        assert outcomes(page) == ["fits"] * 3
        assert re.findall(r'name="end"[^>]* (checked)', page) == ["checked"]
        assert Grant.objects.get(pk=grant.pk).ended_at is None
        assert f'href="/grants/{grant.public_id}/"' in page


class TestOpenFirst:
    def test_a_large_pitch_is_decided_in_one_act_only_by_who_has_opened_it(self, client, lab, three, settings):
        settings.DECIDE_UNOPENED_GPUS = 7
        client.force_login(lab.chief)
        client.post(reverse("pitch_opened", args=[three[0].public_id]), headers=HTMX)

        page = client.post("/desk/decide/", marks(three, taken=[0, 1])).content.decode()

        assert [title for title, _sentence in said(page)] == ["First", "Second"]
        assert said(page)[1][1].startswith("Not decided. It asks for 8 GPUs, more than 7, and you have not opened it")
        assert list(SignOff.objects.values_list("pitch__title", flat=True)) == ["First"]
        assert page.count("data-desk-unopened") == 1  # the third; the second has its refusal

    def test_terms_that_changed_are_opened_anew(self, client, lab, three, settings):
        settings.DECIDE_UNOPENED_GPUS = 3
        client.force_login(lab.chief)
        client.post(reverse("pitch_opened", args=[three[0].public_id]))
        client.force_login(lab.head)
        client.post(reverse("pitch_opened", args=[three[0].public_id]))
        client.post("/desk/decide/", marks(three, taken=[0], role="research-head", gpus={0: 4}))
        client.force_login(lab.chief)
        three[0].refresh_from_db()

        page = client.post("/desk/decide/", marks(three, taken=[0], gpus={0: 4})).content.decode()

        assert "you have not opened it" in said(page)[0][1]

    def test_opening_it_at_the_desk_shows_the_reasons_and_the_record(self, client, lab, three):
        factories.grant(lab.project, gpus=8)
        client.force_login(lab.chief)
        address = reverse("pitch_opened", args=[three[0].public_id])

        pages = [client.post(address, {"desk": "1"}, headers=HTMX).content.decode() for _press in range(2)]

        assert pages[0] == pages[1]
        assert three[0].why in pages[0]
        assert "Project: Protein folding" in pages[0]
        assert Opened.objects.filter(person=lab.chief, pitch=three[0], round=1).count() == 1

    def test_what_one_does_not_see_is_not_opened(self, client, lab, three):
        client.force_login(lab.stranger)

        answer = client.post(reverse("pitch_opened", args=[three[0].public_id]))

        assert (answer.status_code, Opened.objects.count()) == (404, 0)


class TestCost:
    def _queries(self, client, ask) -> int:
        ask()
        with CaptureQueriesContext(connection) as asked:
            assert ask().status_code == 200
        return len(asked)

    @pytest.mark.parametrize("way", ["desk", "try", "suggest"])
    def test_it_asks_the_same_with_one_pitch_and_with_three(self, client, lab, fleet, way):
        client.force_login(lab.chief)
        costs, rows = [], []

        for count in (1, 2):
            for _number in range(count):
                project = factories.project(division=lab.research, members=[lab.pitcher])
                factories.grant(project, gpus=1)
                rows.append(factories.submitted(project, lab.pitcher, gpus=1))
            typed = marks(rows, taken=range(len(rows))) | {"do": way}
            ask = (lambda: client.get("/desk/")) if way == "desk" else (lambda: client.post("/desk/try/", typed))  # noqa: B023
            costs.append(self._queries(client, ask))

        assert costs[0] == costs[1] <= MOST_QUERIES

    def test_the_solver_writes_nothing_to_the_standard_output(self, client, lab, three, capfd):
        client.force_login(lab.chief)

        client.post("/desk/try/", marks(three) | {"do": "suggest"})

        assert capfd.readouterr().out == ""
