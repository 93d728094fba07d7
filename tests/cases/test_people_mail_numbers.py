"""People, mail, numbers: one notice a stage, honest answers to "when", sums that are whole, an end to every grant."""

import re
from datetime import datetime, timedelta
from itertools import product

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from allocations import grants
from allocations.errors import OverShare
from allocations.queries import fleet
from inventory import queries as facts
from inventory.models import Gpu
from tests import factories
from tests.allocations.acts import submit
from tests.cases.acts import page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

DAY = timedelta(days=1)


class TestWhenWillMineStart:
    """kueue#13159: "when will mine start?" has a range, or an honest "nothing predicts it"."""

    def says(self, world, client, **ask) -> str:
        """What the panel beside the form says of 40 H100 for 14 days."""
        typed = {
            "project": world.project.pk, "model": factories.model().pk, "ideal_gpus": 40, "min_gpus": 8,
            "start_on": "2027-03-02", "days": 14,
        }  # fmt: skip
        client.force_login(world.pitcher)
        page = client.get(reverse("pitch_outlook"), typed | ask).content.decode()
        return re.sub(r"\s+", " ", strip_tags(page))

    def test_where_there_is_room_it_says_how_much(self, world, client):
        assert "It fits. At the tightest moment 60 are free; 20 would be left." in self.says(world, client)

    @pytest.mark.parametrize("until", [10, 21, 45])
    def test_where_a_promise_ends_it_names_the_day_and_the_day_holds(self, world, client, noon, until):
        ends_at = noon.replace(hour=0) + until * DAY
        factories.grant(world.project, gpus=48, starts_at=noon, ends_at=ends_at)

        said = self.says(world, client)

        assert f"All of it would fit from {ends_at.day} {ends_at:%b %Y}" in said
        assert "On the days asked for, up to 12 fit." in said
        room = {"project": world.project, "model": factories.model(), "gpus": 40}
        grants.require_room(**room, starts_at=ends_at, ends_at=ends_at + 14 * DAY)
        with pytest.raises(OverShare):
            grants.require_room(**room, starts_at=ends_at - DAY, ends_at=ends_at + 13 * DAY)

    @pytest.mark.parametrize("gpus", [61, 5000])
    def test_where_nothing_predicts_it_it_says_so(self, world, client, gpus):
        said = self.says(world, client, ideal_gpus=gpus)

        assert "It does not fit as asked." in said
        assert "Research has only 60 H100." in said
        assert "would fit from" not in said

    def test_a_signer_reads_the_same_of_a_waiting_one(self, world, client, noon):
        pitch = submit(world, gpus=40)
        factories.grant(world.project, gpus=48, starts_at=noon, ends_at=noon.replace(hour=0) + 10 * DAY)

        page = page_of(client, world.chief, "queue_item", pitch.public_id).content.decode()

        assert "All of it would fit from 11 Mar 2027" in re.sub(r"\s+", " ", strip_tags(page))


class TestSums:
    def fill(self, lab) -> None:
        """A GPU in every state that one can be in: lost, cordoned, never read, stale, held, meant for somebody."""
        now = datetime.fromisoformat("2027-03-01T12:00:00+00:00")
        readings = [
            None,
            {"holder": ""},
            {"holder": "", "running": 3},
            {"holder": None},
            {"holder": lab.project.slug, "util_pct": 90.0},
            {"holder": lab.project.slug, "util_pct": 0.0},
            {"holder": lab.project.slug, "util_pct": None},
            {"holder": lab.project.slug, "draining": True},
            {"holder": "somebody-else", "util_pct": 90.0},
            {"holder": lab.project.slug, "util_pct": 90.0, "requested_at": now - DAY},
        ]
        for lost, cordoned, meant, reading in product([False, True], [False, True], [False, True], readings):
            card = factories.gpu(factories.node(gpus=1, cards=0), lost_at=now if lost else None)
            if cordoned:
                factories.cordon(card.node)
            if meant:
                factories.assignment(card, lab.project)
            if reading is not None:
                factories.reading(card, **reading)
        parent = factories.gpu(factories.node(gpus=1, cards=0))
        for _ in range(7):
            factories.reading(factories.gpu(parent.node, parent=parent), "")
        factories.gpu(factories.node(gpus=2, cards=0), retired_at=now)

    def test_the_kinds_sum_to_what_is_owned_always(self, lab, client, time_machine, noon):
        """opencost/opencost#1124: used + idle + unknown + unassigned + lost = owned."""
        self.fill(lab)
        owned = facts.units().count()
        assert owned == 80 + 7

        for minutes in (0, 1, 60, 60 * 24 * 30):
            time_machine.move_to(noon + timedelta(minutes=minutes), tick=False)
            page = page_of(client, lab.stranger, "fleet").context
            assert sum(fleet.doing_counts().values()) == page["gpus"] == fleet.fleet_units().count() == owned
            assert sum(count for _kind, _label, count in [*page["busy"], *page["others"]]) == owned

    def test_unknown_and_lost_are_never_counted_as_free_or_idle(self, lab):
        """opencost/opencost#1124: what is not known is a part of its own."""
        self.fill(lab)

        kinds = {(row.lost_at is not None, row.doing) for row in fleet.fleet_units()}

        assert {doing for is_lost, doing in kinds if is_lost} == {"lost"}
        unread = Gpu.objects.filter(reading=None, lost_at=None, node__cordons=None, instances=None, retired_at=None)
        assert set(fleet.fleet_units().filter(pk__in=unread.values("pk")).values_list("doing", flat=True)) == {
            "unknown"
        }
