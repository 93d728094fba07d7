"""The queue of a signer: one pitch fills the screen, four facts and the answers, the next one at once."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import pitches as decisions
from allocations import queries, recusals
from allocations.errors import BadTerms
from allocations.models import Pitch, Role, SignOff
from allocations.models.terms import Terms
from portal.forms import SignOffForm
from portal.outlook import outlook_of_pitch
from portal.outlook.displaced import displaced_by_pitch
from portal.pages import KEY_DIGITS, LARGEST_KEY
from portal.results_shown import results_shown
from portal.views.acting import INVALID, refused
from portal.views.queue_page import QUEUE_ROWS, other_models, show_queue, signable

VERDICTS = {
    SignOffForm.CHANGES: SignOff.Verdict.CHANGES,
    SignOffForm.DECLINE: SignOff.Verdict.DECLINE,
    SignOffForm.WAITLIST: SignOff.Verdict.WAITLIST,
}
PAST_ROWS = 5
LATER_ROWS = 10  # a look ahead, not a list to work through


@login_required
@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    """What waits for the person's signature, the longest wait first and opened; `?undo=` names what can be undone."""
    return show_queue(request, None, signed=_undoable(request))


@login_required
@require_safe
def queue_item(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """One pitch of the queue, opened; one that waits for somebody else is shown on its own page."""
    waiting = list(signable(request)[:QUEUE_ROWS])
    row = next((pitch for pitch in waiting if pitch.public_id == public_id), None)
    row = row or signable(request).filter(public_id=public_id).first()
    if row is None:
        get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
        return redirect("pitch", public_id)
    return show_queue(request, row, waiting=waiting)


@login_required
@require_safe
def queue_coming(request: HttpRequest) -> HttpResponse:
    """What the person will be asked to sign once others have, and which projects it has declared a conflict with."""
    context = {
        "later": queries.coming_to(request.user)[:LATER_ROWS],
        "conflicts": queries.conflicts_now().filter(person=request.user).select_related("project"),
    }
    return _part(request, "queue/coming.html", "#coming", context)


@login_required
@require_safe
def queue_history(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """What came before a pitch of the queue: the project's last ones, and those of anybody that look like it."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    decided = row.project.pitches.filter(state__in=[Pitch.State.GRANTED, Pitch.State.DECLINED])
    context = {
        "item": row,
        "displaced": displaced_by_pitch(row, person=request.user) if row.state in Pitch.SIGNABLE else None,
        "past": decided.select_related("model", "offered_model").order_by("-pk")[:PAST_ROWS],
        "alike": queries.look_alikes(title=row.title, why=row.why, project=row.project, person=request.user, but=row),
        **results_shown(row),
    }
    return _part(request, "queue/history.html", "#history", context)


def _part(request: HttpRequest, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    """The part of the page that a script asks for, or the whole page."""
    response = render(request, f"{page}{part if request.htmx else ''}", context)  # type: ignore[attr-defined]
    patch_vary_headers(response, ["HX-Request"])
    return response


@login_required
@require_safe
def queue_terms(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The rest of what an approver may put on the table: another model, other days."""
    row = get_object_or_404(signable(request), public_id=public_id)
    context = {
        "item": row, "terms": row.terms, "answer": "", "form": SignOffForm(), "choices": other_models(row),
        "mandates": queries.mandates_to_sign(queries.load_signatures(row), request.user),
    }  # fmt: skip
    return _part(request, "queue/terms.html", "#fields", context)


@login_required
@require_POST
def pitch_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's answer stands; the next pitch is on the screen. A refusal keeps what was typed."""
    row = get_object_or_404(queries.pitches_visible_to(request.user), public_id=public_id)
    form = SignOffForm(request.POST)
    given: list[SignOff] = []

    def answer() -> str:
        given.extend(_sign(request, row, form))
        return "" if given else _("You stepped aside: %(pitch)s. The others have been told.") % {"pitch": row.title}

    status = refused(request, form, answer)
    if status is None:
        if form.cleaned_data["answer"] == SignOffForm.LESS:
            _warn_of_misfit(request, row)
        return _next(request, next(iter(given), None))
    if status != INVALID:
        row.refresh_from_db()
    if queries.mandates_to_sign(row, request.user):
        return show_queue(request, row, form=form, status=status)
    return _gone(request, form, status)


def _sign(request: HttpRequest, row: Pitch, form: SignOffForm) -> list[SignOff]:
    """The answer that stands now; none where the person stepped aside, which nothing takes back."""
    typed = form.cleaned_data
    if typed["answer"] == SignOffForm.LESS and typed["round"] == row.round:
        _require_other_terms(row, form)
    if typed["answer"] == SignOffForm.RECUSE:
        recusals.recuse(pitch=row, by=request.user, reason=typed["reason"])
        return []
    signed = decisions.sign_off(
        pitch=row,
        by=request.user,
        role=get_object_or_404(Role, slug=typed["role"]),
        verdict=VERDICTS.get(typed["answer"], SignOff.Verdict.APPROVE),
        round=typed["round"],
        reason=typed["reason"],
        **form.said,
    )
    return [signed]


def _require_other_terms(row: Pitch, form: SignOffForm) -> None:
    """Raises BadTerms where "less" says what lies on the table already: that would be a plain approval unawares."""
    said = {name: value or getattr(row.terms, name) for name, value in form.said.items()}
    if Terms(**said) == row.terms:
        words = {"gpus": row.terms.gpus}
        message = _("%(gpus)s on these days are on the table already: name fewer or other days, or press Approve.")
        raise BadTerms(message % words, field="gpus")


def _warn_of_misfit(request: HttpRequest, row: Pitch) -> None:
    """New terms that wait for others and do not fit: whoever put them on the table hears it now, not the last."""
    if row.state == Pitch.State.SUBMITTED and not (outlook := outlook_of_pitch(row)).fits:
        words = {"gpus": row.terms.gpus, "free": max(outlook.free_gpus, 0)}
        messages.warning(request, _("%(gpus)s do not fit on those days as things stand; up to %(free)s do.") % words)


def _next(request: HttpRequest, signed: SignOff | None) -> HttpResponse:
    """The next pitch, and for some seconds the way back."""
    if request.htmx:  # type: ignore[attr-defined]
        return show_queue(request, None, signed=signed, address=reverse("queue"))
    return redirect(f"{reverse('queue')}?undo={signed.pk}" if signed else "queue")


def _gone(request: HttpRequest, form: SignOffForm, status: int) -> HttpResponse:
    """Somebody was first: the message says so, and the queue shows how it stands now."""
    for error in form.non_field_errors():
        messages.error(request, error)
    return show_queue(request, None, status=status)


def _undoable(request: HttpRequest) -> SignOff | None:
    """The person's own answer that the address names, while it can still be undone."""
    named = request.GET.get("undo", "")
    if not named.isdecimal() or len(named) > KEY_DIGITS:
        return None
    since = timezone.now() - timedelta(seconds=settings.UNDO_S)
    own = SignOff.objects.filter(person=request.user, at__gt=since)
    return own.select_related("pitch__model", "pitch__offered_model").filter(pk=min(int(named), LARGEST_KEY)).first()
