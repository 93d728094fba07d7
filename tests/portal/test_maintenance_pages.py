"""Nodes out of use and hardware to come, by page and API: what ops do there; a refusal keeps what was typed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from inventory import arrivals
from inventory.models import Arrival, Cordon, Event, Finding
from tests import factories

JSON = "application/json"
OTHERS = ["chief-scientist", "ceo", "auditor", "admin", "lead", "pitcher", "stranger"]


def on(days):
    return (timezone.localdate() + timedelta(days=days)).isoformat()


def announce(days=30, **fields):
    given = {"gpus": 64, "by": "ops", "reason": "order 4711"} | fields
    return arrivals.announce_arrival(
        model=factories.model("H200"), arrives_on=timezone.localdate() + timedelta(days=days), **given
    )


@pytest.fixture
def ops(client, lab):
    client.force_login(lab.ops)
    return client


@pytest.fixture
def island(db):
    return [factories.node(f"gpu-{number}.lab", island="pod-1", gpus=4) for number in range(2)]


class TestMaintenance:
    def test_an_island_is_kept_out_of_use_from_a_day_on_listed_and_lifted(self, ops, island):
        told = {"where": "pod-1", "reason": "firmware", "from_on": on(1), "until_on": on(2)}

        set_ = ops.post("/maintenance/", told)
        page = ops.get("/maintenance/")
        [row] = page.context["windows"]
        shown = "pod-1" in ops.get("/health/").content.decode()
        lifted = ops.post("/maintenance/lift/", {"starts_at": row.starts_at.isoformat(), "because": row.reason})

        assert (set_.status_code, lifted.status_code, shown) == (302, 302, True)
        assert (row.places, row.nodes, row.gpus, row.ends_at - row.starts_at) == (["pod-1"], 2, 8, timedelta(days=2))
        assert ops.get("/maintenance/").context["windows"] == []

    @pytest.mark.parametrize(
        ("change", "status", "said"),
        [
            ({"where": "pod-1, nowhere"}, 422, "There is no node or island of that name: nowhere."),
            ({"reason": ""}, 422, "This field is required."),
            ({"from_on": on(3), "until_on": on(1)}, 422, "It ends before it begins."),
            ({"from_on": "", "until_on": on(-1)}, 409, "The end of a cordon lies in the future."),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_typed_is_lost(self, ops, island, change, status, said):
        told = {"where": "pod-1", "reason": "firmware", "from_on": on(1), "until_on": on(2)} | change

        page = ops.post("/maintenance/", told)

        text = page.content.decode()
        assert (page.status_code, said in text, f'value="{told["where"]}"' in text) == (status, True, True)
        assert Cordon.objects.count() == 0

    def test_a_window_that_somebody_lifted_before_is_told(self, ops, island):
        page = ops.post("/maintenance/lift/", {"starts_at": timezone.now().isoformat(), "because": "firmware"})

        assert (page.status_code, "was lifted before" in page.content.decode()) == (409, True)

    @pytest.mark.parametrize("starts_at", ["", "x", "2026-12-01", "2026-12-01T00:00:00"])
    def test_rubbish_is_refused(self, ops, island, starts_at):
        page = ops.post("/maintenance/lift/", {"starts_at": starts_at, "because": "firmware"})

        assert page.status_code == 422

    @pytest.mark.parametrize("login", OTHERS)
    def test_nobody_but_ops_keeps_out_or_lifts(self, client, lab, island, login):
        client.force_login(lab.everyone[login])
        told = {"where": ["pod-1"], "reason": "x"}
        lift = {"starts_at": timezone.now().isoformat(), "because": "x"}

        statuses = [
            client.get("/maintenance/").status_code,
            client.post("/maintenance/", {"where": "pod-1", "reason": "x"}).status_code,
            client.post("/maintenance/lift/", lift).status_code,
            client.get("/api/maintenance/").status_code,
            client.post("/api/maintenance/", told, JSON).status_code,
            client.post("/api/maintenance/lift/", lift, JSON).status_code,
        ]

        assert (statuses, Cordon.objects.count()) == ([200, 403, 403, 200, 403, 403], 0)

    def test_over_the_api_it_is_the_same(self, ops, island):
        since = timezone.now() + timedelta(days=1)
        told = {"where": ["pod-1"], "reason": "firmware", "since": since.isoformat()}

        made = ops.post("/api/maintenance/", told, JSON)
        again = ops.post("/api/maintenance/", told, JSON)
        unknown = ops.post("/api/maintenance/", told | {"where": ["nowhere"]}, JSON)
        lift = {"starts_at": since.isoformat(), "because": "firmware", "reason": "done"}
        lifted = ops.post("/api/maintenance/lift/", lift, JSON)

        assert (made.status_code, [row["places"] for row in made.json()]) == (201, [["pod-1"]])
        assert (again.status_code, again.json()["code"], unknown.status_code) == (409, "wrong_cordon", 400)
        assert (lifted.status_code, lifted.json()) == (200, [])
        assert Event.objects.filter(verb="cordon.lifted", reason="done").count() == 2


class TestArrivals:
    def test_ops_announce_move_and_mark_as_arrived(self, ops):
        factories.model("H200")
        told = {"model": "H200", "gpus": 64, "arrives_on": on(30), "site": "oslo", "island": "", "reason": "order 4711"}

        announced = ops.post("/arrivals/", told)
        row = Arrival.objects.get()
        prefix = f"move-{row.public_id}"
        day = {f"{prefix}-arrives_on": on(40), f"{prefix}-reason": "customs"}
        moved = ops.post(f"/arrivals/{row.public_id}/move/", day)
        page = ops.get("/arrivals/").content.decode()
        arrived = ops.post(f"/arrivals/{row.public_id}/arrived/")

        assert [answer.status_code for answer in (announced, moved, arrived)] == [302, 302, 302]
        assert ("not there yet" in page, "order 4711" in page) == (True, True)
        verbs = ["arrival.announced", "arrival.moved", "arrival.arrived"]
        assert [event.verb for event in Event.objects.filter(subject_kind="arrival").order_by("pk")] == verbs
        assert Event.objects.get(verb="arrival.moved").facts["before"] == on(30)

    def test_one_that_is_cancelled_says_why_in_the_trail(self, ops):
        row = announce()

        ops.post(f"/arrivals/{row.public_id}/cancel/", {f"cancel-{row.public_id}-reason": "no budget"})

        row.refresh_from_db()
        assert (row.cancelled_at is not None, Event.objects.get(verb="arrival.cancelled").reason) == (True, "no budget")

    def test_refusals_stand_at_the_form(self, ops):
        factories.model("H200")
        row = announce()
        told = {"model": "H200", "gpus": 0, "arrives_on": on(30), "reason": "order 4711"}

        few = ops.post("/arrivals/", told)
        past = ops.post("/arrivals/", told | {"gpus": 8, "arrives_on": on(0)})
        unsaid = ops.post(f"/arrivals/{row.public_id}/cancel/", {})

        assert [answer.status_code for answer in (few, past, unsaid)] == [422, 409, 422]
        assert "The day of an arrival lies in the future." in past.content.decode()
        assert Arrival.objects.count() == 1

    def test_a_late_one_says_so(self, ops):
        Arrival.objects.filter(pk=announce().pk).update(arrives_on=timezone.localdate())

        assert "late" in ops.get("/arrivals/").content.decode()

    @pytest.mark.parametrize(("login", "address"), [("ceo", "/split/"), ("chief-scientist", "/desk/")])
    def test_where_gpus_are_counted_it_says_that_they_are_not_there_yet(self, client, lab, login, address):
        factories.split()
        factories.fleet(gpus=8)
        factories.submitted(lab.project, lab.pitcher)
        day = timezone.localdate() + timedelta(days=30)
        arrivals.announce_arrival(model=factories.model("H100"), arrives_on=day, gpus=64, by="ops", reason="order 4711")
        client.force_login(lab.everyone[login])

        page = client.get(address).content.decode()

        assert ("64 H100 come on" in page, "they are not there yet" in page) == (True, True)

    @pytest.mark.parametrize("login", OTHERS)
    def test_nobody_but_ops_plans_hardware(self, client, lab, login):
        row = announce()
        client.force_login(lab.everyone[login])
        before = Event.objects.count()
        told = {"model": "H200", "gpus": 8, "arrives_on": on(30), "reason": "x"}
        day = {"arrives_on": on(50), "reason": "x"}

        pages = [client.get("/arrivals/").status_code, client.post("/arrivals/", told).status_code] + [
            client.post(f"/arrivals/{row.public_id}/{deed}/", day).status_code for deed in ("move", "cancel", "arrived")
        ]
        api = [client.get("/api/arrivals/").status_code, client.post("/api/arrivals/", told, JSON).status_code] + [
            client.post(f"/api/arrivals/{row.public_id}/{deed}/", day, JSON).status_code
            for deed in ("move", "cancel", "arrived")
        ]

        assert (pages, api, Event.objects.count()) == ([200, 403, 403, 403, 403], [200, 403, 403, 403, 403], before)

    def test_over_the_api_it_is_the_same(self, ops):
        factories.model("H200")
        told = {"model": "H200", "gpus": 64, "arrives_on": on(30), "reason": "order 4711"}

        made = ops.post("/api/arrivals/", told, JSON)
        address = f"/api/arrivals/{made.json()['id']}/"
        moved = ops.post(f"{address}move/", {"arrives_on": on(31), "reason": "customs"}, JSON)
        cancelled = ops.post(f"{address}cancel/", {"reason": "no budget"}, JSON)
        again = ops.post(f"{address}arrived/", {}, JSON)

        assert (made.status_code, made.json()["state"]) == (201, "coming")
        assert (moved.json()["arrives_on"], cancelled.json()["state"]) == (on(31), "cancelled")
        assert (again.status_code, again.json()["code"]) == (409, "wrong_arrival")
        assert ops.get("/api/arrivals/?coming=true").json()["results"] == []

    @pytest.mark.parametrize("count", [1, 3])
    def test_the_page_costs_the_same_with_one_and_with_three(self, ops, django_assert_num_queries, count):
        for number in range(count):
            announce(days=30 + number)
            arrivals.cancel_arrival(arrival=announce(), by="ops", reason="x")
        ops.get("/arrivals/")

        with django_assert_num_queries(9):
            ops.get("/arrivals/")


@pytest.mark.parametrize("login", ["ops", "stranger"])
def test_findings_and_polling_over_the_api_are_for_everybody(client, lab, login):
    gpu = factories.node("gpu-1.lab", island="pod-1", gpus=1).gpus.get()
    now = timezone.now()
    place = {"node": gpu.node, "gpu": gpu, "since": now, "seen_at": now}
    Finding.objects.create(**place, code="lost", severity="out", evidence="gone")
    Finding.objects.create(**place, code="xid", severity="warn", ended_at=now)
    client.force_login(lab.everyone[login])

    [row] = client.get("/api/findings/?open=true&island=pod-1").json()["results"]
    polling = client.get("/api/polling/").json()

    assert (row["gpu"], row["code"], row["what"], row["severity"]) == (gpu.uuid, "lost", "lost", "out")
    assert (polling["stands_still"], polling["newest_at"], polling["nodes"]) == (False, None, 0)
