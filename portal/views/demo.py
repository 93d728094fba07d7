"""The demo's one-click switch of person; without ALLOT_DEMO it does not exist."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from allocations.models import Person

BACKEND = "django.contrib.auth.backends.ModelBackend"


@require_POST
def become(request: HttpRequest) -> HttpResponse:
    """The visitor is now that person; the next page is the person's home."""
    if not settings.DEMO:
        raise Http404
    person = get_object_or_404(Person, username=request.POST.get("login", "").replace("\0", ""), is_active=True)
    login(request, person, backend=BACKEND)
    messages.success(request, _("You are now %(name)s.") % {"name": person.name})
    return redirect("home")
