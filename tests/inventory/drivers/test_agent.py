"""The agent driver against servers that are not what they should be."""

import asyncio
import ssl
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from inventory.drivers.agent import AgentDriver
from inventory.drivers.base import NodeAddress, Order
from inventory.drivers.connections import ANSWER_MOST_BYTES
from inventory.errors import BadAnswer, BadToken, CertificateMismatch, NodeRefused, NodeUnreachable
from inventory.simulator import certificate_in
from tests.inventory.simulated import simulated


@asynccontextmanager
async def driver_of(request_timeout_s=2.0):
    driver = AgentDriver(request_timeout_s=request_timeout_s)
    try:
        yield driver
    finally:
        await driver.close()


@asynccontextmanager
async def node_that(answer, state):
    """A TLS server that answers every request by `answer(request)`."""
    certificate = certificate_in(state)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem)
    server = web.Server(answer)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0, ssl=context)
    port = listener.sockets[0].getsockname()[1]
    try:
        yield NodeAddress("n0", f"https://127.0.0.1:{port}", "token", certificate.sha256)
    finally:
        listener.close()
        await server.shutdown(0.01)


def observing(answer, state):
    """What observing a node that answers so comes to: the error raised."""

    async def body():
        async with node_that(answer, state) as node, driver_of() as driver:
            await driver.observe(node)

    with pytest.raises(Exception) as raised:
        asyncio.run(body())
    return raised.value


def saying(body: bytes, status: int = 200, **headers):
    async def answer(request):
        return web.Response(body=body, status=status, headers=headers)

    return answer


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"<html>", "body: not JSON (JSONDecodeError)"),
        (b'{"protocol": 0}', "protocol: not 1 or newer"),
        (b'{"protocol": 1, "gpus": [{"kind": "gpu"}]}', "gpus[0].values: not an object"),
    ],
)
def test_a_malformed_answer_is_named_by_its_field(tmp_path, body, detail):
    error = observing(saying(body), tmp_path)

    assert (type(error), error.code, error.node, error.detail) == (BadAnswer, "bad_answer", "n0", detail)


def test_an_answer_without_end_is_cut_off(tmp_path):
    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 1_000_000)

    error = observing(answer, tmp_path)

    assert (type(error), error.detail) == (BadAnswer, f"more than {ANSWER_MOST_BYTES} bytes")


def test_a_redirect_is_not_followed(tmp_path):
    error = observing(saying(b"", 302, Location="https://127.0.0.1:1/"), tmp_path)

    assert (type(error), error.detail) == (BadAnswer, "status 302 without a reason")


def test_an_inner_error_of_the_node_is_a_bad_answer(tmp_path):
    error = observing(saying(b"Traceback", 500), tmp_path)

    assert (type(error), error.detail) == (BadAnswer, "status 500 without a reason")


def test_the_nodes_own_code_travels_with_a_refusal(tmp_path):
    error = observing(saying(b'{"code": "probe_hung"}', 503), tmp_path)

    assert (type(error), error.code, error.node_code) == (NodeRefused, "node_refused", "probe_hung")


def test_an_answer_to_another_order_is_not_believed(tmp_path):
    answer = saying(b'{"state": "switched", "running": 0, "generation": 4, "access_revision": 0}')

    async def body():
        async with node_that(answer, tmp_path) as node, driver_of() as driver:
            await driver.ensure_unit(node, "GPU-1", Order("deep-sea", 5))

    with pytest.raises(BadAnswer) as raised:
        asyncio.run(body())

    assert raised.value.detail == "generation: 4 for an order of 5"


def test_another_certificate_is_refused_before_the_token_is_sent(tmp_path):
    seen = []

    async def answer(request):
        seen.append(request.headers.get("Authorization"))
        return web.Response()

    async def body():
        async with node_that(answer, tmp_path) as node, driver_of() as driver:
            await driver.observe(replace(node, certificate_sha256="ab" * 32))

    with pytest.raises(CertificateMismatch) as raised:
        asyncio.run(body())

    assert raised.value.detail == f"the node shows {certificate_in(tmp_path).sha256}"
    assert seen == []


@pytest.mark.parametrize("pin", ["", "ab", "zz" * 32])
def test_a_node_without_a_known_certificate_is_not_spoken_to(tmp_path, pin):
    async def body():
        async with driver_of() as driver:
            await driver.observe(NodeAddress("n0", "https://127.0.0.1:1", "token", pin))

    with pytest.raises(CertificateMismatch):
        asyncio.run(body())


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "127.0.0.1:1", "https://", "https://127.0.0.1:99999999"])
def test_an_address_that_is_none_is_an_unreachable_node(address):
    async def body():
        async with driver_of() as driver:
            await driver.observe(NodeAddress("n0", address, "token", "ab" * 32))

    with pytest.raises(NodeUnreachable):
        asyncio.run(body())


def test_the_token_is_never_sent_without_tls():
    seen = []

    async def answer(request):
        seen.append(request.headers.get("Authorization"))
        return web.Response()

    async def body():
        server = web.Server(answer)
        listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        try:
            async with driver_of() as driver:
                await driver.observe(NodeAddress("n0", f"http://127.0.0.1:{port}", "token", "ab" * 32))
        finally:
            listener.close()
            await server.shutdown(0.01)

    with pytest.raises(NodeUnreachable):
        asyncio.run(body())

    assert seen == []


def test_a_token_that_cannot_stand_in_a_header_is_no_crash(tmp_path):
    async def body():
        async with node_that(saying(b"{}"), tmp_path) as node, driver_of() as driver:
            await driver.observe(replace(node, token="two\r\nlines"))

    with pytest.raises((NodeUnreachable, BadToken)):
        asyncio.run(body())


def test_a_port_that_accepts_and_never_speaks_is_given_up_in_time():
    async def body():
        hung_up = asyncio.Event()

        async def silent(reader, writer):
            await reader.read()
            writer.close()
            hung_up.set()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, driver_of(request_timeout_s=0.3) as driver:
            try:
                await driver.observe(NodeAddress("n0", f"https://127.0.0.1:{port}", "token", "ab" * 32))
            finally:
                await hung_up.wait()

    began = time.monotonic()
    with pytest.raises(NodeUnreachable) as raised:
        asyncio.run(body())

    assert raised.value.detail == "no answer in time"
    assert time.monotonic() - began < 2


def test_a_hung_node_is_given_up_in_time_also_on_a_connection_that_worked(tmp_path):
    with simulated(tmp_path) as world:

        async def body():
            async with driver_of(request_timeout_s=0.3) as driver:
                await driver.observe(world.node("n0"))
                await asyncio.to_thread(world.control.hang, "n0")
                await driver.observe(world.node("n0"))

        began = time.monotonic()
        with pytest.raises(NodeUnreachable) as raised:
            asyncio.run(body())

    assert raised.value.detail == "no answer in time"
    assert time.monotonic() - began < 5


def test_a_node_that_booted_anew_is_reached_over_a_new_connection(tmp_path):
    with simulated(tmp_path) as world:

        async def body():
            async with driver_of() as driver:
                first = await driver.observe(world.node("n0"))
                await asyncio.to_thread(world.control.kill, "n0")
                await asyncio.to_thread(world.control.revive, "n0")
                return first, await driver.observe(world.node("n0"))

        first, second = asyncio.run(body())

    assert first.observation.boot_id != second.observation.boot_id


def test_a_connection_is_used_again(tmp_path):
    connections = set()

    async def answer(request):
        connections.add(request.transport)
        return web.Response(body=b'{"protocol":1,"node":"n0","boot_id":"b","sequence":1,"gpus":[]}')

    async def body():
        async with node_that(answer, tmp_path) as node, driver_of() as driver:
            for _ in range(3):
                await driver.observe(replace(node))

    asyncio.run(body())

    assert len(connections) == 1
