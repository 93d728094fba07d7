"""Real agents built as one file, on the stand-in driver: they join a portal by its real door and are surveyed."""

import sys
import time
from pathlib import Path

import pytest

from inventory import enrolment, modes
from inventory.drivers import loop
from inventory.models import Event, Gpu, Node, Reading, SurveyFault
from inventory.node_agent import bundle
from inventory.queries import address_of
from inventory.survey import survey_nodes
from tests import factories
from tests.inventory.node_agent.processes import AgentProcess
from tests.inventory.node_agent.test_bundle import bare_python
from tests.inventory.nvml_stub.library import StubNode, nvml_library  # noqa: F401 - a fixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults]
LIMIT_S = 60
# Node -> the example that its driver is, "": a state file that is absent, which is a node without a driver.
NODES = {
    "h100x8": "h100x8",
    "mig": "mig-a100",
    "lost": "lost-gpu",
    "mismatch": "mismatch",
    "gb10": "gb10",
    "no-driver": "",
}
# The examples number their cards alike; no two nodes have a card in common here.
OWN_UUIDS = {"mig-a100": [1], "lost-gpu": range(4), "gb10": [0]}
# Who was lost before anybody looked has no identity to be told by.
CARDS = {"h100x8": 8, "mig": 2, "lost": 3, "mismatch": 0, "gb10": 1, "no-driver": 0}


@pytest.fixture(scope="module")
def command(tmp_path_factory) -> tuple[str, ...]:
    """How the built file is started: by a python that has no package."""
    folder = tmp_path_factory.mktemp("built")
    bundle.build(folder / "allot-agent")
    return str(bare_python(folder)), str(folder / "allot-agent")


@pytest.fixture
def lab(nvml_library, tmp_path, command, live_server):  # noqa: F811
    """A portal that answers, and nodes that can join it."""
    made: list[Lab] = [Lab(nvml_library, tmp_path, command, live_server.url)]
    yield made[0]
    for agent in made[0].agents.values():
        agent.kill()
    loop.close()


class Lab:
    """Agents by node, each in an empty folder of its own."""

    def __init__(self, library: Path, root: Path, command: tuple[str, ...], portal: str) -> None:
        self.library, self.root, self.command, self.portal = library, root, command, portal
        self.agents: dict[str, AgentProcess] = {}
        self.stubs: dict[str, StubNode] = {}

    def declare(self, name: str, example: str) -> Node:
        """A node that a person declared; nothing runs there yet."""
        folder = self.root / name
        folder.mkdir()
        stub = self.stubs[name] = StubNode(self.library, folder)
        if example:
            stub.example(example)
            for index in OWN_UUIDS.get(example, ()):
                stub.add(f"[gpu {index}]\nuuid = GPU-{name}-{index}")
        self.agents[name] = AgentProcess(folder / "agent", stub.environment, self.command)
        return factories.node(name, gpus=8, cards=0)

    def join(self, name: str, code: str):
        """What `allot-agent join` came to."""
        return self.agents[name].call("join", self.portal, "--code", code, "--port", str(self.agents[name].port))

    def up(self, name: str, example: str) -> Node:
        """A node that has joined and answers."""
        node = self.declare(name, example)
        joined = self.join(name, enrolment.make_code(node=node, by="ops")[1])
        assert joined.returncode == 0, joined.stdout + joined.stderr
        self.agents[name].start()
        return node


def survey() -> None:
    survey_nodes(list(Node.objects.exclude(address="").order_by("pk")))


def surveyed_until(holds) -> None:
    """Surveys go on until that is so."""
    deadline_s = time.monotonic() + LIMIT_S
    while True:
        survey()
        if holds():
            return
        assert time.monotonic() < deadline_s, list(Node.objects.values("name", "fault", "answered_at"))
        time.sleep(0.2)


def faults_of(lab, name: str) -> list[str]:
    """The faults that the node says itself."""
    [(_name, said)] = loop.observe_many([address_of(Node.objects.get(name=name))])
    return [fault.code for fault in said.observation.faults]


def test_nodes_of_every_kind_join_are_surveyed_and_show_what_changes(lab):
    for name, example in NODES.items():
        lab.up(name, example)

    surveyed_until(lambda: not Node.objects.filter(answered_at=None).exists())

    cards = {name: Gpu.objects.filter(node__name=name, kind="gpu", retired_at=None) for name in NODES}
    assert {name: rows.count() for name, rows in cards.items()} == CARDS
    assert Gpu.objects.filter(node__name="mig", kind="mig").count() == 3
    assert faults_of(lab, "mismatch") == ["library_mismatch"]
    assert faults_of(lab, "no-driver") == ["driver_not_loaded"]
    assert Node.objects.filter(silent_since=None, mode="observe").count() == len(NODES)

    first = cards["h100x8"].order_by("minor", "pci_bus_id").first()
    lab.stubs["h100x8"].add("[gpu 0]\nutil.gpu = 37\npower = 333")
    lab.stubs["lost"].add("[gpu 3]\nlost = yes")
    surveyed_until(lambda: Reading.objects.get(gpu=first).util_pct == 37)
    surveyed_until(lambda: cards["lost"].exclude(lost_at=None).exists())

    assert Reading.objects.get(gpu=first).power_w == 333
    assert list(cards["lost"].exclude(lost_at=None).values_list("uuid", flat=True)) == ["GPU-lost-3"]


def test_a_code_is_good_for_one_node_and_the_second_is_told(lab):
    node = lab.declare("first", "gb10")
    lab.declare("second", "gb10")
    code = enrolment.make_code(node=node, by="ops")[1]

    joined, late = lab.join("first", code), lab.join("second", code)

    assert (joined.returncode, late.returncode) == (0, 1)
    assert late.stdout == "the portal says: No node joins by that code: it is unknown, used, revoked or too old.\n"
    assert list(Event.objects.filter(verb="node.joined").values_list("subject_label", flat=True)) == ["first"]


def test_tokens_and_certificates_are_renewed_while_it_runs_and_a_revoked_node_is_asked_no_more(lab):
    node = lab.up("h100x8", "h100x8")
    surveyed_until(lambda: Node.objects.get().answered_at)
    before = Node.objects.get()

    enrolment.rotate_token(node=node, by="ops")
    survey()
    renewed = Node.objects.get()
    lab.join("h100x8", enrolment.make_code(node=node, by="ops")[1])
    # It notices that it has joined anew and ends, for systemd to start it again.
    assert lab.agents["h100x8"].heard("joined anew")
    lab.agents["h100x8"].process.wait(LIMIT_S)
    lab.agents["h100x8"].kill()
    lab.agents["h100x8"].start()
    surveyed_until(lambda: Node.objects.get().silent_since is None)
    anew = Node.objects.get()
    enrolment.revoke_node(node=node, by="ops", reason="sold")

    assert (renewed.silent_since, renewed.token == before.token) == (None, False)
    assert renewed.certificate_sha256 == before.certificate_sha256 != anew.certificate_sha256
    assert anew.answered_at > renewed.answered_at
    assert not SurveyFault.objects.filter(code="bad_token").exists()
    assert not Node.objects.exclude(address="").exists()


def test_a_mode_is_told_and_one_that_the_node_is_not_ready_for_is_refused(lab):
    node = lab.up("gb10", "gb10")
    surveyed_until(lambda: Node.objects.get().answered_at)

    modes.set_mode(nodes=[node], mode="shadow", by="ops", reason="a week")
    shadowed = modes.tell_modes()
    surveyed_until(lambda: Node.objects.get().said_mode == "shadow")
    modes.set_mode(nodes=[node], mode="enforce", by="ops", reason="ready")
    enforced = modes.tell_modes()

    survey()
    assert (shadowed, enforced) == (1, 0)
    assert Node.objects.get().said_mode == "shadow"


def test_doctor_and_observe_speak_to_a_person(lab):
    lab.declare("h100x8", "h100x8")

    agent = lab.agents["h100x8"]
    doctor, observed = agent.call("doctor"), agent.call("observe")

    assert (doctor.returncode, "MISS joined" in doctor.stdout, "ok   driver" in doctor.stdout) == (1, True, True)
    assert "Install and load NVIDIA's driver." in doctor.stdout
    assert (observed.returncode, observed.stdout.count("NVIDIA H100")) == (0, 8)
    assert not agent.places.state.exists()
    assert sys.executable not in agent.command
