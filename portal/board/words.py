"""The sentences that the desk says on the server and in the browser alike, and how it writes days and numbers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.utils import timezone
from django.utils.dates import MONTHS_3
from django.utils.translation import gettext as _

from portal.templatetags.figures import number

NAMED_ROWS = 4  # a sentence with more numbers is not read


def words() -> dict[str, str]:
    """The sentences that server and browser both say."""
    return {
        "nothing": _("Nothing is marked. Mark pitches to see what they leave for the others."),
        "summary": _("%(n)s marked: %(peak)s GPUs at the peak, %(hours)s GPU-hours, %(left)s at the tightest moment."),
        "out": _("%(out)s of them no longer fit."),
        "left": _("%(n)s left"),
        "over": _("%(n)s over"),
        "week": _("Week of %(day)s: %(promised)s promised, %(taken)s marked here, %(left)s."),
        "fits": _("fits"),
        "starts": _("from %(day)s"),
        "waits": _("waitlist"),
        "waits_at": _("waitlist, rank %(n)s"),
        "short": _("%(n)s short from %(day)s"),
        "some": _("; %(n)s fit"),
        "more": _("%(rows)s and %(n)s more"),
        "sign": _("You approve %(approve)s and decline %(decline)s."),
        "listed": _("%(n)s for the waitlist."),
        "misfits": _("Over the cap as marked, so not decided: %(rows)s (%(why)s)."),
        "if_ended": _("It would fit once the grants that are left out have ended; today they run."),
        "elsewhere": _("%(model)s: asking ..."),
        "would_do": _("%(model)s, %(n)s would do"),
        "others": _("%(n)s marked ones wait for others' signatures and stay as they are."),
        "none": _("Nothing to decide is marked."),
        "loading": _("Opens ..."),
        "moved": _("%(title)s is now number %(n)s."),
    }


def left_of(gpus: int, said: Mapping[str, str]) -> str:
    """What is left, in one of the `words`."""
    if gpus < 0:
        return said["over"] % {"n": number(-gpus)}
    return said["left"] % {"n": number(gpus)}


def day_of(at: datetime) -> str:
    local = timezone.localtime(at)
    return f"{local.day} {str(MONTHS_3[local.month]).title()}"


def numbers_of(ranks: Sequence[int]) -> str:
    named = ", ".join(f"#{rank}" for rank in ranks[:NAMED_ROWS])
    more = len(ranks) - NAMED_ROWS
    return _("%(rows)s and %(n)s more") % {"rows": named, "n": more} if more > 0 else named
