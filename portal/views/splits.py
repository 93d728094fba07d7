"""The split: how the fleet is shared now, what would change, the two signatures, the history."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from allocations import queries, rules
from allocations import splits as decisions
from allocations.days import day_of, start_of
from allocations.grants import site_zone
from allocations.models import Division, Person, Role, Split, SplitException
from allocations.queries.promises import ModelCapacity
from inventory.models import GpuModel
from portal.charts import split_history
from portal.forms import ExceptionForm, ReasonForm, SignSplitForm, SplitForm
from portal.forms.splits import WHOLE
from portal.pages import newest_first
from portal.views.acting import refused

HISTORY_ROWS = 20
CHARTED_SPLITS = 40  # steps of the history chart; older ones would be narrower than a pixel


@login_required
@require_safe
def split(request: HttpRequest) -> HttpResponse:
    """The split in force by model, the proposals that wait, the form for a new one, the history."""
    return show(request)


def _initial(last: Split | None) -> dict[str, Any]:
    """The form filled with the last split that is signed, be it in force or still to come."""
    initial: dict[str, Any] = {"starts_on": day_of(timezone.now() + timedelta(days=1), site_zone())}
    for weight in last.weights.all() if last else []:
        initial[f"w-{weight.model_id}"] = f"{weight.weight.normalize():f}"
    for line in last.lines.all() if last else []:
        initial[f"p-{line.model_id or 'all'}-{line.division.slug}"] = f"{line.percent.normalize():f}"
    return initial


def _split_form(data: Any, *, models: list[GpuModel] | None = None, initial: dict[str, Any] | None = None) -> SplitForm:
    divisions = [division for division in queries.divisions_of_lab() if division.ended_at is None]
    models = list(GpuModel.objects.order_by("name")) if models is None else models
    return SplitForm(data, divisions=divisions, models=models, initial=initial)


def show(request: HttpRequest, form: SplitForm | None = None, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page, with what was typed where there is a form; nothing is written from here on."""
    with queries.one_look(anew=True):
        return _show(request, form, status, more)


def _show(request: HttpRequest, form: SplitForm | None, status: int, more: dict[str, Any]) -> HttpResponse:
    person, now = request.user, timezone.now()
    mandates = queries.mandates_of(person)
    capacities = queries.capacities_of(at=now)
    exceptions = queries.exceptions_open(at=now).order_by("starts_at", "pk")
    current, coming = queries.effective_split(now), list(queries.coming_splits(now))
    weights, held = queries.weights_of(current), queries.held_by_division()
    models, last = [room.model for room in capacities], coming[-1] if coming else current
    form = form or _split_form(None, models=models, initial=_initial(last))
    context = {
        "current": current,
        "totals": queries.totals_of(capacities, weights, at=now, held=held),
        "coming": coming,
        "models": [_row(room, now) for room in capacities],
        "debts": queries.debts_of(capacities, at=now, person=person),
        "exceptions": [_exception(row, person) for row in exceptions],
        "exception_form": exception_form(person),
        "may_except": any(mandate.is_own for mandate in mandates),
        "divisions": form.divisions,
        "waiting": [_proposal(split, person) for split in _proposed()],
        "page": newest_first(queries.splits_visible(), request, size=HISTORY_ROWS),
        **_history(now),
        "form": form,
        "may_propose": rules.can(person, "propose_split"),
        "signers": queries.roles_for_split(),
        "renews_within_days": queries.RENEWS_WITHIN_DAYS,
        "withdraw_form": ReasonForm(),
        **more,
    }
    return render(request, "split/split.html", context, status=status)


def _row(room: ModelCapacity, now: Any) -> dict[str, Any]:
    """A model's line of the page: healthy GPUs, each division's share and promise, the reserve."""
    parts = [
        {
            "division": own.division,
            "share": own.share.at(now),
            "signed": own.split_share.at(now),
            "emergency": own.emergency.at(now),
            "promised": own.promised.at(now),
            "free": own.free.at(now),
            "debt": own.debt.at(now),
        }
        for own in room.divisions.values()
    ]
    healthy = room.healthy.at(now)
    reserve = healthy - sum(own.split_share.at(now) for own in room.divisions.values())
    return {
        "model": room.model,
        "healthy": healthy,
        "coming": room.coming,
        "parts": parts,
        "reserve": reserve,
        "is_beside": any(part["share"] != part["signed"] or part["emergency"] for part in parts),
    }


def _proposed() -> list[Split]:
    return list(queries.splits_visible().filter(state=Split.State.PROPOSED).order_by("starts_at", "pk"))


def _proposal(row: Split, person: Person) -> dict[str, Any]:
    """A proposal with its signature fields, what it would do, and whether this person signs or withdraws it."""
    return {
        "split": row,
        "fields": queries.signature_fields(row, person),
        "preview": _preview_of(row, person),
        "may_withdraw": rules.can(person, "withdraw_split", row),
    }


def _preview_of(row: Split, person: Person) -> queries.SplitPreview:
    starts_at = max(row.starts_at, timezone.now())
    weights = queries.weights_of(row)
    return queries.preview_for(queries.percents_of(row), starts_at=starts_at, person=person, weights=weights)


def _exception(row: SplitException, person: Person) -> dict[str, Any]:
    """An exception with its signature fields, and whether this person signs or withdraws it."""
    may_withdraw = row.state == SplitException.State.PROPOSED and rules.can(person, "withdraw_exception", row)
    return {"exception": row, "fields": queries.signature_fields(row, person), "may_withdraw": may_withdraw}


def exception_form(person: Person, data: Any = None) -> ExceptionForm:
    """For the divisions that the person may propose one for."""
    own = [row.pk for row in queries.divisions_of_lab() if rules.can(person, "propose_exception", row)]
    initial = {"starts_on": day_of(timezone.now(), site_zone())}
    divisions = Division.objects.filter(pk__in=own) if own else Division.objects.none()
    return ExceptionForm(data, divisions=divisions, initial=initial, prefix="exception")


def _history(now: Any) -> dict[str, Any]:
    """The default line of each signed split, oldest first, as boxes, and the instant at which they begin."""
    steps = queries.default_shares(until=now, most=CHARTED_SPLITS)
    return {"history": split_history(steps, until=now), "history_from": steps[0][0] if steps else None}


@login_required
@require_safe
def split_preview(request: HttpRequest) -> HttpResponse:
    """Who would stand over with what is typed; nothing is written."""
    rules.require(request.user, "propose_split")
    form = _split_form(request.GET)
    return render(request, "split/split.html#preview", _preview(form, request.user))


def _preview(form: SplitForm, person: Person) -> dict[str, Any]:
    """The effects of what is typed; None while it makes no sense yet."""
    form.is_valid()
    typed = {name: value for name, value in form.cleaned_data.items() if name != "reason"}
    percents = form.percents()
    sums_fit = all(sum(shares.values(), Decimal(0)) <= WHOLE for shares in percents.values())
    only_reason_missing = set(form.errors) <= {"reason"}
    if not only_reason_missing or not sums_fit or not typed.get("starts_on"):
        return {"preview": None, "over": not sums_fit}
    starts_at = max(start_of(typed["starts_on"], site_zone()), timezone.now())
    preview = queries.preview_for(percents, starts_at=starts_at, person=person, weights=form.weights())
    return {"preview": preview, "over": False}


@login_required
@require_POST
def split_propose(request: HttpRequest) -> HttpResponse:
    """A proposal that waits for its signatures; "look" only shows what it would do."""
    rules.require(request.user, "propose_split")
    form = _split_form(request.POST)
    if request.POST.get("do") == "look":
        return show(request, form, **_preview(form, request.user))

    def propose() -> str:
        decisions.propose_split(
            by=request.user,
            starts_at=start_of(form.cleaned_data["starts_on"], site_zone()),
            percents=form.percents(),
            weights=form.weights(),
            reason=form.cleaned_data["reason"],
        )
        return _("Proposed. It holds once both signatures are there.")

    status = refused(request, form, propose)
    return redirect("split") if status is None else show(request, form, status=status, **_preview(form, request.user))


@login_required
@require_POST
def split_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's signature is under the split, in the role whose field was pressed."""
    row = get_object_or_404(queries.splits_visible(), public_id=public_id)
    form = SignSplitForm(request.POST)
    role = get_object_or_404(Role, slug=form.cleaned_data["role"] if form.is_valid() else "")
    decisions.sign_split(split=row, by=request.user, role=role)
    row.refresh_from_db()
    if row.state == Split.State.SIGNED:
        messages.success(request, _("Signed by all; it holds from its day."))
    else:
        messages.success(request, _("Signed. It waits for the other signature."))
    return redirect("split")


@login_required
@require_POST
def split_withdraw(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The proposal is off the table."""
    row = get_object_or_404(queries.splits_visible(), public_id=public_id)
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    decisions.withdraw_split(split=row, by=request.user, reason=reason)
    messages.success(request, _("The proposal is withdrawn."))
    return redirect("split")


@login_required
@require_safe
def split_compare(request: HttpRequest) -> HttpResponse:
    """Two proposals beside each other and what each would do, for a screen or for paper."""
    person, waiting = request.user, _proposed()
    chosen = [row for row in waiting if str(row.public_id) in request.GET.getlist("split")] or waiting
    shown = [{"split": row, "preview": _preview_of(row, person)} for row in chosen[:2]]
    return render(request, "split/compare.html", {"shown": shown, "waiting": waiting})
