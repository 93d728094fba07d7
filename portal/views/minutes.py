"""The minutes of a sitting: who decided what, when, with which reason and numbers; a page to print and a file."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from allocations import grants, rules
from allocations.days import day_of, start_of
from allocations.models import Pitch, SignOff
from allocations.queries import desk
from inventory.models import Event
from portal.forms.fields import day_field

MOST_DAYS = 31  # longer than a month are no minutes; the trail has a page of its own
LAST_DAY = date(9000, 1, 1)  # the day after it still is one


class DaysForm(forms.Form):
    """The days of the sitting, inclusive, in the site's zone."""

    start = day_field(_("From"))
    end = day_field(_("To"))

    def clean(self) -> dict[str, Any]:
        typed = super().clean() or {}
        start, end = typed.get("start"), typed.get("end")
        if start and end and not (start <= end <= LAST_DAY and end - start <= timedelta(days=MOST_DAYS)):
            raise forms.ValidationError(
                _("The last day comes no sooner than the first and at most %(n)s days later."), params={"n": MOST_DAYS}
            )
        return typed


@dataclass
class Item:
    """One pitch of the minutes with the answers that were given to it in these days."""

    pitch: Pitch
    answers: list[SignOff]

    @property
    def grant(self) -> Any:
        """The promise that came of it; None where none did."""
        return getattr(self.pitch, "grant", None)


@login_required
@require_safe
def desk_minutes(request: HttpRequest) -> HttpResponse:
    """What was decided on the days `from` to `to`; today without them."""
    context = _context(request)
    return render(request, "desk/minutes.html", context, status=422 if context["form"].errors else 200)


@login_required
@require_safe
def desk_minutes_file(request: HttpRequest) -> HttpResponse:
    """The same as a Markdown file."""
    context = _context(request)
    if context["form"].errors:
        return render(request, "desk/minutes.html", context, status=422)
    text = render_to_string("desk/minutes.md", context, request=request)
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="minutes-{context["start"]}-{context["end"]}.md"'
    return response


def _context(request: HttpRequest) -> dict[str, Any]:
    rules.require(request.user, "use_desk")
    today = day_of(timezone.now(), grants.site_zone())
    start = request.GET.get("from") or today.isoformat()
    form = DaysForm({"start": start, "end": request.GET.get("to") or start})
    if not form.is_valid():
        return {"form": form, "items": [], "events": [], "start": today, "end": today}
    days = form.cleaned_data
    zone = grants.site_zone()
    start_at, end_at = start_of(days["start"], zone), start_of(days["end"] + timedelta(days=1), zone)
    return {
        "form": form,
        "items": _items(request, start_at, end_at),
        "events": _events(request, start_at, end_at),
        "start": days["start"],
        "end": days["end"],
        "written_at": timezone.now(),
    }


def _items(request: HttpRequest, start_at: datetime, end_at: datetime) -> list[Item]:
    items: dict[int, Item] = {}
    for given in desk.sitting(request.user, start=start_at, end=end_at):
        items.setdefault(given.pitch_id, Item(given.pitch, [])).answers.append(given)
    return list(items.values())


def _events(request: HttpRequest, start_at: datetime, end_at: datetime) -> list[Event]:
    if not rules.can(request.user, "see_trail"):
        return []
    return list(desk.sitting_events(start=start_at, end=end_at))
