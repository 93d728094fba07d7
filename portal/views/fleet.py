"""The fleet: as a map of tiles and as a table with the same filters, with the data of the map."""

import json
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from allocations import rules
from allocations.models import Project
from allocations.queries import fleet as fleet_queries
from allocations.queries import tiles
from allocations.queries.fleet import AGE_FROM_S, USE_FROM_PCT, Doing
from inventory.models import GpuModel, Node
from portal.pages import newest_first

FILTERS = ("q", "model", "site", "island", "node", "doing", "project", "division", "use", "age")
HIDDEN = ("node", "division", "use", "age")  # by the legend and by links; the form keeps them
IN_USE = (Doing.ACTIVE, Doing.LOW, Doing.GHOST, Doing.HUNG, Doing.DRAINING)
COLOURS = [
    ("state", gettext_lazy("state")),
    ("project", gettext_lazy("project")),
    ("division", gettext_lazy("division")),
    ("use", gettext_lazy("use")),
    ("age", gettext_lazy("age of the reading")),
]
LONGEST_FILTER = 2_000  # letters: the legend names some projects at once


@login_required
@require_safe
def fleet(request: HttpRequest) -> HttpResponse:
    """The map, or with `?as=table` the same GPUs as rows; the filters are the same."""
    rules.require(request.user, "see_fleet")
    filters = {name: request.GET.get(name, "")[:LONGEST_FILTER] for name in FILTERS}
    more = [(name, filters[name]) for name in HIDDEN if filters[name]]
    kept = urlencode({name: value for name, value in filters.items() if value})
    context: dict[str, Any] = {"filters": filters, "more_filters": more, "kept": kept, **_choices()}
    if request.GET.get("as") != "table":
        return render(request, "fleet/list.html", context | _summary(None) | _map())
    rows = fleet_queries.narrowed(fleet_queries.fleet_units(), filters)
    shown = _summary(rows if any(filters.values()) else None)
    page = newest_first(rows.select_related("node", "model", "reading"), request)
    return render(request, "fleet/table.html", context | shown | {"page": page, "is_narrowed": any(filters.values())})


@login_required
@require_safe
@gzip_page
def fleet_tiles(request: HttpRequest) -> HttpResponseBase:
    """Every GPU in columns, or with `?since=` a version only those that changed; 304 and 204 where none did."""
    rules.require(request.user, "see_fleet")
    asked = request.GET.get("since", "")
    kept = request.headers.get("If-None-Match", "").removeprefix("W/").strip('"')
    found = tiles.tiles(tiles.version_of(asked or kept), is_part_enough=bool(asked))
    headers = {"ETag": f'W/"{found.version}"', "Cache-Control": "private, no-cache"}
    if found.body is None:
        return HttpResponse(status=204 if asked else 304, headers=headers)
    return HttpResponse(found.body, content_type="application/json", headers=headers)


def _summary(rows: Any) -> dict[str, Any]:
    """How many GPUs do what, of those in `rows` (all)."""
    counts = fleet_queries.doing_counts(rows)
    kinds = [(kind, kind.label, counts[kind]) for kind in Doing if kind in counts]
    busy = [told for told in kinds if told[0] in IN_USE]
    return {
        "gpus": sum(counts.values()),
        "in_use": sum(gpus for _kind, _label, gpus in busy),
        "busy": busy,
        "others": [told for told in kinds if told[0] not in IN_USE],
    }


def _choices() -> dict[str, Any]:
    places = list(Node.objects.filter(retired_at=None).order_by().values_list("site", "island").distinct())
    return {
        "doings": Doing.choices,
        "models": list(GpuModel.objects.values_list("name", flat=True)),
        "projects": list(Project.objects.order_by("name").values_list("slug", "name")),
        "sites": sorted({site for site, _island in places if site}),
        "islands": sorted({island for _site, island in places if island}),
    }


def _map() -> dict[str, Any]:
    return {"words": json.dumps(_words()), "in_use_kinds": " ".join(IN_USE), "colours": COLOURS}


def _words() -> dict[str, Any]:
    """What the map says, in the viewer's language."""
    use = [str(low) for low in USE_FROM_PCT]
    age = [str(low) for low in AGE_FROM_S]
    return {
        "doing": {kind.value: str(kind.label) for kind in Doing},
        "use_steps": {
            **dict(
                zip(use, (_("under 5 %"), "5 to 25 %", "25 to 50 %", "50 to 75 %", _("75 % and more")), strict=True)
            ),
            "?": _("unknown"),
        },
        "age_steps": {
            **dict(zip(age, (_("under a minute"), _("1 to 5 min"), _("5 to 60 min"), _("over an hour")), strict=True)),
            "?": _("never read"),
        },
        "no_site": _("no site"),
        "no_island": _("no island:"),
        "nobody": _("nobody"),
        "unknown": _("unknown"),
        "never": _("never"),
        "site": _("Site"),
        "island": _("Island"),
        "node": _("Node"),
        "slot": _("Slot"),
        "model": _("Model"),
        "holder": _("Held by"),
        "meant": _("Meant for"),
        "since": _("Since"),
        "use": _("Use"),
        "power": _("Power"),
        "read": _("Read"),
        "some_of": _("%(some)s of %(all)s"),
        "in_use": _("%(n)s in use"),
        "more": _("and %(n)s more: find them by name"),
    }
