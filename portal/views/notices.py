"""The inbox: what a person was told, read or not, and how they want to be told outside the portal."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from allocations import notify, outbox
from allocations.errors import BadTerms
from allocations.models import NoticePreference
from portal.forms.notices import NoticePreferenceForm, ReadForm
from portal.pages import newest_first

PARTS = {"inbox": "#inbox"}


@login_required
@require_safe
@vary_on_headers("HX-Target")
def inbox(request: HttpRequest) -> HttpResponse:
    """What the person was told, newest first; `?unread=1` leaves out what was opened."""
    only_unread = bool(request.GET.get("unread"))
    rows = notify.unread_of(request.user) if only_unread else notify.notices_of(request.user)
    part = PARTS.get(request.htmx.target or "", "") if request.htmx else ""
    context = {"page": newest_first(rows, request), "only_unread": only_unread, "is_part": bool(part)}
    return render(request, f"notices/list.html{part}", context)


@login_required
@require_POST
def notice_open(request: HttpRequest, pk: int) -> HttpResponse:
    """The notice is read, and its page opens; one without a page is read in the inbox."""
    notice = get_object_or_404(notify.notices_of(request.user), pk=pk)
    notify.mark_read(notice=notice, by=request.user)
    is_ours = url_has_allowed_host_and_scheme(notice.path, allowed_hosts=None)
    return redirect(notice.path if is_ours else "inbox")


@login_required
@require_POST
def inbox_read(request: HttpRequest) -> HttpResponse:
    """All that the person saw in the list is read; what came since stays unread."""
    form = ReadForm(request.POST)
    if form.is_valid():
        read = notify.mark_all_read(by=request.user, up_to=form.cleaned_data["up_to"])
        said = ngettext("%(n)d notice marked as read.", "%(n)d notices marked as read.", read)
        messages.success(request, said % {"n": read})
    return redirect("inbox")


@login_required
@require_http_methods(["GET", "POST"])
def inbox_preferences(request: HttpRequest) -> HttpResponse:
    """How the person is told outside the portal; shown, and set."""
    wish = NoticePreference.objects.filter(person=request.user).first() or NoticePreference()
    form = NoticePreferenceForm(
        request.POST if request.method == "POST" else None,
        has_chat=bool(wish.chat_url),
        initial={name: getattr(wish, name) for name in ("by_mail", "by_chat", "quiet_from", "quiet_until")},
    )
    if form.is_valid():
        try:
            notify.set_preferences(by=request.user, **form.cleaned_data)
        except BadTerms as refusal:
            form.add_error("quiet_until", refusal.message)
        else:
            messages.success(request, _("Saved. From now on you are told so."))
            return redirect("inbox_preferences")
    context = {"form": form, "chat_address": outbox.hidden_address(wish.chat_url) if wish.chat_url else ""}
    return render(request, "notices/preferences.html", context, status=422 if form.errors else 200)
