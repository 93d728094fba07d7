"""Scenarios at the desk: marks that somebody prepares and somebody else opens; nothing is decided by them."""

import re

import pytest
from django.urls import reverse

from allocations.models import Scenario, SignOff
from inventory.models import Event
from tests import factories
from tests.portal.desk import marks


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


class TestScenarios:
    def _save(self, client, three, **changes):
        typed = marks(three, taken=[1, 2], gpus={2: 4}) | {
            "scenario_name": "Without the first",
            "scenario_note": "Ask.",
        }
        return client.post("/desk/scenarios/", typed | changes)

    def test_a_decider_opens_what_somebody_prepared_and_nothing_is_decided(self, client, lab, three):
        client.force_login(lab.head)
        address = self._save(client, three).url
        client.force_login(lab.chief)

        page = client.get(address).content.decode()

        assert re.findall(r'name="take"[^>]* (checked)', page) == ["checked", "checked"]
        assert re.findall(rf'name="gpus-{three[2].public_id}" value="(\d+)"', page) == ["4"]
        assert "Without the first, prepared by research-head" in page
        assert SignOff.objects.count() == 0
        assert Event.objects.filter(verb="scenario.saved").count() == 1

    def test_what_was_marked_there_is_decided_with_the_role_of_who_opened_it(self, client, lab, three):
        client.force_login(lab.head)
        address = self._save(client, three).url
        client.force_login(lab.chief)
        page = client.get(address).content.decode()

        seen = re.findall(r'name="take" value="([^"]*)"[^>]* checked', page)

        assert [value.split(":", 1)[1] for value in seen] == ["1:chief-scientist"] * 2

    def test_the_saver_drops_it_and_nobody_else(self, client, lab, three):
        client.force_login(lab.head)
        address = self._save(client, three).url
        row = Scenario.objects.get()
        client.force_login(lab.chief)
        refused = client.post(reverse("scenario_drop", args=[row.public_id])).status_code
        client.force_login(lab.head)
        dropped = client.post(reverse("scenario_drop", args=[row.public_id])).status_code

        page = client.get(address).content.decode()

        assert (refused, dropped) == (403, 302)
        assert "Without the first</a>" not in page
        assert re.findall(r'name="take"[^>]* (checked)', page) == []

    def test_the_same_name_again_replaces_the_older_one(self, client, lab, three):
        client.force_login(lab.head)
        for _press in range(2):
            self._save(client, three)

        assert Scenario.objects.filter(dropped_at=None).count() == 1

    def test_a_link_to_the_older_one_opens_the_newest_and_says_so(self, client, lab, three):
        client.force_login(lab.head)
        address = self._save(client, three).url
        self._save(client, three, **{f"gpus-{three[2].public_id}": "5"})
        client.force_login(lab.chief)

        page = client.get(address).content.decode()

        assert f'name="gpus-{three[2].public_id}" value="5"' in page
        assert "these are the newest marks" in page

    @pytest.mark.parametrize(
        "typed", [{"scenario_name": "a\0b"}, {"scenario_note": "\0"}, {"scenario_note": "x" * 4001}]
    )
    def test_letters_that_cannot_be_kept_are_refused(self, client, lab, three, typed):
        client.force_login(lab.head)

        answer = self._save(client, three, **typed)

        assert (answer.status_code, Scenario.objects.count()) == (422, 0)

    def test_a_mark_that_cannot_be_kept_is_as_if_it_was_not_there(self, client, lab, three):
        client.force_login(lab.head)

        self._save(client, three, **{"rank-\0": "1", f"gpus-{three[1].public_id}": "4\0"})

        kept = Scenario.objects.get().marks
        assert (kept["ranks"].keys() & {"\0", ""}, kept["gpus"][str(three[1].public_id)]) == (set(), "4")

    @pytest.mark.parametrize("name", ["", "  ", "x" * 121])
    def test_without_a_name_it_is_refused_and_the_marks_stay(self, client, lab, three, name):
        client.force_login(lab.head)

        answer = self._save(client, three, scenario_name=name)

        assert (answer.status_code, Scenario.objects.count()) == (422, 0)
        assert re.findall(r'name="take"[^>]* (checked)', answer.content.decode()) == ["checked", "checked"]

    @pytest.mark.parametrize("wanted", ["", "nonsense", "00000000-0000-0000-0000-000000000000"])
    def test_one_that_is_not_there_is_as_if_none_was_named(self, client, lab, three, wanted):
        client.force_login(lab.chief)

        answer = client.get("/desk/", {"scenario": wanted})

        assert answer.status_code == 200
        assert "That scenario is not there any more" in answer.content.decode()

    def test_staff_save_none(self, client, lab, three):
        client.force_login(lab.pitcher)

        assert (self._save(client, three).status_code, Scenario.objects.count()) == (403, 0)
