"""The decision desk: what competes side by side, what fits, many decided in one act."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations.models import Grant, Pitch, SignOff
from portal.views.desk import MOST_DECIDED
from tests import factories
from tests.portal.desk import displaced, marks, outcomes, said


@pytest.fixture
def fleet(lab):
    """32 H100 of which Research may promise 19."""
    factories.split()
    return factories.fleet(gpus=32)


@pytest.fixture
def three(lab, fleet):
    """Three pitches of 8, 8 and 8 for 14 days from today: two of them fit."""
    return [
        factories.submitted(lab.project, lab.pitcher, title=title, gpus=8, min_gpus=2)
        for title in ("First", "Second", "Third")
    ]


class TestWhatFits:
    def test_pitches_that_fit_alone_say_what_they_displace(self, client, lab, three):
        factories.grant(lab.project, gpus=8)  # 11 of 19 are left
        client.force_login(lab.chief)

        page = client.get("/desk/").content.decode()

        assert outcomes(page) == ["fits", "fits", "fits"]
        assert displaced(page) == ["#2, #3", "#1, #3", "#1, #2"]

    def test_what_is_marked_leaves_less_for_the_others(self, client, lab, three):
        client.force_login(lab.chief)
        today = timezone.localtime(timezone.now())

        page = client.post("/desk/try/", marks(three, taken=[0, 1])).content.decode()

        assert outcomes(page) == ["fits", "fits", f"5 short from {today.day} {today:%b}; 3 fit"]
        assert displaced(page) == ["#3", "#3", ""]

    def test_the_highest_ranks_come_first_and_the_lowest_falls_out(self, client, lab, three):
        client.force_login(lab.chief)
        typed = marks(three, taken=[0, 1, 2])
        typed[f"rank-{three[2].public_id}"] = "0"

        page = client.post("/desk/try/", typed).content.decode()

        titles = re.findall(r'rel="noopener">(.*?)</a>', page)
        assert titles == ["Third", "First", "Second"]
        assert [each.split(" from")[0] for each in outcomes(page)] == ["fits", "fits", "5 short"]
        assert page.count('class="debt">5 over<') == 1

    def test_pitches_at_other_times_do_not_compete(self, client, lab, fleet):
        later = timezone.now().date() + timedelta(days=14)
        factories.submitted(lab.project, lab.pitcher, title="Now", gpus=16)
        factories.submitted(lab.project, lab.pitcher, title="Then", gpus=16, start_on=later + timedelta(days=1))
        client.force_login(lab.chief)

        page = client.get("/desk/").content.decode()

        assert displaced(page) == ["", ""]

    def test_the_bar_names_the_grants_of_each_week(self, client, lab, fleet):
        factories.grant(lab.project, gpus=8)
        client.force_login(lab.chief)

        page = client.get("/desk/").content.decode()

        titles = re.findall(r"<title>(.*?)</title>", page)[1:]
        assert len(titles) == 26
        assert [title.endswith("11 left. Protein folding 8") for title in titles[:3]] == [True, True, False]
        assert titles[3].endswith("0 promised, 0 marked here, 19 left. no grants")

    def test_the_suggested_set_is_marked_and_says_why(self, client, lab, three):
        factories.submitted(lab.project, lab.pitcher, title="Too large", gpus=20)
        client.force_login(lab.chief)

        page = client.post("/desk/try/", marks(three) | {"do": "suggest"}).content.decode()

        assert re.findall(r"Suggested set: (.*?)</h2>", page) == ["#1, #2, #3"]
        assert "Proven: no other set that fits holds more of your ranking." in page
        assert re.findall(r"<li>(#4.*?)</li>", page) == ["#4 Too large: does not fit even alone"]
        assert [int(each) for each in re.findall(r'name="gpus-[^"]*" value="(\d+)"', page)] == [8, 8, 2, 20]
        assert SignOff.objects.count() == 0


class TestDecidingMany:
    def test_each_is_signed_and_the_page_says_what_came_of_it(self, client, lab, three):
        client.force_login(lab.head)
        client.post("/desk/decide/", marks(three, taken=[0, 1], role="research-head"))
        client.force_login(lab.chief)

        page = client.post(
            "/desk/decide/", marks(three, taken=[0, 1], declined=[2], reasons={2: "Not this month."})
        ).content.decode()

        assert said(page) == [
            ("First", "Granted: 8 H100. It is now a need until GPUs are assigned."),
            ("Second", "Granted: 8 H100. It is now a need until GPUs are assigned."),
            ("Third", "Declined, and the pitcher is told why."),
        ]
        assert Grant.objects.count() == 2

    def test_pressed_twice_is_decided_once(self, client, lab, three):
        client.force_login(lab.chief)
        typed = marks(three, taken=[0, 1], declined=[2], gpus={1: 4}, reasons={2: "Not this month."})

        pages = [client.post("/desk/decide/", typed).content.decode() for _press in range(2)]

        assert said(pages[0]) == said(pages[1])
        assert list(SignOff.objects.values_list("pitch__title", "verdict", "gpus")) == [
            ("First", "approve", 8),
            ("Second", "approve", 4),
            ("Third", "decline", 8),
        ]

    def test_what_no_longer_fits_is_refused_and_the_others_stand(self, client, lab, three):
        for pitch in three:
            factories.sign_off(pitch, lab.head, "research-head")
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, taken=[0, 1, 2], reasons={2: "It pays off."})).content.decode()

        told = said(page)
        assert [title for title, _ in told] == ["First", "Second", "Third"]
        assert told[2][1].startswith("Not decided. It does not fit beside what is marked above it: 5 short from ")
        assert (Grant.objects.count(), SignOff.objects.filter(person=lab.chief).count()) == (2, 2)
        assert re.findall(r'name="reason-[^"]*" value="([^"]*)"', page) == ["It pays off."]
        assert re.findall(r'name="take"[^>]* (checked)', page) == ["checked"]

    def test_a_decline_without_reason_keeps_its_mark(self, client, lab, three):
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, declined=[0])).content.decode()

        assert said(page) == [("First", "Not decided. Say why: the pitcher reads it.")]
        assert re.findall(r'name="decline"[^>]* (checked)', page) == ["checked"]
        assert SignOff.objects.count() == 0

    def test_terms_that_changed_meanwhile_are_not_signed(self, client, lab, three):
        typed = marks(three, taken=[0])
        client.force_login(lab.head)
        client.post("/desk/decide/", marks(three, taken=[0], gpus={0: 4}, role="research-head"))
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", typed).content.decode()

        assert said(page) == [
            ("First", "Not decided. The terms have changed since you looked: 4 GPUs are on the table now.")
        ]

    @pytest.mark.parametrize("typed", ["", "many", "-3"])
    def test_a_number_that_is_none_is_refused_and_kept(self, client, lab, three, typed):
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, taken=[0], gpus={0: typed})).content.decode()

        assert said(page) == [("First", "Not decided. Type how many GPUs, as a whole number.")]
        assert re.findall(rf'name="gpus-{three[0].public_id}" value="([^"]*)"', page) == [typed]

    @pytest.mark.parametrize("reason", ["a\0b", "x" * 4001], ids=["nul", "a book"])
    def test_a_reason_that_the_form_of_one_pitch_would_not_take_is_refused_here_too(self, client, lab, three, reason):
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, declined=[0], reasons={0: reason}))

        assert (page.status_code, SignOff.objects.count()) == (200, 0)
        assert [title for title, _sentence in said(page.content.decode())] == ["First"]

    @pytest.mark.parametrize("value", ["{upper}:1:chief-scientist", "{hex}:1:chief-scientist", "{id}:1:\0", "{id}:²:x"])
    def test_a_mark_that_no_form_of_ours_sends_is_as_if_it_was_not_there(self, client, lab, three, value):
        public_id = three[0].public_id
        words = {"upper": str(public_id).upper(), "hex": public_id.hex, "id": str(public_id)}
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three) | {"take": [value.format(**words)]})

        assert (page.status_code, SignOff.objects.count()) == (422, 0)

    def test_more_than_one_sitting_holds_is_refused_as_a_whole(self, client, lab, fleet):
        many = [
            factories.submitted(lab.project, lab.pitcher, title=f"Number {n}", gpus=1) for n in range(MOST_DECIDED + 1)
        ]
        client.force_login(lab.chief)

        answer = client.post("/desk/decide/", marks(many, taken=range(len(many))))

        page = answer.content.decode()
        assert answer.status_code == 422
        assert "21 are marked. Decide at most 20 at once" in page
        assert SignOff.objects.count() == 0
        assert len(re.findall(r'name="take"[^>]* checked', page)) == MOST_DECIDED + 1

    def test_nobody_decides_an_own_pitch_here_either(self, client, lab, fleet):
        factories.member(lab.project, lab.chief)
        own = factories.submitted(lab.project, lab.chief, gpus=4)
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks([own], taken=[0])).content.decode()

        assert said(page)[0][1].startswith("Not decided. Nobody signs a pitch of their own.")
        assert Pitch.objects.get(pk=own.pk).state == Pitch.State.SUBMITTED


class TestWhoSees:
    @pytest.mark.parametrize(
        ("login", "status"),
        [
            ("chief-scientist", 200),
            ("research-head", 200),
            ("ceo-applications", 200),
            ("ceo", 200),
            ("pitcher", 403),
            ("lead", 403),
            ("stranger", 403),
            ("ops", 403),
            ("auditor", 403),
            ("admin", 403),
        ],
    )
    def test_the_desk_is_for_those_who_decide(self, client, lab, three, login, status):
        client.force_login(lab.everyone[login])

        answers = [client.get(reverse(name)).status_code for name in ("desk", "desk_minutes", "desk_minutes_file")]
        answers += [client.post(reverse(name), {}).status_code for name in ("desk_try",)]

        assert answers == [status] * 4

    def test_a_decider_sees_the_own_division_only(self, client, lab, three):
        factories.submitted(
            lab.applied_project, lab.applied_pitcher, title="Of the others", gpus=2, roles=["ceo-applications"]
        )
        titles = {}

        for login in ("chief-scientist", "ceo-applications"):
            client.force_login(lab.everyone[login])
            page = client.get("/desk/?division=applied&model=H100").content.decode()
            titles[login] = re.findall(r'rel="noopener">(.*?)</a>', page)

        assert titles == {"chief-scientist": ["First", "Second", "Third"], "ceo-applications": ["Of the others"]}

    def test_a_lab_without_gpus_has_an_empty_desk(self, client, lab):
        client.force_login(lab.chief)

        answer = client.get("/desk/")

        assert answer.status_code == 200
        assert "There is no budget to decide on yet" in answer.content.decode()
