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
from django.views.decorators.http import require_GET, require_POST

from allocations import queries, rules
from allocations import splits as decisions
from allocations.days import day_of, start_of
from allocations.errors import AllocationsError, NotAllowed
from allocations.grants import site_zone
from allocations.models import Division, Person, Role, Split
from allocations.queries.promises import ModelCapacity
from inventory.models import GpuModel
from portal.charts import split_history
from portal.forms import ReasonForm, SignSplitForm, SplitForm
from portal.forms.splits import WHOLE
from portal.pages import newest_first
from portal.problems import refuse

HISTORY_ROWS = 20
CHARTED_SPLITS = 40  # steps of the history chart; older ones would be narrower than a pixel


@login_required
@require_GET
def split(request: HttpRequest) -> HttpResponse:
    """The split in force by model, the proposals that wait, the form for a new one, the history."""
    return _show(request, _form(request))


def _form(request: HttpRequest) -> SplitForm:
    """The form, filled with the split in force."""
    current = queries.effective_split(timezone.now())
    initial: dict[str, Any] = {"starts_on": day_of(timezone.now() + timedelta(days=1), site_zone())}
    for line in current.lines.all() if current else []:
        initial[f"p-{line.model_id or 'all'}-{line.division.slug}"] = f"{line.percent.normalize():f}"
    return _split_form(None, initial=initial)


def _split_form(data: Any, *, initial: dict[str, Any] | None = None) -> SplitForm:
    divisions = list(Division.objects.filter(ended_at=None))
    return SplitForm(data, divisions=divisions, models=list(GpuModel.objects.order_by("name")), initial=initial)


def _show(request: HttpRequest, form: SplitForm, *, status: int = 200, **more: Any) -> HttpResponse:
    person, now = request.user, timezone.now()
    mandates = queries.mandates_of(person)
    context = {
        "current": queries.effective_split(now),
        "coming": list(queries.coming_splits(now)),
        "models": [_row(room, now) for room in queries.capacities_of(at=now)],
        "divisions": form.divisions,
        "waiting": [_proposal(split, person, mandates) for split in _proposed()],
        "page": newest_first(queries.splits_visible(), request, size=HISTORY_ROWS),
        "history": _history(now),
        "form": form,
        "may_propose": rules.can(person, "propose_split"),
        "signers": queries.roles_for_split(),
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
            "promised": own.promised.at(now),
            "free": own.free.at(now),
            "debt": own.debt.at(now),
        }
        for own in room.divisions.values()
    ]
    healthy = room.healthy.at(now)
    reserve = healthy - sum(own.share.at(now) for own in room.divisions.values())
    return {"model": room.model, "healthy": healthy, "parts": parts, "reserve": reserve}


def _proposed() -> list[Split]:
    return list(queries.splits_visible().filter(state=Split.State.PROPOSED).order_by("starts_at", "pk"))


def _proposal(row: Split, person: Person, mandates: list[queries.Mandate]) -> dict[str, Any]:
    """A proposal with its signature fields, what it would do, and whether this person signs or withdraws it."""
    signed = {signature.role_id: signature for signature in row.signatures.all()}
    counted = queries.people_of(signed.values())
    free = [] if person.pk in counted else [each for each in mandates if each.holder.pk not in counted]
    mine = {mandate.role.pk: mandate for mandate in reversed(free) if mandate.role.pk not in signed}
    fields = [{"role": role, "signature": signed.get(role.pk), "mine": mine.get(role.pk)} for role in row.roles.all()]
    return {
        "split": row,
        "fields": fields,
        "effects": queries.preview_split(queries.percents_of(row), starts_at=max(row.starts_at, timezone.now())),
        "may_withdraw": rules.can(person, "withdraw_split", row),
    }


def _history(now: Any) -> Any:
    """The default line of each signed split, oldest first, as boxes."""
    signed = queries.splits_visible().filter(state=Split.State.SIGNED, starts_at__lte=now).order_by("-starts_at", "-pk")
    steps = [(row.starts_at, _default_shares(row)) for row in reversed(signed[:CHARTED_SPLITS])]
    return split_history(steps, until=now)


def _default_shares(row: Split) -> list[tuple[str, float]]:
    return [(line.division.slug, float(line.percent)) for line in row.lines.all() if line.model_id is None]


@login_required
@require_GET
def split_preview(request: HttpRequest) -> HttpResponse:
    """Who would stand over with what is typed; nothing is written."""
    rules.require(request.user, "propose_split")
    form = _split_form(request.GET)
    return render(request, "split/split.html#preview", _preview(form))


def _preview(form: SplitForm) -> dict[str, Any]:
    """The effects of what is typed; None while it makes no sense yet."""
    form.is_valid()
    typed = {name: value for name, value in form.cleaned_data.items() if name != "reason"}
    percents = form.percents()
    sums_fit = all(sum(shares.values(), Decimal(0)) <= WHOLE for shares in percents.values())
    only_reason_missing = set(form.errors) <= {"reason"}
    if not only_reason_missing or not sums_fit or not typed.get("starts_on"):
        return {"effects": None, "over": not sums_fit}
    starts_at = max(start_of(typed["starts_on"], site_zone()), timezone.now())
    return {"effects": queries.preview_split(percents, starts_at=starts_at), "over": False}


@login_required
@require_POST
def split_propose(request: HttpRequest) -> HttpResponse:
    """A proposal that waits for its signatures; "look" only shows what it would do."""
    rules.require(request.user, "propose_split")
    form = _split_form(request.POST)
    if request.POST.get("do") == "look":
        return _show(request, form, **_preview(form))
    status = 422
    if form.is_valid():
        try:
            decisions.propose_split(
                by=request.user,
                starts_at=start_of(form.cleaned_data["starts_on"], site_zone()),
                percents=form.percents(),
                reason=form.cleaned_data["reason"],
            )
        except NotAllowed:
            raise
        except AllocationsError as refusal:
            status = refuse(form, refusal)
        else:
            messages.success(request, _("Proposed. It holds once both signatures are there."))
            return redirect("split")
    return _show(request, form, status=status, **_preview(form))


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
