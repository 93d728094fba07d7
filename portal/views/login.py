"""Log in, the page of a locked login, and the change of one's password."""

from django import forms
from django.conf import settings
from django.contrib.auth import views as auth
from django.contrib.messages.views import SuccessMessageMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

MINUTES_PER_HOUR = 60


class LogIn(auth.LoginView):
    """The door: name and password; who is logged in goes home."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True


class ChangePassword(SuccessMessageMixin, auth.PasswordChangeView):
    """A new password, after the old one was given. Other sessions end with it, and so do the API's tokens."""

    template_name = "registration/password_change.html"
    success_url = reverse_lazy("home")
    success_message = _("Your password is changed.")

    def form_valid(self, form: forms.Form) -> HttpResponse:
        """Whoever got hold of a token has it no longer."""
        response = super().form_valid(form)
        self.request.user.auth_token_set.all().delete()
        return response


def locked_out(request: HttpRequest, credentials: dict[str, str] | None = None, *_args: object) -> HttpResponse:
    """Too many wrong passwords: says for how long this login stays closed."""
    minutes = round(settings.AXES_COOLOFF_TIME * MINUTES_PER_HOUR)
    return render(request, "registration/locked_out.html", {"minutes": minutes}, status=429)
