"""The budget week by week, each drawn at its tightest moment, with the grants that it is promised to."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from allocations.models import Grant
from portal.board.budget import WEEK, WEEKS, Budget
from portal.board.words import day_of, left_of, words
from portal.templatetags.figures import number

NAMED_GRANTS = 6  # a sentence with more names is not read
COLUMN, CHART_HEIGHT = 40, 150  # user units of the drawing


@dataclass(frozen=True)
class Week:
    """A column of the bar at the week's tightest moment: boxes are (y, height)."""

    x: int
    first: int
    last: int
    label: str
    grants: str
    limit: tuple[str, str]
    promised: tuple[str, str]
    taken: tuple[str, str]
    over: tuple[str, str]
    sentence: str
    numbers: tuple[int, int, int]


def weeks_of(budget: Budget, left: Sequence[int], given: Sequence[Grant], now: datetime, top: float) -> list[Week]:
    weeks, said = [], words()
    for week in range(WEEKS):
        begins, ends = now + week * WEEK, now + (week + 1) * WEEK
        first, last = bisect_right(budget.edges, begins) - 1, bisect_left(budget.edges, ends)
        at = min(range(first, last), key=lambda stretch: left[stretch])
        promised, room = budget.promised[at], budget.room[at]
        limit, total = max(0, promised + room), promised + room - left[at]
        label = day_of(begins)
        named = [grant for grant in given if grant.starts_at < ends and grant.ends_at > begins]
        weeks.append(
            Week(
                x=week * COLUMN,
                first=first,
                last=last,
                label=label,
                grants=_grants(named),
                limit=_box(0, limit, top),
                promised=_box(0, min(promised, limit), top),
                taken=_box(min(promised, limit), min(total, limit), top),
                over=_box(limit, total, top),
                sentence=said["week"]
                % {
                    "day": label,
                    "promised": number(promised),
                    "taken": number(total - promised),
                    "left": left_of(left[at], said),
                },
                numbers=(promised, total - promised, left[at]),
            )
        )
    return weeks


def _box(low: float, high: float, top: float) -> tuple[str, str]:
    """(y, height) of a box from `low` to `high` GPUs; none where that is nothing."""
    low, high = (CHART_HEIGHT * min(max(value, 0), top) / top for value in (low, high))
    return f"{CHART_HEIGHT - high:.1f}", f"{max(high - low, 0):.1f}"


def _grants(given: Sequence[Grant]) -> str:
    named = ", ".join(
        _("%(project)s %(n)s") % {"project": grant.project.name, "n": number(grant.gpus)}
        for grant in given[:NAMED_GRANTS]
    )
    more = len(given) - NAMED_GRANTS
    return _("%(grants)s and %(n)s more") % {"grants": named, "n": more} if more > 0 else named or _("no grants")
