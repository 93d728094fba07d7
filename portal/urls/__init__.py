"""Every address of the portal: decisions, operation, the API, health and the administration."""

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

from portal.urls import decide, operate
from portal.views import errors, health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password_change")),
    path("admin/", admin.site.urls),
    *decide.urlpatterns,
    *operate.urlpatterns,
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.broken
