"""Debt is said as debt, and promises stay within what is healthy: cut splits, too many asks, lost cards."""

import re
from datetime import timedelta

import pytest
from django.utils.html import strip_tags

from allocations import splits
from allocations.errors import OverCapacity, OverShare
from inventory.models import Gpu
from tests import factories
from tests.allocations.acts import submit
from tests.cases.acts import fresh, page_of, promised

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
NEGATIVE = re.compile(r"(?<!\S)[-\N{MINUS SIGN}]\d")


class TestDebt:
    @pytest.mark.parametrize(("percent", "promised_gpus", "over"), [(32, 50, 18), (0, 1, 1), (64, 64, 0), (49, 50, 1)])
    def test_a_cut_below_what_is_promised_is_said_as_so_many_over(
        self, world, client, noon, time_machine, percent, promised_gpus, over
    ):
        """kueue#5176: cut from 64 to 32 with 50 held it is "18 over", never a negative number."""
        percents = {"": {"research": 64, "applied": 36}}
        factories.split(percents, starts_at=noon)
        grant = factories.grant(world.project, gpus=promised_gpus, starts_at=noon, ends_at=noon + 90 * DAY)
        cut = splits.propose_split(
            by=world.ceo, starts_at=noon + DAY, percents={"": {"research": percent, "applied": 36}}
        )
        before = page_of(client, world.ceo, "split").content.decode()
        for head in (world.ceo, world.ceo_apps):
            splits.sign_split(split=fresh(cut), by=head)
        time_machine.move_to(noon + DAY, tick=False)

        page = page_of(client, world.ceo, "split")

        [model] = page.context["models"]
        research = model["parts"][0]
        assert (research["share"], research["promised"], research["debt"]) == (percent, promised_gpus, over)
        assert (f"{over} over" in page.content.decode()) == (over > 0)
        assert (f"Research stands {over} H100 over its share." in before) == (over > 0)
        assert NEGATIVE.findall(strip_tags(page.content.decode())) == []
        assert fresh(grant).ends_at == noon + 90 * DAY

    def test_promises_of_300_out_of_256_are_refused_in_whatever_parts(self, lab, noon):
        """kueue#2665: nominal quotas above what is there were taken without a word."""
        factories.fleet(gpus=256)
        factories.split({"": {"research": 100}})
        given = [promised(lab, gpus=100, title=f"Ask {number}").gpus for number in range(2)]

        for gpus in (100, 57):
            with pytest.raises((OverShare, OverCapacity)):
                submit(lab, gpus=gpus)
        given.append(promised(lab, gpus=56).gpus)

        assert sum(given) == 256

    @pytest.mark.parametrize("lost", [1, 10, 60])
    def test_a_lost_card_leaves_grants_and_queues_valid_and_shows_the_shortage(self, world, client, noon, lost):
        """volcano-sh/volcano#5911: with one card lost nobody's queue became valid again."""
        grant = factories.grant(world.project, gpus=60, starts_at=noon, ends_at=noon + 30 * DAY)
        waiting = submit(world, by=world.applied_pitcher, project=world.applied_project, gpus=4)
        Gpu.objects.filter(pk__in=Gpu.objects.values("pk")[:lost]).update(lost_at=noon)

        page = page_of(client, world.ceo, "split")

        research = page.context["models"][0]["parts"][0]
        assert research["debt"] == 60 - research["share"] > 0
        assert (fresh(grant).gpus, fresh(grant).ended_at) == (60, None)
        assert page_of(client, world.ceo_apps, "queue_item", waiting.public_id).status_code == 200
        assert f"{research['debt']} over" in page.content.decode()
