"""Addresses of operation: reshuffle, plans, fleet, nodes, trail, live parts and the API."""

from django.urls import URLPattern, URLResolver, include, path

from portal.views import fleet, live, nodes, plans, reshuffle, trail

urlpatterns: list[URLPattern | URLResolver] = [
    path("reshuffle/", reshuffle.reshuffle, name="reshuffle"),
    path("reshuffle/needs/<uuid:public_id>/propose/", plans.plan_propose, name="plan_propose"),
    path("reshuffle/release/<slug:slug>/", plans.release_propose, name="release_propose"),
    path("reshuffle/repair/", plans.repair_propose, name="repair_propose"),
    path("plans/<uuid:public_id>/", plans.plan, name="plan"),
    path("plans/<uuid:public_id>/commit/", plans.plan_commit, name="plan_commit"),
    path("plans/<uuid:public_id>/undo/", plans.plan_undo, name="plan_undo"),
    path("fleet/", fleet.fleet, name="fleet"),
    path("fleet/tiles.json", fleet.fleet_tiles, name="fleet_tiles"),
    path("nodes/<str:name>/", nodes.node, name="node"),
    path("nodes/<str:name>/cordon/", nodes.node_cordon, name="node_cordon"),
    path("nodes/<str:name>/uncordon/", nodes.node_uncordon, name="node_uncordon"),
    path("trail/", trail.trail, name="trail"),
    path("trail/export.jsonl", trail.trail_export, name="trail_export"),
    path("live/", live.live, name="live"),
    path("api/", include("portal.api.urls")),
]
