"""The agent's port: who is let in, what is refused and why, parts that fail, and an end within two seconds."""

import asyncio
import json
import os
import ssl
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from inventory.drivers.agent import AgentDriver
from inventory.drivers.base import NodeAddress, Order, Settings
from inventory.errors import BadAnswer, BadToken, CertificateMismatch, NodeRefused
from inventory.node_agent import agent as agent_module
from inventory.node_agent import server as server_module
from inventory.node_agent.agent import Agent
from inventory.node_agent.certificate import fingerprint, make_certificate
from inventory.node_agent.enforce import Enforcer, Layout, Policy
from inventory.node_agent.identity import Identity
from inventory.node_agent.protocol import Fault
from inventory.node_agent.seen import NodeSeen
from inventory.node_agent.server import BODY_MOST_BYTES, Server
from inventory.node_agent.tokens import Tokens, first_token
from tests.inventory.node_agent.processes import HOST, AgentProcess, free_port
from tests.inventory.node_agent.seen import a_gpu
from tests.inventory.nvml_stub.library import StubNode, nvml_library  # noqa: F401 - a fixture

TOKEN = "t" * 43
LIMIT_S = 20


@pytest.fixture(scope="module")
def pem(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "tls.pem"
    make_certificate(path)
    return path


@dataclass
class Looks:
    """A probe that says what a test wants it to say."""

    says: NodeSeen
    raises: Exception | None = None
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def look(self) -> NodeSeen:
        await self.looked.wait()
        return self.seen()

    def seen(self) -> NodeSeen:
        if self.raises:
            raise self.raises
        return self.says


@dataclass
class Node:
    """A node's agent in this process, and the portal's way to it."""

    probe: Looks
    enforcer: Enforcer
    agent: Agent
    address: NodeAddress
    driver: AgentDriver

    async def observe(self):
        return (await self.driver.observe(self.address)).observation

    async def ask(self, method: str, path: str, body: bytes | None = None, token: str = TOKEN):
        """(status, answer) of a request as nobody's driver makes it."""
        async with aiohttp.ClientSession() as session:
            url = URL(self.address.address + path, encoded=True)
            headers = {"Authorization": f"Bearer {token}"}
            async with session.request(method, url, data=body, headers=headers, ssl=False) as response:
                return response.status, json.loads(await response.read())


def serving(work, tmp_path, pem, *, says: NodeSeen | None = None, looked: bool = True, policy: Policy | None = None):
    """`await work(node)` while the agent answers."""

    async def body():
        first_token(tmp_path / "tokens.json", TOKEN)
        layout = Layout(tmp_path, tmp_path / "dev", Path("/proc"), tmp_path / "driver")
        enforcer = Enforcer(layout, policy or Policy())
        probe = Looks(says or NodeSeen((a_gpu("GPU-1"),), "570.1", 1))
        if looked:
            probe.looked.set()
        agent = Agent(Identity("n0", "https://p", 0), Tokens(tmp_path / "tokens.json"), probe, enforcer)
        server = Server(agent)
        await agent.start()
        port = await server.listen(host=HOST, port=0, pem=pem)
        driver = AgentDriver()
        address = NodeAddress("n0", f"https://{HOST}:{port}", TOKEN, fingerprint(pem))
        try:
            return await work(Node(probe, enforcer, agent, address, driver))
        finally:
            await driver.close()
            await server.close()
            await agent.close()

    return asyncio.run(body())


def test_it_says_what_it_sees_and_counts_its_answers(tmp_path, pem):
    async def work(node):
        return [await node.observe() for _ in range(3)], await node.ask("GET", "/v1/health")

    seen, (status, health) = serving(work, tmp_path, pem)

    assert [(row.node, row.mode, row.driver, row.cards_on_bus, row.faults) for row in seen] == [
        ("n0", "observe", "570.1", 1, ())
    ] * 3
    assert [row.sequence for row in seen] == [1, 2, 3]
    assert {row.boot_id for row in seen} == {health["boot_id"]}
    assert ([row.uuid for row in seen[0].gpus], status, health["versions"]["driver"]) == (["GPU-1"], 200, "570.1")


def test_a_new_start_is_a_new_boot_of_the_same_machine(tmp_path, pem):
    async def work(node):
        return (await node.observe()).boot_id

    first, second = (serving(work, tmp_path, pem) for _ in range(2))

    assert (first == second, first.split(".")[0] == second.split(".")[0]) == (False, True)


@pytest.mark.parametrize("token", ["u" * 43, "", "ä", TOKEN + "t"])
def test_without_the_token_every_path_answers_alike(tmp_path, pem, token):
    async def work(node):
        paths = [("GET", "/v1/observation"), ("GET", "/v1/health"), ("PUT", "/v1/settings"), ("GET", "/nothing")]
        return [await node.ask(method, path, token=token) for method, path in paths]

    answers = serving(work, tmp_path, pem)

    assert answers == [(401, {"code": "bad_token", "detail": "this is not the token of this node"})] * 4


def test_another_certificate_is_never_sent_the_token(tmp_path, pem):
    async def work(node):
        with pytest.raises(CertificateMismatch):
            await node.driver.observe(replace(node.address, certificate_sha256="0" * 64))

    serving(work, tmp_path, pem)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/", None, 404, "unknown_path"),
        ("POST", "/v1/observation", None, 404, "unknown_path"),
        ("GET", "/v1/gpus/GPU-1/holder", None, 404, "unknown_path"),
        ("GET", "/%00%0a", None, 404, "unknown_path"),
        ("PUT", "/v1/settings", b"", 400, "malformed"),
        ("PUT", "/v1/settings", b'{"mode": "destroy"}', 400, "malformed"),
        ("PUT", "/v1/settings", b"[" * 100_000, 400, "malformed"),
        ("PUT", "/v1/settings", b'{"mode": "shadow"}' + b" " * BODY_MOST_BYTES, 400, "malformed"),
        ("PUT", "/v1/gpus/GPU-1/holder", b"{}", 400, "malformed"),
        ("PUT", "/v1/gpus/GPU-1/holder", b"\xff", 400, "malformed"),
        ("PUT", "/v1/gpus/GPU-9/holder", None, 404, "unknown_gpu"),
        ("PUT", "/v1/gpus/MIG-GPU-6e%2F1%2F0/holder", None, 404, "unknown_gpu"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_input_is_refused_with_a_code_and_a_sentence(tmp_path, pem, method, path, body, status, code):
    order = b'{"holder": "deep-sea", "generation": 1, "access_revision": 0, "unix_ids": [1005]}'

    async def work(node):
        told = order if body is None and method == "PUT" else body
        return await node.ask(method, path, told), (await node.observe()).gpus[0].generation

    (said, refusal), generation = serving(work, tmp_path, pem)

    assert (said, refusal["code"], refusal["detail"] != "", generation) == (status, code, True, 0)


def test_a_mode_is_told_kept_and_said(tmp_path, pem):
    async def work(node):
        await node.driver.ensure_settings(node.address, Settings("shadow"))
        return (await node.observe()).mode

    async def look(node):
        return (await node.observe()).mode

    assert (serving(work, tmp_path, pem), serving(look, tmp_path, pem)) == ("shadow", "shadow")


def test_an_agent_that_only_looks_takes_neither_modes_nor_orders(tmp_path, pem):
    async def work(node):
        refusals = []
        for told in (
            lambda: node.driver.ensure_settings(node.address, Settings("enforce")),
            lambda: node.driver.ensure_unit(node.address, "GPU-1", Order("deep-sea", 1)),
        ):
            with pytest.raises(NodeRefused) as refused:
                await told()
            refusals.append(refused.value.node_code)
        return refusals, (await node.observe()).mode

    assert serving(work, tmp_path, pem, policy=Policy(observe_only=True)) == (["observes_only"] * 2, "observe")


def test_a_mode_that_cannot_be_had_does_not_hold_up_a_new_token(tmp_path, pem):
    async def work(node):
        with pytest.raises(NodeRefused) as refused:
            await node.driver.ensure_settings(node.address, Settings("enforce", "new-token"))
        await node.driver.observe(replace(node.address, token="new-token"))
        with pytest.raises(BadToken):
            await node.observe()
        return refused.value.node_code

    assert serving(work, tmp_path, pem) == "not_ready"


def test_before_the_first_look_it_says_that_it_does_not_know(tmp_path, pem, monkeypatch):
    monkeypatch.setattr(agent_module, "FIRST_LOOK_S", 0.05)

    async def work(node):
        with pytest.raises(NodeRefused) as refused:
            await node.observe()
        node.probe.looked.set()
        return refused.value.node_code, len((await node.observe()).gpus)

    assert serving(work, tmp_path, pem, looked=False) == ("not_ready", 1)


def test_a_part_that_fails_is_a_fault_of_the_node_and_holders_are_unknown_then(tmp_path, pem, monkeypatch):
    monkeypatch.setattr(agent_module, "RECONCILE_EVERY_S", 0.01)

    async def work(node):
        well = await node.observe()
        with monkeypatch.context() as patched:
            broken = lambda *args: 1 / 0  # noqa: E731
            patched.setattr(node.enforcer, "look", broken)
            patched.setattr(node.enforcer, "reconcile", broken)
            failing = await until(node, lambda row: len(row.faults) == 2)
            first = {fault.code: fault.since_s for fault in failing.faults}
            later = await node.observe()
        recovered = await until(node, lambda row: not row.faults)
        node.probe.raises = RuntimeError("no\nluck")
        blind = await node.observe()
        return well, failing, first == {fault.code: fault.since_s for fault in later.faults}, recovered, blind

    well, failing, since_stays, recovered, blind = serving(work, tmp_path, pem)

    assert (well.gpus[0].holder, failing.gpus[0].holder, recovered.gpus[0].holder) == ("", None, "")
    assert sorted((fault.code, fault.detail) for fault in failing.faults) == [
        ("look_failed", "ZeroDivisionError: division by zero"),
        ("pass_failed", "ZeroDivisionError: division by zero"),
    ]
    assert since_stays
    assert (blind.gpus, [(fault.code, fault.detail) for fault in blind.faults]) == (
        (),
        [("probe_failed", "RuntimeError: no luck")],
    )


async def until(node, true_of):
    deadline_s = time.monotonic() + LIMIT_S
    while not true_of(row := await node.observe()):
        assert time.monotonic() < deadline_s, row.faults
        await asyncio.sleep(0.01)
    return row


def test_in_shadow_mode_it_says_what_enforcement_would_need_and_in_no_other(tmp_path, pem, monkeypatch):
    monkeypatch.setattr(agent_module, "RECONCILE_EVERY_S", 0.01)

    async def work(node):
        before = (await node.observe()).faults
        await node.driver.ensure_settings(node.address, Settings("shadow"))
        [lacking] = (await until(node, lambda row: row.faults)).faults
        await node.driver.ensure_settings(node.address, Settings("observe"))
        return before, lacking, (await until(node, lambda row: not row.faults)).faults

    before, lacking, after = serving(work, tmp_path, pem)

    assert (before, lacking.code, after) == ((), "not_ready_to_enforce", ())
    assert lacking.detail.startswith(f"driver parameters: {tmp_path}/driver/params: No such file")


def test_a_fault_of_ours_in_an_order_is_a_refusal_with_a_reason(tmp_path, pem, monkeypatch):
    async def work(node):
        monkeypatch.setattr(node.enforcer, "ensure", lambda *args: 1 / 0)
        with pytest.raises(NodeRefused) as refused:
            await node.driver.ensure_unit(node.address, "GPU-1", Order("deep-sea", 1))
        return refused.value.node_code, refused.value.detail

    assert serving(work, tmp_path, pem) == ("not_ready", "the agent failed: ZeroDivisionError")


def test_the_drivers_fault_reaches_the_portal(tmp_path, pem):
    says = NodeSeen((), faults=(Fault("library_mismatch", "reload", 1.0),))

    async def work(node):
        with pytest.raises(NodeRefused) as refused:
            await node.driver.ensure_unit(node.address, "GPU-1", Order("deep-sea", 1))
        return (await node.observe()).faults, refused.value.node_code

    assert serving(work, tmp_path, pem, says=says) == (says.faults, "not_ready")


def test_who_speaks_no_tls_or_no_http_is_dropped_and_others_are_served(tmp_path, pem):
    async def work(node):
        port = URL(node.address.address).port
        plain = await asyncio.open_connection(HOST, port)
        plain[1].write(b"GET /v1/health HTTP/1.1\r\n\r\n")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        garbage = await asyncio.open_connection(HOST, port, ssl=context)
        garbage[1].write(b"\x00\x01 nonsense\r\n\r\n")
        answered = len((await node.observe()).gpus)
        said = await garbage[0].readline()
        for _reader, writer in (plain, garbage):
            writer.transport.abort()
        return answered, said

    answered, said = serving(work, tmp_path, pem)

    assert (answered, said) == (1, b"HTTP/1.0 400 Bad Request\r\n")


def test_strangers_who_hold_connections_are_cut_off_and_the_portal_is_not(tmp_path, pem, monkeypatch):
    monkeypatch.setattr(server_module, "STRANGER_S", 0.3)
    monkeypatch.setattr(server_module, "SWEEP_EVERY_S", 0.05)
    monkeypatch.setattr(server_module, "STRANGERS_MOST", 10)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def work(node):
        await node.observe()
        port = URL(node.address.address).port
        held = await asyncio.gather(*(asyncio.open_connection(HOST, port, ssl=context) for _ in range(40)))
        for _reader, writer in held:
            writer.write(b"GET /v1/observation HTTP/1.1\r\nX: ")
        # Each reads its end: an error or nothing more.
        ends = await asyncio.wait_for(asyncio.gather(*(r.read() for r, _w in held), return_exceptions=True), LIMIT_S)
        for _reader, writer in held:
            writer.transport.abort()
        connections = len(node.driver._connections._session.connector._conns)
        return ends, (await node.observe()).sequence, connections

    ends, sequence, connections = serving(work, tmp_path, pem)

    assert [end for end in ends if not (end == b"" or isinstance(end, ConnectionError))] == []
    # The portal's connection is the one from before.
    assert (sequence, connections) == (2, 1)


@contextmanager
def process(nvml_library, tmp_path, example: str = "h100x8"):  # noqa: F811
    """A real agent on the stand-in, that has joined as n0."""
    stub = StubNode(nvml_library, tmp_path)
    stub.example(example)
    agent = AgentProcess(tmp_path / "agent", stub.environment)
    pin = agent.be("n0", TOKEN)
    agent.start()
    try:
        yield agent, NodeAddress("n0", f"https://{HOST}:{agent.port}", TOKEN, pin)
    finally:
        agent.kill()


def test_sigterm_ends_it_within_two_seconds_also_while_a_pass_hangs(nvml_library, tmp_path):  # noqa: F811
    card = tmp_path / "agent/driver/gpus/0000:1b:00.0"
    card.mkdir(parents=True)
    # Who reads it waits for ever.
    os.mkfifo(card / "information")

    async def ask(node):
        driver = AgentDriver()
        try:
            return len((await driver.observe(node)).observation.gpus)
        finally:
            await driver.close()

    with process(nvml_library, tmp_path) as (agent, node):
        gpus = asyncio.run(ask(node))
        pid, began_s = agent.process.pid, time.monotonic()
        status = agent.stop()
        took_s = time.monotonic() - began_s

    assert (gpus, status, took_s < 2) == (8, 0, True)
    assert not Path(f"/proc/{pid}").exists()


def test_memory_and_descriptors_stay_flat_over_thousands_of_requests(nvml_library, tmp_path):  # noqa: F811
    async def ask(node, times: int):
        # A new driver: new connections each time, too.
        driver = AgentDriver()
        try:
            for _ in range(times):
                await driver.observe(node)
                with pytest.raises(BadToken):
                    await driver.observe(replace(node, token="wrong"))
                with pytest.raises((NodeRefused, BadAnswer)):
                    await driver.ensure_unit(node, "GPU-9", Order("x", 1))
        finally:
            await driver.close()

    with process(nvml_library, tmp_path) as (agent, node):
        pid = agent.process.pid
        asyncio.run(ask(node, 100))
        before = descriptors(pid), resident_kib(pid)
        for _ in range(10):
            asyncio.run(ask(node, 100))
        asyncio.run(ask(node, 1))
        after = descriptors(pid), resident_kib(pid)

    assert after[0] - before[0] <= 2  # connections that are just being closed
    assert after[1] - before[1] < 4 * 1024


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def resident_kib(pid: int) -> int:
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1])


def test_a_port_that_is_taken_is_told_in_a_sentence(nvml_library, tmp_path):  # noqa: F811
    with process(nvml_library, tmp_path) as (agent, _node):
        second = AgentProcess(tmp_path / "second", agent.environment, port=agent.port)
        second.be("n1", TOKEN)
        ended = second.call("run")

    assert (ended.returncode, "address already in use" in ended.stdout) == (1, True)


def test_a_node_that_did_not_join_or_has_a_torn_state_says_what_to_do(tmp_path):
    agent = AgentProcess(tmp_path / "agent", port=free_port())

    never = agent.call("run")
    agent.be("n0", TOKEN)
    agent.places.tokens.write_text("{")
    torn = agent.call("run")

    assert (never.returncode, never.stdout) == (
        78,
        "this node has not joined a portal: allot-agent join PORTAL --code CODE\n",
    )
    assert (torn.returncode, torn.stdout.endswith("join anew\n")) == (78, True)
