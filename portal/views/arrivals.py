"""Hardware that is to come: listed, announced, moved to another day, cancelled, marked as arrived."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from allocations import rules
from inventory import arrivals as services
from inventory import queries as facts
from inventory.models import Arrival
from portal.forms.health import ArrivalForm, CancelArrivalForm, MoveArrivalForm
from portal.forms.operate import LiftForm
from portal.views.acting import refused

OVER_SHOWN = 50  # the trail has the rest


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def arrivals(request: HttpRequest) -> HttpResponse:
    """What is to come and what came, and for ops the form for more."""
    rules.require(request.user, "see_fleet")
    if request.method != "POST":
        return _page(request, ArrivalForm())
    rules.require(request.user, "plan_arrivals")
    form = ArrivalForm(request.POST)

    def act() -> str:
        services.announce_arrival(by=request.user, **form.cleaned_data)
        return _("Announced. It counts for promises from its day on, marked as not there yet.")

    status = refused(request, form, act)
    return redirect("arrivals") if status is None else _page(request, form, status)


@login_required
@require_POST
def arrival_move(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """It comes on another day."""
    row, form = _row(request, public_id), MoveArrivalForm(request.POST, prefix=f"move-{public_id}")

    def act() -> str:
        services.move_arrival(arrival=row, by=request.user, **form.cleaned_data)
        return _("Moved. Promises are counted with the new day.")

    return _answer(request, row, form, refused(request, form, act))


@login_required
@require_POST
def arrival_cancel(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """It will not come."""
    row, form = _row(request, public_id), CancelArrivalForm(request.POST, prefix=f"cancel-{public_id}")

    def act() -> str:
        services.cancel_arrival(arrival=row, by=request.user, **form.cleaned_data)
        return _("Cancelled. It counts for no promise any more.")

    return _answer(request, row, form, refused(request, form, act))


@login_required
@require_POST
def arrival_arrived(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """It is there."""
    row, form = _row(request, public_id), LiftForm(request.POST)

    def act() -> str:
        services.mark_arrived(arrival=row, by=request.user, reason=form.cleaned_data["reason"])
        return _("Arrived. From now on what the nodes show counts.")

    return _answer(request, row, form, refused(request, form, act))


def _row(request: HttpRequest, public_id: UUID) -> Arrival:
    row = get_object_or_404(Arrival.objects.select_related("model"), public_id=public_id)
    rules.require(request.user, "plan_arrivals", row)
    return row


def _answer(request: HttpRequest, row: Arrival, form: Form, status: int | None) -> HttpResponse:
    return redirect("arrivals") if status is None else _page(request, ArrivalForm(), status, typed={row.pk: form})


def _page(
    request: HttpRequest, form: ArrivalForm, status: int = 200, typed: dict[int, Form] | None = None
) -> HttpResponse:
    may_plan = rules.can(request.user, "plan_arrivals")
    rows = list(facts.arrivals_to_come())
    context = {
        "form": form,
        "rows": [(row, *_forms(row, (typed or {}).get(row.pk))) for row in rows],
        "over": facts.arrivals_over()[:OVER_SHOWN],
        "may_plan": may_plan,
        "refusal": next(iter(typed.values())) if typed else None,
    }
    return render(request, "health/arrivals.html", context, status=status)


def _forms(row: Arrival, typed: Form | None) -> tuple[Form, Form]:
    """The forms of one arrival: for another day, and for its end."""
    move = typed if isinstance(typed, MoveArrivalForm) else None
    cancel = typed if isinstance(typed, CancelArrivalForm) else None
    return (
        move or MoveArrivalForm(prefix=f"move-{row.public_id}", initial={"arrives_on": row.arrives_on}),
        cancel or CancelArrivalForm(prefix=f"cancel-{row.public_id}"),
    )
