"""Declared nodes as simulated ones: real ports and TLS, enrolled by set, followed while new ones are imported."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.db import connection

from inventory import simulated
from inventory.models import Event, Gpu, Node, Reading
from inventory.queries import polled_nodes
from inventory.simulator import Control, SimulatedFleet, gpu_uuid, in_background
from inventory.survey import survey_nodes
from tests import factories

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30


def declared(*names, **fields):
    return [factories.node(name, gpus=2, cards=0, **fields) for name in names]


@contextmanager
def running(state, **options):
    fleet = SimulatedFleet(simulated.specs(base_port=0), state=state, **options)
    with in_background(fleet) as control:
        simulated.enrol(fleet)
        yield fleet, control


@pytest.mark.django_db
def test_enrolled_nodes_are_surveyed_over_tls(tmp_path):
    declared("n1", "n2")

    with running(tmp_path) as (fleet, _control):
        made = survey_nodes(list(polled_nodes()))

    assert (made.nodes_asked, made.nodes_answered, made.gpus_seen) == (2, 2, 4)
    assert set(Node.objects.values_list("certificate_sha256", flat=True)) == {fleet.certificate.sha256}
    assert Reading.objects.filter(holder="", generation=0).count() == 4


@pytest.mark.django_db
def test_what_happens_on_the_wire_ends_up_in_rows(tmp_path):
    [node] = declared("n1")
    with running(tmp_path) as (_fleet, control):
        survey_nodes(list(polled_nodes()))
        control.seed_holders({gpu_uuid("n1", 0): ("apollo", 7)})
        control.lose(gpu_uuid("n1", 1))
        survey_nodes(list(polled_nodes()))
        assert Reading.objects.get(gpu__uuid=gpu_uuid("n1", 0)).holder == "apollo"
        assert Gpu.objects.get(uuid=gpu_uuid("n1", 1)).lost_at is not None

        fresh = control.replace_card(gpu_uuid("n1", 1))
        survey_nodes(list(polled_nodes()))
        assert set(Gpu.objects.filter(retired_at=None).values_list("uuid", flat=True)) == {gpu_uuid("n1", 0), fresh}

        control.kill("n1")
        survey_nodes(list(polled_nodes()))
        node.refresh_from_db()
        assert (node.fault, node.silent_since is None) == ("node_unreachable", False)

        control.revive("n1")
        survey_nodes(list(polled_nodes()))
        node.refresh_from_db()
        assert (node.fault, node.silent_since) == ("", None)

    verbs = Event.objects.filter(verb__in=["gpu.lost", "gpu.replaced", "node.silent", "node.answers"]).order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == ["gpu.lost", "gpu.replaced", "node.silent", "node.answers"]


@pytest.mark.django_db
def test_a_wrong_token_and_a_strangers_certificate_are_faults_by_name(tmp_path):
    declared("n1", "n2")
    with running(tmp_path):
        Node.objects.filter(name="n1").update(token="another")
        Node.objects.filter(name="n2").update(certificate_sha256="0" * 64)
        survey_nodes(list(polled_nodes()))

    assert dict(Node.objects.values_list("name", "fault")) == {"n1": "bad_token", "n2": "certificate_mismatch"}


@pytest.mark.django_db
def test_ports_are_counted_from_the_base_and_kept(monkeypatch):
    monkeypatch.setattr(simulated, "_is_free", lambda _port: True)  # whatever else runs on this machine
    declared("kept", address="https://127.0.0.1:18001")
    declared("first", "second")

    assert [(spec.name, spec.port) for spec in simulated.specs(base_port=18_000)] == [
        ("kept", 18_001),
        ("first", 18_000),
        ("second", 18_002),
    ]


@pytest.mark.django_db
def test_a_port_on_which_somebody_listens_is_left_alone():
    declared("new")
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]

        assert [spec.port > taken for spec in simulated.specs(base_port=taken)] == [True]


@pytest.mark.django_db
def test_an_own_port_that_somebody_took_meanwhile_is_given_up_unless_the_node_runs_there():
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        declared("known", address=f"https://127.0.0.1:{taken}")

        assert [spec.port > taken for spec in simulated.specs(base_port=taken)] == [True]
        assert [spec.port for spec in simulated.specs(base_port=taken, running={"known"})] == [taken]


@pytest.mark.django_db
def test_real_and_retired_nodes_are_never_simulated():
    declared("real", address="https://10.0.0.7:9443")
    declared("gone", retired_at=factories.LONG_AGO)

    assert simulated.specs(base_port=0) == []


@pytest.mark.django_db
def test_enrolling_again_writes_nothing(tmp_path, django_assert_num_queries):
    declared("n1", "n2", "n3")
    with running(tmp_path) as (fleet, _control), django_assert_num_queries(3):
        assert simulated.enrol(fleet) == 0

    assert Event.objects.filter(verb="node.changed").count() == 3
    assert "token" not in json.dumps(list(Event.objects.values_list("facts", flat=True)))


@pytest.mark.django_db
def test_holders_are_preset_only_on_devices_that_never_had_an_order(tmp_path):
    declared("n1")
    fleet = SimulatedFleet(simulated.specs(base_port=0), state=tmp_path)

    async def preset():
        await fleet.start()
        first = simulated.seed_holders(fleet, {"n1": {"0": "apollo"}, "unknown": {"0": "apollo"}})
        again = simulated.seed_holders(fleet, {"n1": {"0": "other", "1": ["borealis", 4]}})
        await fleet.stop()
        return first, again

    assert asyncio.run(preset()) == (1, 1)
    held = {device.slot: (device.holder, device.generation) for device in fleet.devices().values()}
    assert held == {0: ("apollo", 1), 1: ("borealis", 4)}


@contextmanager
def command(home, *options):
    """`manage.py simulate` as a process on the tests' database."""
    address = urlsplit(os.environ["DATABASE_URL"])
    url = urlunsplit(address._replace(path=f"/{connection.settings_dict['NAME']}"))
    environment = os.environ | {"ALLOT_HOME": str(home), "DATABASE_URL": url}
    with subprocess.Popen(
        [sys.executable, "manage.py", "simulate", "--base-port", "0", *options],
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(condition):
    """Wait for a real process; a test that waits in vain fails here."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_the_command_follows_imports_keeps_ports_and_state_and_ends_at_once(tmp_path):
    declared("n1")
    state = tmp_path / "simulator"
    state.mkdir()
    (state / "holders.json").write_text('{"n1": {"1": "apollo"}}')
    with command(tmp_path) as process:
        until(lambda: polled_nodes().count() == 1)
        declared("n2")
        until(lambda: polled_nodes().count() == 2)
        assert survey_nodes(list(polled_nodes())).gpus_seen == 4
        assert list(Reading.objects.exclude(holder="").values_list("gpu__uuid", "holder")) == [
            (gpu_uuid("n1", 1), "apollo")
        ]
        Control.of(state).lose(gpu_uuid("n2", 0))
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert time.monotonic() - began < 2
    addresses = set(Node.objects.values_list("address", flat=True))

    with command(tmp_path) as process:
        until(lambda: survey_nodes(list(polled_nodes())).nodes_answered == 2)
        assert set(Node.objects.values_list("address", flat=True)) == addresses
        assert Gpu.objects.get(uuid=gpu_uuid("n2", 0)).lost_at is not None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
