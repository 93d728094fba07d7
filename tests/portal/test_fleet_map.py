"""The map's data: every GPU in columns, only what changed since a version, and the filters that map and table share."""

import json
from datetime import timedelta
from itertools import accumulate

import pytest
from django.utils import timezone

from allocations.models import Move
from inventory.models import Gpu, Reading
from tests import factories, people
from tests.portal.operation import world


@pytest.fixture
def made(transactional_db):
    """Committed rows: a version tells transactions apart."""
    return world(people.lab())


@pytest.fixture
def ops(client, made):
    client.force_login(made.plan.proposed_by)
    return client


def _tiles(client, since: str = "", **headers) -> dict:
    answer = client.get("/fleet/tiles.json", {"since": since} if since else {}, headers=headers)
    assert answer.status_code == 200, answer.status_code
    tiles = json.loads(answer.content)
    tiles["gpu"] = list(accumulate(tiles["gpu"]))  # each says how much it is above the one before
    return tiles


def _same(client, since: str) -> bool:
    return client.get("/fleet/tiles.json", {"since": since}).status_code == 204


def _node_names(tiles: dict) -> dict[str, int]:
    return dict(zip(tiles["nodes"]["name"], tiles["nodes"]["gpus"], strict=True))


def _slugs(tiles: dict, column: str) -> list[str | int]:
    return [tiles["names"][number] if number >= 0 else number for number in tiles[column]]


def test_the_map_gets_every_gpu_in_columns(ops, made):
    tiles = _tiles(ops)

    assert _node_names(tiles) == {"gpu-2.lab": 4, "gpu-1.lab": 8}
    assert [tiles["kinds"][kind] for kind in tiles["doing"]] == ["active"] * 4 + ["free"] * 8
    assert _slugs(tiles, "holder") == _slugs(tiles, "assigned") == ["old-one"] * 4 + [-1] * 8
    assert tiles["projects"] == [["Old one", "research", "Research", made.ended.pk - 1]]
    assert (tiles["use"], tiles["power"]) == ([80] * 4 + [0] * 8, [500] * 4 + [None] * 8)
    assert tiles["gpu"] == list(Gpu.objects.order_by("-node__name", "pci_bus_id").values_list("pk", flat=True))
    assert tiles["nodes"]["slots"][tiles["nodes"]["slot"][0]].split(" ")[0] == "00000000:01:00.0"


def test_what_is_the_same_costs_nothing_by_version_and_by_tag(ops, made):
    answer = ops.get("/fleet/tiles.json")

    by_tag = ops.get("/fleet/tiles.json", headers={"If-None-Match": answer.headers["ETag"]})

    assert (by_tag.status_code, by_tag.content) == (304, b"")
    assert _same(ops, json.loads(answer.content)["version"])


def test_only_what_changed_is_sent_again(ops, made):
    before = _tiles(ops)
    read = made.node.gpus.order_by("pk")[3]
    factories.reading(read, None)

    part = _tiles(ops, before["version"])

    assert (part["nodes"], part["gpu"], part["holder"]) == (None, [read.pk], [-2])
    assert _same(ops, part["version"])


def test_a_move_an_assignment_and_a_verdict_are_changes(ops, made):
    first, second, third = made.node.gpus.order_by("pk")[:3]
    version = _tiles(ops)["version"]

    Move.objects.create(plan=made.plan, gpu=first, generation=1, project=None, proposed_at=timezone.now())
    factories.assignment(second, made.ended)
    factories.activity(third, "ghost")
    part = _tiles(ops, version)

    assert part["gpu"] == [first.pk, second.pk, third.pk]
    assert [part["kinds"][kind] for kind in part["doing"]] == ["free", "assigned", "free"]
    made.ended.assignments.filter(gpu=second).update(during=(timezone.now() - timedelta(days=1), timezone.now()))
    assert _tiles(ops, part["version"])["gpu"] == [second.pk]


def test_what_the_clock_alone_changes_is_a_change(ops, made, time_machine):
    """A reading grows stale though no transaction says so."""
    version = _tiles(ops)["version"]

    time_machine.move_to(timezone.now() + timedelta(seconds=31))

    part = _tiles(ops, version)
    assert {part["kinds"][kind] for kind in part["doing"]} == {"unknown"}
    assert len(part["gpu"]) == 12


def test_a_cordon_that_begins_later_is_a_change_then(ops, made, time_machine):
    factories.cordon(made.node, since=timezone.now() + timedelta(seconds=10))
    version = _tiles(ops)["version"]

    time_machine.move_to(timezone.now() + timedelta(seconds=15))

    tiles = _tiles(ops, version)
    assert tiles["doing"].count(tiles["kinds"].index("cordoned")) == 8


def test_a_card_that_is_gone_or_moved_brings_everything_anew(ops, made):
    version = _tiles(ops)["version"]

    made.node.gpus.filter(pci_bus_id="00000000:01:00.0").update(retired_at=timezone.now())

    assert _node_names(_tiles(ops, version)) == {"gpu-2.lab": 4, "gpu-1.lab": 7}


@pytest.mark.parametrize("since", ["x", "1", "1.2", "9.-1.3", f"{10**19}.1.2", "1.99999999999999.3", "²2.1.1"])
def test_a_version_that_is_none_of_ours_brings_everything(ops, made, since):
    assert len(_tiles(ops, since)["gpu"]) == 12


def test_an_old_version_brings_everything(ops, made):
    xid, at, places = _tiles(ops)["version"].split(".")

    tiles = _tiles(ops, f"{xid}.{int(at) - 3601}.{places}")

    assert len(tiles["nodes"]["name"]) == 2


def test_a_holder_that_nobody_here_knows_is_named_as_the_node_says(ops, made):
    factories.reading(made.node.gpus.first(), 'stranger "things"', util_pct=99.0)

    tiles = _tiles(ops)

    assert dict(zip(tiles["names"], tiles["projects"], strict=True))['stranger "things"'] is None
    assert ops.get(f"/nodes/{made.node.name}/").status_code == 200


def test_without_any_gpu_there_is_an_empty_map(client, lab):
    client.force_login(lab.ops)

    tiles = _tiles(client)

    assert (tiles["gpu"], tiles["nodes"]["name"], tiles["names"]) == ([], [], [])


def test_since_when_it_is_so_is_told_in_minutes(ops, made):
    card = made.node.gpus.order_by("pci_bus_id").first()
    Gpu.objects.filter(pk=card.pk).update(lost_at=timezone.now() - timedelta(minutes=90, seconds=5))

    tiles = _tiles(ops)

    assert tiles["since"][tiles["gpu"].index(card.pk)] == 90


FILTERS = [
    ("q=gpu-2", 4), ("q=OLD", 4), ("q=pod", 8), ("q=nothing", 0), ("model=H100", 12), ("model=A100", 0),
    ("site=oslo", 0), ("island=pod-1", 8), ("node=gpu-2.lab", 4), ("doing=active", 4),
    ("doing=active,free", 12), ("project=old-one", 4),
    ("project=-", 8), ("project=-,old-one", 12), ("division=research", 4), ("division=applied", 0), ("division=-", 8),
    ("use=75", 4), ("use=0", 8), ("use=0,75", 12), ("use=?", 0), ("age=0", 12), ("age=60,300", 0), ("age=?", 0),
    ("doing=active&island=pod-1", 0), ("use=nonsense", 0),
]  # fmt: skip


@pytest.mark.parametrize(("query", "gpus"), FILTERS)
def test_the_table_shows_what_the_filter_asks_for(ops, made, query, gpus):
    page = ops.get(f"/fleet/?as=table&{query}")

    assert page.context["gpus"] == len(page.context["page"].rows) == gpus


def test_a_stale_reading_tells_no_use(ops, made):
    Reading.objects.filter(gpu__node=made.node).update(requested_at=timezone.now() - timedelta(minutes=2))

    counts = {query: ops.get(f"/fleet/?as=table&{query}").context["gpus"] for query in ("use=0", "use=?", "age=60")}

    assert counts == {"use=0": 0, "use=?": 8, "age=60": 8}


def test_map_and_table_link_each_other_with_the_filters(ops, made):
    page = ops.get("/fleet/?as=table&doing=active,free&island=pod-1").content.decode()
    map_page = ops.get("/fleet/?doing=active&island=pod-1").content.decode()

    assert page.count('href="/fleet/?island=pod-1&amp;doing=active%2Cfree"') == 1
    assert map_page.count('href="/fleet/?as=table&amp;island=pod-1&amp;doing=active"') == 1
    assert page.count('<option data-several value="active,free" selected>') == 1
