"""The queue of a signer: one pitch fills the screen, four facts and four answers, the next one at once."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from allocations import pitches as decisions
from allocations import queries, recusals
from allocations.errors import AllocationsError, BadTerms, NotAllowed
from allocations.models import Pitch, Role, SignOff
from allocations.queries.standing import standings_of
from portal.earlier import earlier_of
from portal.forms import SignOffForm
from portal.outlook import outlook_of_pitch
from portal.problems import refuse
from portal.views.pitch_story import story_of

QUEUE_ROWS = 50  # nobody decides more in one sitting; the rest comes up as these go
PAST_ROWS = 5


@login_required
@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """What waits for the person's signature, the longest wait first and opened."""
    return _show(request, None)


@login_required
@require_GET
def queue_item(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One pitch of the queue, opened; one that waits for somebody else is shown on its own page."""
    waiting = list(_queue(request)[:QUEUE_ROWS])
    row = next((pitch for pitch in waiting if pitch.public_id == public_id), None)
    row = row or _queue(request).filter(public_id=public_id).first()
    if row is None:
        get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
        return redirect("pitch", public_id)
    return _show(request, row, waiting=waiting)


@login_required
@require_GET
def queue_history(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """What came before a pitch of the queue: the project's last ones, and those of anybody that look like it."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    decided = row.project.pitches.filter(state__in=[Pitch.State.GRANTED, Pitch.State.DECLINED])
    context = {
        "item": row,
        "past": decided.select_related("model").order_by("-pk")[:PAST_ROWS],
        "alike": queries.look_alikes(title=row.title, why=row.why, project=row.project, person=request.user, but=row),
    }
    part = "#history" if request.htmx else ""  # type: ignore[attr-defined]
    response = render(request, f"queue/history.html{part}", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@login_required
@require_POST
def pitch_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's answer stands; the next pitch is on the screen. A refusal keeps what was typed."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    form = SignOffForm(request.POST)
    status = 422
    if form.is_valid():
        try:
            signed = _sign(request, row, form)
        except NotAllowed:
            raise
        except AllocationsError as refusal:
            status = refuse(form, refusal)
            if not isinstance(refusal, BadTerms):
                row.refresh_from_db()
        else:
            messages.success(request, _told(signed, form.cleaned_data["answer"]))
            return _next(request)
    if queries.mandates_to_sign(row, request.user):
        return _show(request, row, form=form, status=status)
    return _gone(request, form, status)


def _sign(request: HttpRequest, row: Pitch, form: SignOffForm) -> Pitch:
    typed = form.cleaned_data
    if typed["answer"] == SignOffForm.RECUSE:
        recusals.recuse(pitch=row, by=request.user, reason=typed["reason"])
        row.refresh_from_db()
        return row
    declines = typed["answer"] == SignOffForm.DECLINE
    decisions.sign_off(
        pitch=row,
        by=request.user,
        role=get_object_or_404(Role, slug=typed["role"]),
        verdict=SignOff.Verdict.DECLINE if declines else SignOff.Verdict.APPROVE,
        round=typed["round"],
        gpus=typed["gpus"] if typed["answer"] == SignOffForm.LESS else None,
        reason=typed["reason"],
    )
    row.refresh_from_db()
    return row


def _told(row: Pitch, answer: str) -> str:
    if answer == SignOffForm.RECUSE:
        return _("You stepped aside: %(pitch)s. The others have been told.") % {"pitch": row.title}
    if row.state == Pitch.State.DECLINED:
        return _("Declined: %(pitch)s.") % {"pitch": row.title}
    if row.state == Pitch.State.GRANTED:
        return _("Granted: %(pitch)s. It is now a need until GPUs are assigned.") % {"pitch": row.title}
    if answer == SignOffForm.LESS:
        terms = {"pitch": row.title, "gpus": row.offered_gpus}
        return _("Signed for %(gpus)s GPUs: %(pitch)s. The others sign these terms too.") % terms
    return _("Signed: %(pitch)s. It waits for the other signatures.") % {"pitch": row.title}


def _next(request: HttpRequest) -> HttpResponse:
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("queue")
    response = _show(request, None)
    response.headers["HX-Push-Url"] = reverse("queue")
    return response


def _gone(request: HttpRequest, form: SignOffForm, status: int) -> HttpResponse:
    """Somebody was first: the message says so, and the queue shows how it stands now."""
    for error in form.non_field_errors():
        messages.error(request, error)
    return _show(request, None, status=status)


def _show(
    request: HttpRequest,
    row: Pitch | None,
    *,
    waiting: list[Pitch] | None = None,
    form: SignOffForm | None = None,
    status: int = 200,
) -> HttpResponse:
    with queries.one_look():  # nothing is written from here on
        return _drawn(request, row, list(_queue(request)[:QUEUE_ROWS]) if waiting is None else waiting, form, status)


def _queue(request: HttpRequest) -> QuerySet[Pitch]:
    """The person's queue, each annotated `is_own_project`: the person works there, too."""
    own = queries.projects_with(request.user, "view_project").filter(pk=OuterRef("project"))
    return queries.queue_of(request.user).annotate(is_own_project=Exists(own.order_by()))


def _drawn(
    request: HttpRequest, row: Pitch | None, waiting: list[Pitch], form: SignOffForm | None, status: int
) -> HttpResponse:
    row = row or (waiting[0] if waiting else None)
    context: dict[str, Any] = {"waiting": waiting, "item": row}
    if row is not None:
        queries.load_signatures(row)
        context |= _facts(request, row) | {"form": form or SignOffForm()}
        keys = [pitch.pk for pitch in waiting]
        place = keys.index(row.pk) if row.pk in keys else 0
        context |= {
            "next_item": waiting[place + 1] if place + 1 < len(waiting) else None,
            "previous_item": waiting[place - 1] if place > 0 else None,
            "place": place + 1,
        }
    # A browser that goes back asks with htmx's header, too, and wants the whole page.
    is_part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    context["is_part"] = is_part
    response = render(request, f"queue/list.html{'#queue' if is_part else ''}", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _facts(request: HttpRequest, row: Pitch) -> dict[str, Any]:
    """What an executive needs for one pitch; why the ask does not fit, where it does not."""
    return {
        "mandates": queries.mandates_to_sign(row, request.user),
        "story": story_of(row, grant=None),
        "outlook": outlook_of_pitch(row),
        "earlier": earlier_of(row, request.user),
        "record": standings_of([row.project])[row.project_id],
    }
