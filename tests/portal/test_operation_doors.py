"""Every door of operation, tried by every kind of person: who may look, who may do, and that a refusal does nothing."""

import pytest

from allocations.models import Move, Plan
from inventory.models import Cordon, Event
from tests.portal.operation import world

HOLDERS = ["chief-scientist", "research-head", "ceo-applications", "ceo", "ops", "auditor", "admin"]
STAFF = ["pitcher", "team-mate", "stranger", "lead"]


def _looks(made) -> dict[str, str]:
    return {
        "reshuffle": "/reshuffle/",
        "plan": f"/plans/{made.plan.public_id}/",
        "trail": "/trail/",
        "fleet": "/fleet/",
        "table": "/fleet/?as=table",
        "tiles": "/fleet/tiles.json",
        "node": f"/nodes/{made.node.name}/",
        "gpu": f"/gpus/{made.node.gpus.order_by('pk').first().pk}/",
        "health": "/health/",
        "maintenance": "/maintenance/",
        "arrivals": "/arrivals/",
    }


def _deeds(made) -> dict[str, tuple[str, dict]]:
    return {
        "propose": (f"/reshuffle/needs/{made.need.public_id}/propose/", {}),
        "release": (f"/reshuffle/release/{made.ended.slug}/", {}),
        "repair": ("/reshuffle/repair/", {}),
        "commit": (f"/plans/{made.plan.public_id}/commit/", {"generation": 0}),
        "undo": (f"/plans/{made.plan.public_id}/undo/", {}),
        "cordon": (f"/nodes/{made.node.name}/cordon/", {"reason": "fan 3"}),
        "uncordon": (f"/nodes/{made.node.name}/uncordon/", {}),
    }


@pytest.mark.parametrize("login", [*HOLDERS, *STAFF])
def test_who_may_look(client, lab, login):
    made = world(lab)
    client.force_login(lab.everyone[login])

    statuses = {name: client.get(address).status_code for name, address in _looks(made).items()}

    for_roles = 200 if login in HOLDERS else 403
    assert statuses == {
        **dict.fromkeys(["reshuffle", "plan", "trail"], for_roles),
        **dict.fromkeys(["fleet", "table", "tiles", "node", "gpu", "health", "maintenance", "arrivals"], 200),
    }


@pytest.mark.parametrize("login", [login for login in [*HOLDERS, *STAFF] if login != "ops"])
def test_only_ops_do_and_a_refusal_changes_nothing(client, lab, login):
    made = world(lab)
    before = _rows()
    client.force_login(lab.everyone[login])

    statuses = {name: client.post(address, data).status_code for name, (address, data) in _deeds(made).items()}

    assert statuses == dict.fromkeys(_deeds(made), 403)
    assert _rows() == before


def test_ops_may_do_each_of_them(client, lab):
    made = world(lab)
    client.force_login(lab.ops)

    statuses = {name: client.post(address, data).status_code for name, (address, data) in _deeds(made).items()}

    # Nothing drifts, so there is no repair; the plan is committed by then, so an undo is proposed.
    assert statuses == {
        "propose": 302, "release": 302, "repair": 409, "commit": 302, "undo": 302, "cordon": 302, "uncordon": 302
    }  # fmt: skip


def test_nobody_gets_in_without_logging_in(client, lab):
    made = world(lab)
    addresses = [*_looks(made).values(), *(address for address, _data in _deeds(made).values())]

    places = {address: client.get(address).headers.get("Location", "").split("?")[0] for address in addresses}

    assert places == dict.fromkeys(addresses, "/login/")
    assert client.get("/live/").status_code == 401


def test_deeds_are_done_by_post_only(client, lab):
    made = world(lab)
    client.force_login(lab.ops)

    assert {client.get(address).status_code for address, _data in _deeds(made).values()} == {405}


def test_what_does_not_exist_is_not_found(client, lab):
    client.force_login(lab.ops)
    nothing = "00000000-0000-7000-8000-000000000000"

    addresses = [f"/plans/{nothing}/", "/nodes/no-such-node/"]
    posted = [f"/reshuffle/needs/{nothing}/propose/", "/reshuffle/release/no-such-one/", f"/plans/{nothing}/commit/"]

    assert {client.get(address).status_code for address in addresses} == {404}
    assert {client.post(address).status_code for address in posted} == {404}


def _rows() -> tuple[int, int, int, int]:
    return Plan.objects.count(), Move.objects.count(), Cordon.objects.count(), Event.objects.count()
