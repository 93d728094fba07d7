"""What the queue shows: the list, the opened pitch with what an executive needs, what comes later, the way back."""

from math import ceil
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from allocations import queries
from allocations.models import Pitch, SignOff
from allocations.queries.standing import standings_of
from inventory.models import GpuModel
from portal.earlier import earlier_of, revised_of
from portal.forms import SignOffForm
from portal.outlook import outlook_of_pitch
from portal.views.pitch_story import story_of

QUEUE_ROWS = 50  # nobody decides more in one sitting; the rest comes up as these go


def show_queue(
    request: HttpRequest,
    row: Pitch | None,
    *,
    waiting: list[Pitch] | None = None,
    form: SignOffForm | None = None,
    signed: SignOff | None = None,
    address: str = "",
    status: int = 200,
) -> HttpResponse:
    """The queue with `row` opened (None: the first), `signed` for some seconds to be undone, under a new `address`."""
    with queries.one_look():  # nothing is written from here on
        rows = list(signable(request)[:QUEUE_ROWS]) if waiting is None else waiting
        own = next((pitch for pitch in rows if row and pitch.pk == row.pk), row)
        response = _drawn(request, own, rows, form, signed, status)
    if address and request.htmx:  # type: ignore[attr-defined]
        response.headers["HX-Push-Url"] = address
    return response


def signable(request: HttpRequest) -> QuerySet[Pitch]:
    """The person's queue and waitlists, each annotated `is_own_project`: the person works there, too."""
    own = queries.projects_with(request.user, "view_project").filter(pk=OuterRef("project"))
    return queries.signable_by(request.user).annotate(is_own_project=Exists(own.order_by()))


def _drawn(
    request: HttpRequest,
    row: Pitch | None,
    rows: list[Pitch],
    form: SignOffForm | None,
    signed: SignOff | None,
    status: int,
) -> HttpResponse:
    # What is on a waitlist waits for nobody: it is opened by a person, not by the end of the queue.
    row = row or next((pitch for pitch in rows if pitch.state == Pitch.State.SUBMITTED), None)
    context: dict[str, Any] = {
        "waiting": [pitch for pitch in rows if pitch.state == Pitch.State.SUBMITTED],
        "waitlist": [pitch for pitch in rows if pitch.state == Pitch.State.WAITLISTED],
        "item": row,
        "undo": _undo_of(signed),
    }
    if row is not None:
        queries.load_signatures(row)
        context |= _facts(request, row) | {"form": form or SignOffForm()}
        keys = [pitch.pk for pitch in rows]
        place = keys.index(row.pk) if row.pk in keys else 0
        context |= {
            "next_item": rows[place + 1] if place + 1 < len(rows) else None,
            "previous_item": rows[place - 1] if place > 0 else None,
            "place": place + 1,
        }
    # A browser that goes back asks with htmx's header, too, and wants the whole page.
    is_part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    context["is_part"] = is_part
    response = render(request, f"queue/list.html{'#queue' if is_part else ''}", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _undo_of(signed: SignOff | None) -> dict[str, Any] | None:
    if signed is None:
        return None
    left_s = settings.UNDO_S - (timezone.now() - signed.at).total_seconds()
    return {"sign_off": signed, "left_s": ceil(left_s), "told": _told(signed)} if left_s > 0 else None


def _told(signed: SignOff) -> str:
    """What the answer did; that nobody knows yet is said beside it."""
    row = signed.pitch
    words = {"pitch": row.title, "rank": row.waitlist_rank, "gpus": row.terms.gpus, "model": row.terms.model.name}
    if signed.verdict == SignOff.Verdict.WAITLIST:
        return _("On the waitlist at rank %(rank)s: %(pitch)s.") % words
    told = {
        Pitch.State.DECLINED: _("Declined: %(pitch)s."),
        Pitch.State.GRANTED: _("Granted: %(gpus)s %(model)s for %(pitch)s."),
        Pitch.State.CHANGES: _("Asked for changes: %(pitch)s. It comes back when it is submitted again."),
        Pitch.State.OFFERED: _("Offered: %(pitch)s. The pitcher accepts or declines these terms."),
    }
    waits = _("Signed for %(gpus)s %(model)s: %(pitch)s. It waits for the other signatures.")
    return told.get(Pitch.State(row.state), waits) % words


def _cannot_be_granted(row: Pitch, *, fits: bool) -> bool:
    """The next signature is the last one, and the terms on the table would be refused with it."""
    is_let_through = row.is_over_share and row.terms.model == row.model  # those who sign above the share have said so
    return not fits and not is_let_through and len(queries.unsigned_roles(row)) == 1


def _facts(request: HttpRequest, row: Pitch) -> dict[str, Any]:
    """What an executive needs for one pitch; why the ask does not fit, where it does not."""
    outlook = outlook_of_pitch(row)
    return {
        "mandates": queries.mandates_to_sign(row, request.user),
        "story": story_of(row, grant=None),
        "outlook": outlook,
        "cannot_be_granted": _cannot_be_granted(row, fits=outlook.fits),
        "earlier": earlier_of(row, request.user),
        "revised": revised_of(row),
        "choices": SimpleLazyObject(lambda: other_models(row)),
        "record": standings_of([row.project])[row.project_id],
    }


def other_models(row: Pitch) -> list[dict[str, Any]]:
    """The models that an approver may name in place of the one on the table, with what would do of each."""
    named = {each.model_id: each.gpus for each in row.alternatives.all()}
    rows = GpuModel.objects.exclude(pk=row.terms.model.pk).order_by("name")
    return [{"model": each, "gpus": named.get(each.pk)} for each in rows]
