"""Time: days of the site's zone, clock changes, the past, and lengths that do not shrink while people decide."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from allocations import grants, pitches, planner, queries
from allocations.days import day_of, last_day
from allocations.errors import BadTerms, OverShare
from allocations.models import Pitch
from inventory.models import Event, Gpu
from tests import factories
from tests.allocations.acts import approve, draft, submit
from tests.cases.acts import at_wall, fresh, page_of, promised, signed

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
ENDS = [
    ("UTC", date(2027, 3, 31)),
    ("Europe/Berlin", date(2027, 3, 28)),  # an hour shorter
    ("Europe/Berlin", date(2027, 10, 31)),  # an hour longer
    ("America/St_Johns", date(2027, 3, 31)),
    ("Asia/Kolkata", date(2027, 3, 31)),
    ("Pacific/Auckland", date(2027, 4, 4)),
    ("Africa/Cairo", date(2027, 4, 29)),  # the midnight at its end does not exist
]


@pytest.mark.parametrize(("zone", "last"), ENDS)
def test_a_grant_through_a_day_works_to_the_end_of_that_day_at_the_site(
    world, client, settings, time_machine, zone, last
):
    """bcgov/entity#25881: through 31 March it works at 23:59 of that day, and is over a minute later."""
    settings.SITE_TIME_ZONE = zone
    time_machine.move_to(at_wall(zone, last - 20 * DAY, 9), tick=False)
    grant = promised(world, gpus=60, start_on=last - 13 * DAY, days=14)
    card = Gpu.objects.first()
    factories.assignment(card, world.project, grant=grant)

    def stands(minute: datetime) -> tuple[str, planner.Source, bool]:
        time_machine.move_to(minute, tick=False)
        factories.reading(card, world.project.slug, running=1)
        [unit] = queries.build_snapshot([card.pk]).units
        state = page_of(client, world.pitcher, "grant", grant.public_id).context["state"]
        return state, unit.source, has_room(world, minute)

    assert last_day(grant.ends_at, ZoneInfo(zone)) == last
    assert stands(at_wall(zone, last, 23, 59)) == ("running", planner.Source.HELD, False)
    assert stands(grant.ends_at + timedelta(minutes=1)) == ("ended", planner.Source.ENDED, True)
    assert day_of(grant.ends_at, ZoneInfo(zone)) == last + DAY


def has_room(world, at: datetime) -> bool:
    """Whether all of Research's 60 could be promised for the next minute."""
    try:
        grants.require_room(
            project=world.project, model=factories.model(), gpus=60, starts_at=at, ends_at=at + timedelta(minutes=1)
        )
    except OverShare:
        return False
    return True


class TestThePast:
    @pytest.mark.parametrize("zone", ["Pacific/Auckland", "Pacific/Honolulu", "Europe/Berlin"])
    @pytest.mark.parametrize("login", ["pitcher", "lead", "ops"])
    def test_yesterday_is_that_of_the_site_and_only_ops_name_it(self, world, settings, time_machine, zone, login):
        """roscisz/TensorHive#326: a start in the past is refused for staff; ops may, and the trail says so."""
        settings.SITE_TIME_ZONE = zone
        today = date(2027, 3, 10)
        for minute in (at_wall(zone, today, 0, 1), at_wall(zone, today, 23, 59)):
            time_machine.move_to(minute, tick=False)
            who = world.everyone[login]
            submit(world, by=who, gpus=8, start_on=today)
            late = draft(world, by=who, gpus=8, start_on=today - DAY)

            if login == "ops":
                pitches.submit_pitch(pitch=late, by=who)
            else:
                with pytest.raises(BadTerms):
                    pitches.submit_pitch(pitch=late, by=who)

        said = Event.objects.filter(verb="pitch.submitted").order_by("pk")
        expected = [False, True, False, True] if login == "ops" else [False, False]
        assert [event.facts["back_dated"] for event in said] == expected

    def test_a_running_grant_that_ends_early_is_free_on_every_page_and_for_planning(self, world, client, noon):
        """TensorHive#324: what it held is free for planning at once."""
        grant = factories.grant(world.project, gpus=60)
        card = Gpu.objects.first()
        factories.assignment(card, world.project, grant=grant)
        factories.reading(card, world.project.slug, running=1)
        client.force_login(world.lead)

        client.post(f"/grants/{grant.public_id}/end/", {"reason": "The result is in."})

        assert fresh(grant).ends_at == noon
        assert queries.build_snapshot([card.pk]).units[0].source is planner.Source.ENDED
        assert has_room(world, noon)
        assert page_of(client, world.lead, "grant", grant.public_id).context["state"] == "ended"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("asked", [date(2027, 3, 11), date(2027, 3, 25), date(2027, 10, 28), date(2027, 11, 4)])
@pytest.mark.parametrize("last_step", ["signature", "accepted", "waitlist"])
def test_fourteen_days_approved_three_days_later_are_fourteen_days(
    world, settings, time_machine, zone, asked, last_step
):
    """gravitational/teleport#50011: whatever the last step is, the length counts from the start and not the ask."""
    settings.SITE_TIME_ZONE = zone
    time_machine.move_to(at_wall(zone, asked, 12), tick=False)
    pitch = submit(world, start_on=asked, days=14)
    if last_step == "accepted":
        signed(world, pitch, gpus=4)
    elif last_step == "waitlist":
        pitches.sign_off(
            pitch=pitch, by=world.chief, role=world.role("chief-scientist"), verdict="waitlist", round=pitch.round
        )
    else:
        approve(world, pitch, world.chief, "chief-scientist")
    time_machine.move_to(at_wall(zone, asked + 3 * DAY, 12), tick=False)

    if last_step == "accepted":
        pitches.accept_offer(pitch=pitch, by=world.pitcher, round=pitch.round)
    elif last_step == "waitlist":
        signed(world, fresh(pitch))
    else:
        approve(world, pitch, world.head, "research-head")

    grant = Pitch.objects.get().grant
    assert grant.starts_at == at_wall(zone, asked + 3 * DAY, 12)
    assert grant.ends_at == at_wall(zone, asked + 17 * DAY, 12)
    assert grant.ends_at.astimezone(UTC) == grant.ends_at
