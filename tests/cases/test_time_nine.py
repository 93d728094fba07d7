"""A daily rule fires once a day by the clock on the wall, also around the days on which clocks change."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core import mail

from allocations import notify, outbox
from allocations.days import daily_hours
from allocations.models import NoticePreference
from inventory import trail
from tests.cases.acts import at_wall

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
CHANGES = [
    ("Europe/Berlin", date(2027, 3, 28)),
    ("Europe/Berlin", date(2027, 10, 31)),
    ("America/New_York", date(2027, 3, 14)),
    ("America/New_York", date(2027, 11, 7)),
    ("Australia/Lord_Howe", date(2027, 4, 4)),  # by half an hour
]


class TestNineOClock:
    @pytest.mark.parametrize(("zone", "change"), CHANGES)
    def test_what_waits_for_nine_leaves_once_at_nine_the_day_before_of_and_after(
        self, lab, settings, time_machine, zone, change
    ):
        """celery/django-celery-beat#194: a daily 09:00 local rule fires once on each of these days."""
        settings.SITE_TIME_ZONE = zone
        NoticePreference.objects.create(person=lab.lead, quiet_from=datetime(1, 1, 1, 18).time(), quiet_until="09:00")
        days = [change - DAY, change, change + DAY]
        evenings = {at_wall(zone, day - DAY, 20) for day in days}
        left = []
        now = at_wall(zone, days[0] - DAY, 20)
        while now < at_wall(zone, days[-1], 18):
            time_machine.move_to(now, tick=False)
            if now in evenings:
                tell(lab)
            left += [now] * outbox.deliver_due()
            now += timedelta(minutes=30)

        assert left == [at_wall(zone, day, 9) for day in days]
        assert len(mail.outbox) == 3

    @pytest.mark.parametrize(("zone", "change"), CHANGES)
    def test_nightly_hours_begin_and_end_by_the_clock_on_the_wall_once_a_night(self, zone, change):
        """celery/django-celery-beat#194: of a loan from 22:00 to 09:00."""
        start, end = at_wall(zone, change - 2 * DAY, 12), at_wall(zone, change + 2 * DAY, 12)
        begins, ends = datetime(1, 1, 1, 22).time(), datetime(1, 1, 1, 9).time()

        nights = list(daily_hours(begins, ends, ZoneInfo(zone), start=start, end=end))

        evenings = [change + n * DAY for n in (-2, -1, 0, 1)]
        assert nights == [(at_wall(zone, day, 22), at_wall(zone, day + DAY, 9)) for day in evenings]


def tell(lab) -> None:
    event = trail.record("project.resumed", lab.project, by=lab.ops)
    notify.tell(event, [lab.lead], "It goes on", "All of it.", "/projects/protein-folding/")
