"""Addresses of the API."""

from typing import NoReturn

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView
from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from knox.views import LogoutAllView, LogoutView
from rest_framework.exceptions import NotFound
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView

from portal.api import viewsets
from portal.api.enrol import Enrol
from portal.api.login import LogIn


class Elsewhere(APIView):
    """Addresses that do not exist are told as problems too."""

    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> NoReturn:
        """Raises NotFound."""
        raise NotFound


GUARDED = {"permission_classes": [IsAuthenticated]}
VERSION = settings.SPECTACULAR_SETTINGS["VERSION"]
RENDERERS = [OpenApiJsonRenderer2, OpenApiYamlRenderer]  # JSON first: a refusal is told in it
bare = extend_schema(request=None, responses={204: None})
router = SimpleRouter()
router.register("models", viewsets.GpuModels, basename="api-model")
router.register("nodes", viewsets.Nodes, basename="api-node")
router.register("gpus", viewsets.Gpus, basename="api-gpu")
router.register("projects", viewsets.Projects, basename="api-project")
router.register("pitches", viewsets.Pitches, basename="api-pitch")
router.register("splits", viewsets.Splits, basename="api-split")
router.register("grants", viewsets.Grants, basename="api-grant")
router.register("changes", viewsets.Changes, basename="api-change")
router.register("conflicts", viewsets.Conflicts, basename="api-conflict")
router.register("loans", viewsets.Loans, basename="api-loan")
router.register("exceptions", viewsets.Exceptions, basename="api-exception")
router.register("scenarios", viewsets.Scenarios, basename="api-scenario")
router.register("idle", viewsets.IdleCases, basename="api-idle")
router.register("quiet-phases", viewsets.IdlePhases, basename="api-quiet-phase")
router.register("needs", viewsets.Needs, basename="api-need")
router.register("plans", viewsets.Plans, basename="api-plan")
router.register("moves", viewsets.Moves, basename="api-move")
router.register("findings", viewsets.Findings, basename="api-finding")
router.register("arrivals", viewsets.Arrivals, basename="api-arrival")
router.register("events", viewsets.Events, basename="api-event")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include(router.urls)),
    path("modes/", viewsets.Modes.as_view(), name="api_modes"),
    path("maintenance/", viewsets.Maintenance.as_view(), name="api_maintenance"),
    path("maintenance/lift/", viewsets.LiftMaintenance.as_view(), name="api_maintenance_lift"),
    path("polling/", viewsets.Polling.as_view(), name="api_polling"),
    path("enrol/", Enrol.as_view(), name="api_enrol"),
    path("auth/login/", LogIn.as_view(), name="api_login"),
    path("auth/logout/", bare(LogoutView).as_view(), name="api_logout"),
    path("auth/logout-all/", bare(LogoutAllView).as_view(), name="api_logout_all"),
    # With a version named here the one in the address is not read: it would go into a header as it comes.
    path(
        "schema/",
        SpectacularAPIView.as_view(**GUARDED, renderer_classes=RENDERERS, api_version=VERSION),
        name="api_schema",
    ),
    path("docs/", SpectacularSwaggerView.as_view(**GUARDED, url_name="api_schema"), name="api_docs"),
    path("", RedirectView.as_view(pattern_name="api_docs"), name="api"),
    path("<path:address>", Elsewhere.as_view()),
]
