"""Addresses of operation: reshuffle, plans, fleet, nodes, trail, live parts and the API."""

from django.urls import URLPattern, URLResolver, include, path

from portal.views import enrolment, fleet, idle, live, modes, nodes, plans, reshuffle, trail

urlpatterns: list[URLPattern | URLResolver] = [
    path("reshuffle/", reshuffle.reshuffle, name="reshuffle"),
    path("reshuffle/needs/<uuid:public_id>/propose/", plans.plan_propose, name="plan_propose"),
    path("reshuffle/release/<slug:slug>/", plans.release_propose, name="release_propose"),
    path("reshuffle/repair/", plans.repair_propose, name="repair_propose"),
    path("reshuffle/adopt/", plans.adoption_propose, name="adoption_propose"),
    path("plans/<uuid:public_id>/", plans.plan, name="plan"),
    path("plans/<uuid:public_id>/commit/", plans.plan_commit, name="plan_commit"),
    path("plans/<uuid:public_id>/undo/", plans.plan_undo, name="plan_undo"),
    path("idle/", idle.cases, name="idle"),
    path("idle/<uuid:public_id>/", idle.case, name="idle_case"),
    path("idle/<uuid:public_id>/keep/", idle.case_keep, name="idle_keep"),
    path("projects/<slug:slug>/quiet/", idle.phases, name="idle_phases"),
    path("projects/<slug:slug>/quiet/declare/", idle.phase_declare, name="idle_phase_declare"),
    path("projects/<slug:slug>/quiet/<uuid:public_id>/end/", idle.phase_end, name="idle_phase_end"),
    path("fleet/", fleet.fleet, name="fleet"),
    path("fleet/tiles.json", fleet.fleet_tiles, name="fleet_tiles"),
    path("nodes/<str:name>/", nodes.node, name="node"),
    path("nodes/<str:name>/cordon/", nodes.node_cordon, name="node_cordon"),
    path("nodes/<str:name>/uncordon/", nodes.node_uncordon, name="node_uncordon"),
    path("nodes/<str:name>/join-code/", enrolment.join_code, name="node_join_code"),
    path("nodes/<str:name>/revoke-code/", enrolment.revoke_code, name="node_revoke_code"),
    path("nodes/<str:name>/renew-token/", enrolment.renew_token, name="node_renew_token"),
    path("nodes/<str:name>/revoke/", enrolment.revoke, name="node_revoke"),
    path("modes/", modes.islands, name="modes"),
    path("modes/island/", modes.island, name="modes_island"),
    path("trail/", trail.trail, name="trail"),
    path("trail/export.jsonl", trail.trail_export, name="trail_export"),
    path("live/", live.live, name="live"),
    path("api/", include("portal.api.urls")),
]
