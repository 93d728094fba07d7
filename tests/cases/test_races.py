"""Races: what fits once is promised once, and of two changes at once neither is lost.

The races of many signers and of one signature pressed twice stand with the services (`tests/allocations`).
"""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from allocations import changes
from allocations.changes import effects
from allocations.models import Grant, GrantChange, SignOff
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, submit, told
from tests.allocations.changes.acts import ask, sign
from tests.cases.acts import fresh, page_of, signed
from tests.races import Window, at_once, kinds

DAY = timedelta(days=1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("other", ["smaller", "earlier"])
def test_two_different_changes_of_one_grant_at_once_lose_neither(world, monkeypatch, other):
    """Seen on ColdFront 1.1.10: each change wrote back what it had read of the other's field."""
    now = timezone.now()
    grant = factories.grant(world.project, gpus=32, starts_at=now, ends_at=now + 14 * DAY)
    said = {"gpus": 8} if other == "smaller" else {"takes_effect_at": now + 5 * DAY}
    both = [ask(world, grant), changes.ask_change(grant=grant, by=world.chief, reason="Others wait.", **said)]
    for change in both:
        sign(world, change, world.chief)
    monkeypatch.setattr(effects, "require_promised", Window().after(effects.require_promised))

    rows = [fresh(change) for change in both]

    outcomes = at_once(*(lambda row=row: sign(world, row, world.head) for row in rows))

    row = fresh(grant)
    if other == "smaller":
        assert kinds(outcomes) == ["ChangeSignOff", "ChangeSignOff"]
        assert (row.gpus, row.ends_at) == (8, now + 44 * DAY)
    else:
        # An end that comes first leaves nothing to extend, and whoever signs that is told.
        assert kinds(outcomes) in (["ChangeSignOff", "ChangeSignOff"], ["ChangeSignOff", "WrongState"])
        assert (row.gpus, row.ends_at, row.ended_by) == (32, now + 5 * DAY, world.head)
    held = GrantChange.objects.filter(state="approved").count()
    assert Event.objects.filter(verb="change.approved").count() == held


@pytest.mark.django_db
class TestFitAloneButNotTogether:
    @pytest.fixture
    def second(self, world, noon):
        """Both wait, each of which fits alone; then the first is approved."""
        first, second = submit(world, gpus=40, title="First"), submit(world, gpus=40, title="Second")
        approve(world, second, world.chief, "chief-scientist")
        signed(world, first)
        return second

    def test_the_second_says_on_its_page_why_it_no_longer_fits(self, world, client, second):
        """calcom/cal.diy#29958, #10789: two requests for one slot, both pending."""
        page = page_of(client, world.head, "queue_item", second.public_id).content.decode()
        page = re.sub(r"\s+", " ", strip_tags(page))

        assert "It does not fit as asked." in page
        assert "On 1 Mar 2027 40 of Research's 60 are promised: 20 short." in page
        assert "On the days asked for, up to 20 fit." in page

    @pytest.mark.parametrize("door", ["page", "api"])
    def test_approving_it_all_the_same_is_refused_with_the_reason(self, world, client, second, door):
        """calcom/cal.diy#29958: the second was confirmed, too."""
        client.force_login(world.head)
        said = {"role": "research-head", "round": second.round}
        if door == "page":
            answer = client.post(reverse("pitch_sign", args=[second.public_id]), {"answer": "approve", **said})
        else:
            answer = client.post(
                f"/api/pitches/{second.public_id}/sign/", {"verdict": "approve", **said}, "application/json"
            )

        sentence = "Research has 20 of 60 H100 left from 1 March to 15 March; the ask is for 40."
        assert (answer.status_code, sentence in answer.content.decode()) == (409, True)
        assert (fresh(second).state, Grant.objects.count(), SignOff.objects.count()) == ("submitted", 1, 3)
        assert told("pitch.granted") == ["pitcher"]
