"""Exceptions above the split: proposed, signed, withdrawn; they are shown on the split's page."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from allocations import exceptions as decisions
from allocations.days import plus_days, start_of
from allocations.grants import site_zone
from allocations.models import Role, SplitException
from portal.forms import SignSplitForm
from portal.views.acting import refused
from portal.views.splits import exception_form, show


@login_required
@require_POST
def exception_propose(request: HttpRequest) -> HttpResponse:
    """An exception above the split that waits for its signatures."""
    form = exception_form(request.user, request.POST)

    def propose() -> str:
        said, zone = dict(form.cleaned_data), site_zone()
        starts_at = start_of(said.pop("starts_on"), zone)
        ends_at = plus_days(start_of(said.pop("ends_on"), zone), 1, zone)
        decisions.propose_exception(by=request.user, starts_at=starts_at, ends_at=ends_at, **said)
        return _("Proposed. It holds once all have signed, and ends by itself.")

    status = refused(request, form, propose)
    return redirect("split") if status is None else show(request, status=status, exception_form=form)


def _row(public_id: UUID) -> SplitException:
    return get_object_or_404(SplitException.objects.select_related("model", "division"), public_id=public_id)


@login_required
@require_POST
def exception_sign(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The person's signature is under the exception, in the role whose field was pressed."""
    form = SignSplitForm(request.POST)
    role = get_object_or_404(Role, slug=form.cleaned_data["role"] if form.is_valid() else "")
    decisions.sign_exception(exception=_row(public_id), by=request.user, role=role)
    messages.success(request, _("Signed."))
    return redirect("split")


@login_required
@require_POST
def exception_withdraw(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The exception is off the table."""
    decisions.withdraw_exception(exception=_row(public_id), by=request.user)
    messages.success(request, _("Withdrawn."))
    return redirect("split")
