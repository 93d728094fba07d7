"""Live streams from a real uvicorn: what happens in the database reaches every open page; none holds up a stop."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from importlib import import_module

import aiohttp
import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connection, transaction
from django.utils import timezone

from inventory import trail
from inventory.models import Survey
from tests import factories

START_LIMIT_S = 60  # takes 2 s; the machine may be busy
HEARD_WITHIN_S = 2.0  # what a page promises
STOP_WITHIN_S = 2.5
CLIENTS = 50

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def server(settings) -> Iterator[subprocess.Popen]:
    """A web process on the database of this test."""
    known = connection.get_connection_params()
    where = f"postgres://{known['user']}@/{known['dbname']}?host={known['host']}"
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--port", str(port), "--lifespan", "off"]
    process = subprocess.Popen(
        [*command, "--log-level", "warning", "--timeout-graceful-shutdown", "5"],
        env={**os.environ, "DATABASE_URL": where},
    )
    process.base = f"http://127.0.0.1:{port}"
    deadline_s = time.monotonic() + START_LIMIT_S
    while not _listens(port):
        assert process.poll() is None and time.monotonic() < deadline_s, "the web process did not start"
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def cookies(db) -> dict[str, str]:
    """Somebody is logged in."""
    someone = factories.person("viewer")
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(someone.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = someone.get_session_auth_hash()
    session.save()
    return {settings.SESSION_COOKIE_NAME: session.session_key}


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Page:
    """An open page: the messages of its stream as (event, data)."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def next(self, event: str, *, but: str = "") -> tuple[str, float]:
        """The data of the next message of that kind (whose data is not `but`), and when it came."""
        name = ""
        async for line in self.answer.content:
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
            elif text.startswith("data: ") and name == event and text.removeprefix("data: ") != but:
                return text.removeprefix("data: "), time.monotonic()
        raise AssertionError(f"the stream ended before {event}")


@asynccontextmanager
async def _opened(server: subprocess.Popen, cookies: dict[str, str], count: int = 1) -> AsyncIterator[list[Page]]:
    """So many open pages of one person, all of which hear the database."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(cookies=cookies, connector=connector) as session:
        answers = await asyncio.gather(*(session.get(f"{server.base}/live/") for _page in range(count)))
        pages = [Page(answer) for answer in answers]
        try:
            assert {(page.answer.status, page.answer.content_type) for page in pages} == {(200, "text/event-stream")}
            assert {data for data, _at_s in await asyncio.gather(*(page.next("ready") for page in pages))} == {"heard"}
            yield pages
        finally:
            for page in pages:
                page.answer.close()


async def _away(function, *args) -> None:
    """It has run in a thread, on a connection of its own."""

    def run() -> None:
        try:
            function(*args)
        finally:
            connection.close()

    await asyncio.to_thread(run)


def _happens(verb: str) -> None:
    with transaction.atomic():
        trail.record(verb, factories.model(), by="tests")


def test_an_event_reaches_fifty_pages_within_two_seconds(server, cookies):
    async def story() -> list[tuple[set[str], float]]:
        async with _opened(server, cookies, CLIENTS) as pages:
            began_s = time.monotonic()
            await _away(_happens, "grant.issued")
            heard = await asyncio.gather(*(page.next("changed", but="*") for page in pages))
            return [(set(data.split()) - {"*"}, at_s - began_s) for data, at_s in heard]

    heard = asyncio.run(story())

    assert [topics for topics, _after_s in heard] == [{"grant"}] * CLIENTS
    assert max(after_s for _topics, after_s in heard) < HEARD_WITHIN_S


def test_what_happens_at_once_is_told_together_and_only_once_committed(server, cookies):
    async def story() -> set[str]:
        async with _opened(server, cookies) as [page]:
            await _away(_rolled_back)
            await _away(_many_at_once)
            data, _at_s = await page.next("changed", but="*")
            return set(data.split()) - {"*"}

    assert asyncio.run(story()) == {"plan", "survey"}


def _rolled_back() -> None:
    with transaction.atomic():
        trail.record("pitch.submitted", factories.model(), by="tests")
        transaction.set_rollback(True)


def _many_at_once() -> None:
    with transaction.atomic():
        for _number in range(200):
            trail.record("plan.proposed", factories.model(), by="tests")
        moment = timezone.now()
        Survey.objects.create(started_at=moment, finished_at=moment, nodes_asked=0, nodes_answered=0, gpus_seen=0)


def test_a_lost_database_connection_is_made_again_and_pages_are_told_to_look(server, cookies):
    async def story() -> tuple[str, str]:
        async with _opened(server, cookies) as [page]:
            await page.next("changed")  # the ear has just begun to listen
            await _away(_cut_the_ear)
            again, _at_s = await page.next("changed")
            await _away(_happens, "split.signed")
            after, _at_s = await page.next("changed", but="*")
            return again, after

    again, after = asyncio.run(asyncio.wait_for(story(), 30))

    assert (again, after) == ("*", "split")


def _cut_the_ear() -> None:
    with connection.cursor() as cursor:
        ears = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        cursor.execute(f"SELECT count(pg_terminate_backend(pid)) {ears}")
        assert cursor.fetchone() == (1,), "one connection of the process listens, for all its pages"


def test_open_pages_do_not_hold_up_a_stop(server, cookies):
    async def story() -> float:
        async with _opened(server, cookies, 10) as pages:
            began_s = time.monotonic()
            server.send_signal(signal.SIGTERM)
            await asyncio.gather(*(page.answer.content.read() for page in pages))
            await asyncio.to_thread(server.wait, 30)
            return time.monotonic() - began_s

    assert asyncio.run(story()) < STOP_WITHIN_S


def test_strangers_get_no_stream(server, db):
    async def story() -> int:
        async with aiohttp.ClientSession() as session, session.get(f"{server.base}/live/") as answer:
            return answer.status

    assert asyncio.run(story()) == 401


def test_a_server_without_streams_says_so_at_once(client, lab):
    client.force_login(lab.stranger)

    assert client.get("/live/").status_code == 204
