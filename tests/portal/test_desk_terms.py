"""Other answers of the desk: other days, another model, the waitlist; and what does not fit is refused in words."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from allocations.models import Pitch, PitchAlternative, Scenario, SignOff
from tests import factories
from tests.portal.desk import marks, outcomes, said

MOST_QUERIES = 20


@pytest.fixture
def three(lab):
    """Three pitches of 8, 8 and 8 of the 19 H100 of Research, for 14 days from today; 10 A100 beside them."""
    factories.split()
    factories.fleet(gpus=32)
    factories.fleet(factories.model("A100"), gpus=16)
    return [
        factories.submitted(lab.project, lab.pitcher, title=title, gpus=8, min_gpus=2)
        for title in ("First", "Second", "Third")
    ]


def _day(days: int) -> str:
    return (timezone.now().date() + timedelta(days=days)).isoformat()


def _typed(pitches, number, *, waitlist=False, **fields) -> dict:
    """The fields under a row: start, days, model, place."""
    key = str(pitches[number].public_id)
    typed = {f"{name}-{key}": value for name, value in fields.items()} | {"opened": key}
    return typed | ({"waitlist": f"{key}:{pitches[number].round}:chief-scientist"} if waitlist else {})


class TestOtherTerms:
    def test_other_days_are_weighed_and_signed(self, client, lab, three):
        client.force_login(lab.chief)
        typed = marks(three, taken=[0, 1, 2]) | _typed(three, 2, start=_day(20), days="7")

        before = client.post("/desk/try/", typed).content.decode()
        page = client.post("/desk/decide/", typed).content.decode()

        signed = SignOff.objects.get(pitch=three[2])
        assert outcomes(before) == ["fits", "fits", "fits"]
        assert (signed.start_on.isoformat(), signed.days, signed.gpus, signed.round) == (_day(20), 7, 8, 2)
        assert said(page)[2][1].startswith("Signed for 8 H100, 7 days from ")

    def test_the_row_says_which_answer_is_marked(self, client, lab, three):
        client.force_login(lab.chief)
        day = timezone.now().date() + timedelta(days=20)
        typed = marks(three, taken=[0, 2]) | _typed(three, 2, start=_day(20))
        typed |= _typed(three, 1, waitlist=True, place="2")

        page = client.post("/desk/try/", typed).content.decode()

        chosen = re.findall(r"<strong data-desk-chosen>(.*?)</strong>", page)
        assert chosen == ["", "waitlist, rank 2", f"from {day.day} {day:%b}"]

    def test_another_model_that_the_pitch_names_leaves_this_budget_and_is_judged_in_its_own(self, client, lab, three):
        a100 = factories.model("A100")
        PitchAlternative.objects.create(pitch=three[2], model=a100, gpus=9)
        client.force_login(lab.chief)
        typed = marks(three, taken=[0, 1, 2], gpus={2: 9}) | _typed(three, 2, model="A100")

        before = client.post("/desk/try/", typed).content.decode()
        page = client.post("/desk/decide/", typed).content.decode()

        signed = SignOff.objects.get(pitch=three[2])
        assert outcomes(before) == ["fits", "fits", "A100: fits"]
        assert '<option value="A100" selected>A100, 9 would do</option>' in before
        assert (signed.model, signed.gpus) == (a100, 9)
        assert said(page)[2][1].startswith("Signed for 9 A100, 14 days from ")

    def test_what_does_not_fit_into_the_other_model_is_refused(self, client, lab, three):
        PitchAlternative.objects.create(pitch=three[2], model=factories.model("A100"), gpus=16)
        client.force_login(lab.chief)

        page = client.post(
            "/desk/decide/", marks(three, taken=[2], gpus={2: 16}) | _typed(three, 2, model="A100")
        ).content.decode()

        assert "Not decided. It does not fit beside what is marked above it: A100: 6 short from" in said(page)[0][1]
        assert SignOff.objects.count() == 0

    @pytest.mark.parametrize(
        "fields", [{"start": "soon"}, {"days": "0"}, {"days": "x"}, {"model": "Z1"}, {"start": "2020-01-01"}]
    )
    def test_terms_that_are_none_are_refused_and_kept(self, client, lab, three, fields):
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, taken=[0]) | _typed(three, 0, **fields)).content.decode()

        [(name, value)] = fields.items()
        assert (said(page)[0][1].startswith("Not decided. "), SignOff.objects.count()) == (True, 0)
        assert name == "model" or (f'name="{name}-{three[0].public_id}" type="' in page and f'value="{value}"' in page)

    def test_a_scenario_keeps_them(self, client, lab, three):
        client.force_login(lab.head)
        typed = marks(three, taken=[1]) | _typed(three, 1, start=_day(20), days="7", model="A100")
        address = client.post("/desk/scenarios/", typed | {"scenario_name": "Later"}).url
        client.force_login(lab.chief)

        page = client.get(address).content.decode()

        assert Scenario.objects.get().marks["days"] == {str(three[1].public_id): "7"}
        assert f'name="days-{three[1].public_id}" type="number" inputmode="numeric" min="1" value="7"' in page
        assert f'type="date" value="{_day(20)}"' in page

    def test_without_script_a_rank_opens_them(self, client, lab, three):
        client.force_login(lab.chief)

        page = client.post("/desk/try/", marks(three) | {"opened_rank": "2"}).content.decode()

        assert re.findall(r'data-terms-of="([^"_]*)"', page) == [str(three[1].public_id)]

    def test_the_numbers_come_alone_where_they_are_asked_for(self, client, lab, three):
        client.force_login(lab.chief)
        typed = marks(three, taken=[0]) | _typed(three, 0, start=_day(20)) | {"do": "numbers"}

        told = client.post("/desk/try/", typed).json()

        assert [ask[0] for ask in told["asks"]] == [str(pitch.public_id) for pitch in three]
        assert told["asks"][0][1] > told["asks"][1][1]
        client.force_login(lab.pitcher)
        assert client.post("/desk/try/", typed).status_code == 403

    def test_another_model_asks_the_same_with_one_row_and_with_three(self, client, lab, three):
        client.force_login(lab.chief)
        costs = []

        for places in ((0,), (0, 1, 2)):
            typed = marks(three, taken=places)
            for place in places:
                typed |= {f"model-{three[place].public_id}": "A100"}
            client.post("/desk/try/", typed)
            with CaptureQueriesContext(connection) as asked:
                client.post("/desk/try/", typed)
            costs.append(len(asked))

        assert costs[0] == costs[1] <= MOST_QUERIES


class TestWaitlist:
    def test_it_goes_there_at_the_rank_that_was_typed(self, client, lab, three):
        factories.submitted(lab.project, lab.pitcher, title="Before", gpus=1, waitlist_rank=1)
        Pitch.objects.filter(title="Before").update(state="waitlisted")
        client.force_login(lab.chief)

        page = client.post(
            "/desk/decide/",
            marks(three, reasons={0: "When a rack is free."}) | _typed(three, 0, waitlist=True, place="1"),
        ).content.decode()

        ranks = Pitch.objects.filter(state="waitlisted").order_by("waitlist_rank").values_list("title", "waitlist_rank")
        assert said(page) == [("First", "On the waitlist at rank 1. Nothing there decides itself.")]
        assert list(ranks) == [("First", 1), ("Before", 2)]
        assert SignOff.objects.get().reason == "When a rack is free."

    def test_one_that_is_there_already_gets_a_new_rank(self, client, lab, three):
        for place, pitch in enumerate(three, start=1):
            Pitch.objects.filter(pk=pitch.pk).update(state="waitlisted", waitlist_rank=place)
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three) | _typed(three, 2, waitlist=True, place="1")).content.decode()

        ranks = Pitch.objects.order_by("waitlist_rank").values_list("title", flat=True)
        assert said(page) == [("Third", "On the waitlist at rank 1. Nothing there decides itself.")]
        assert (list(ranks), SignOff.objects.count()) == (["Third", "First", "Second"], 0)

    def test_taken_and_waitlisted_is_no_answer(self, client, lab, three):
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, taken=[0]) | _typed(three, 0, waitlist=True)).content.decode()

        assert said(page) == [("First", "Not decided. Marked for two answers: choose one.")]

    def test_nobody_puts_an_own_pitch_there(self, client, lab, three):
        factories.member(lab.project, lab.chief)
        own = factories.submitted(lab.project, lab.chief, gpus=4)
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks([own]) | _typed([own], 0, waitlist=True)).content.decode()

        assert said(page)[0][1].startswith("Not decided. Nobody signs a pitch of their own.")


class TestWhatDoesNotFit:
    def test_the_foot_names_it_before_the_act(self, client, lab, three):
        client.force_login(lab.chief)

        page = client.post("/desk/try/", marks(three, taken=[0, 1, 2])).content.decode()

        told = re.findall(r"data-desk-misfit>(.*?)</span>", page)
        assert [line.split(" from ")[0] for line in told] == ["Over the cap as marked, so not decided: #3 (5 short"]

    def test_less_of_it_fits_and_is_signed(self, client, lab, three):
        client.force_login(lab.chief)

        client.post("/desk/decide/", marks(three, taken=[0, 1, 2], gpus={2: 3}))

        assert list(SignOff.objects.order_by("pk").values_list("gpus", flat=True)) == [8, 8, 3]

    def test_a_grant_that_is_left_out_runs_still_when_it_is_decided(self, client, lab, three):
        grant = factories.grant(lab.project, gpus=16)
        client.force_login(lab.chief)
        typed = marks(three, taken=[0]) | {"end": str(grant.public_id)}

        tried = client.post("/desk/try/", typed).content.decode()
        page = client.post("/desk/decide/", typed).content.decode()

        assert outcomes(tried)[0] == "fits"
        assert said(page)[0][1].startswith("Not decided. It does not fit beside what is marked above it: 5 short from")
        assert SignOff.objects.count() == 0

    def test_an_ask_above_the_share_is_for_its_signers_to_decide(self, client, lab, three):
        Pitch.objects.filter(pk=three[0].pk).update(ideal_gpus=25, offered_gpus=25, is_over_share=True)
        three[0].refresh_from_db()
        client.force_login(lab.chief)

        page = client.post("/desk/decide/", marks(three, taken=[0])).content.decode()

        assert said(page)[0][1].startswith("Signed for 25.")
