"""The fleet: as a map of tiles and as a table, with the data of the map."""

import hashlib
import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from allocations import rules
from allocations.models import Project
from allocations.queries import fleet as fleet_queries
from allocations.queries.fleet import Doing
from inventory.models import GpuModel
from portal.pages import newest_first

FILTERS = ("doing", "model", "project", "island", "node")
NOBODY, UNKNOWN = -1, -2  # in place of a project's index
SWATCHES = 30  # ten colours, each plain, barred and dotted: neighbours differ, a project keeps its own for ever


@login_required
@require_safe
def fleet(request: HttpRequest) -> HttpResponse:
    """The map, or with `?as=table` the same GPUs as rows with filters."""
    rules.require(request.user, "see_fleet")
    counts = fleet_queries.doing_counts()
    context: dict[str, Any] = {
        "kinds": [(kind, kind.label, counts[kind]) for kind in Doing if kind in counts],
        "gpus": sum(counts.values()),
        "words": json.dumps(_words()),
    }
    if request.GET.get("as") != "table":
        return render(request, "fleet/list.html", context)
    filters = {name: request.GET.get(name, "")[:200] for name in FILTERS}
    rows = fleet_queries.narrowed(fleet_queries.fleet_units(), filters).select_related("node", "model", "reading")
    context |= {
        "page": newest_first(rows, request),
        "filters": filters,
        "doings": Doing.choices,
        "models": list(GpuModel.objects.values_list("name", flat=True)),
        "projects": list(Project.objects.values_list("slug", "name")),
    }
    return render(request, "fleet/table.html", context)


@login_required
@require_safe
@gzip_page
def fleet_tiles(request: HttpRequest) -> HttpResponseBase:
    """Every GPU in columns, one query; unchanged facts are answered by 304."""
    rules.require(request.user, "see_fleet")
    body = json.dumps(_columns(), separators=(",", ":"))
    etag = f'W/"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    fresh = HttpResponse(
        body, content_type="application/json", headers={"ETag": etag, "Cache-Control": "private, no-cache"}
    )
    return get_conditional_response(request, etag=etag, response=fresh) or fresh


def _columns() -> dict[str, Any]:
    """Nodes as [name, island, site, model, GPUs]; of the GPUs, in that order, one column for each thing known."""
    projects: dict[str, list[Any]] = {
        slug: [slug, name, division, (pk - 1) % SWATCHES]
        for pk, slug, name, division in Project.objects.order_by("pk").values_list(
            "pk", "slug", "name", "division__slug"
        )
    }
    kinds, models = {kind: index for index, kind in enumerate(Doing.values)}, {}
    nodes: list[list[Any]] = []
    columns: dict[str, list[Any]] = {
        name: [] for name in ("doing", "holder", "assigned", "util", "mem", "power", "read")
    }
    for tile in fleet_queries.tiles():
        if not nodes or nodes[-1][0] != tile.node or nodes[-1][3] != models.get(tile.model):
            model = models.setdefault(tile.model, len(models))
            nodes.append([tile.node, tile.island, tile.site, model, 0])
        nodes[-1][4] += 1
        for slug in (tile.holder, tile.assigned):
            if slug and slug not in projects:  # what a node names and nobody here knows
                projects[slug] = [slug, slug, "", 0]
        columns["doing"].append(kinds[tile.doing])
        columns["holder"].append(UNKNOWN if tile.holder is None else tile.holder or NOBODY)
        columns["assigned"].append(tile.assigned or NOBODY)
        columns["util"].append(None if tile.util_pct is None else round(tile.util_pct))
        columns["mem"].append(tile.mem_used_mib)
        columns["power"].append(None if tile.power_w is None else round(tile.power_w))
        columns["read"].append(None if tile.read_at is None else int(tile.read_at.timestamp()))
    index = {slug: number for number, slug in enumerate(projects)}
    for name in ("holder", "assigned"):
        columns[name] = [index.get(value, value) for value in columns[name]]
    return {
        "kinds": Doing.values,
        "projects": list(projects.values()),
        "models": list(models),
        "nodes": nodes,
        **columns,
    }


def _words() -> dict[str, Any]:
    """What the map says, in the viewer's language."""
    return {
        "doing": {kind.value: str(kind.label) for kind in Doing},
        "no_island": _("no island:"),
        "nobody": _("nobody"),
        "unknown": _("unknown"),
        "never": _("never"),
        "node": _("Node"),
        "model": _("Model"),
        "holder": _("Held by"),
        "meant": _("Meant for"),
        "use": _("Use"),
        "memory": _("Memory"),
        "power": _("Power"),
        "read": _("Read"),
    }
