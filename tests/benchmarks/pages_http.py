"""A page over real HTTP: uvicorn in a process of its own, as `manage.py up` starts it, on the same database."""

import http
import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.test import Client

from allocations.models import Person

RUNS = 9
START_LIMIT_S = 60  # takes 2 s; the machine may be busy
ANSWER_LIMIT_S = 10


@dataclass(frozen=True)
class Timing:
    """Milliseconds from the request to the last byte of its answer: the server's first one ever, the median after."""

    cold_ms: float
    warm_ms: float
    size: int


def time_part(address: str, person: Person) -> Timing:
    """A part of a page as htmx asks for it, of a process that was started for this and has answered nothing yet."""
    client = Client()
    client.force_login(person)
    headers = {"Cookie": client.cookies.output(attrs=[], header="", sep=";").strip(), "HX-Request": "true"}
    with served() as port:
        took, size = [], 0
        for _run in range(1 + RUNS):
            began = time.perf_counter()
            size = _ask(port, address, headers)
            took.append((time.perf_counter() - began) * 1e3)
    return Timing(took[0], statistics.median(took[1:]), size)


def _ask(port: int, address: str, headers: dict[str, str]) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_LIMIT_S)) as http_connection:
        http_connection.request("GET", address, headers=headers)
        answer = http_connection.getresponse()
        body = answer.read()
    assert answer.status == http.HTTPStatus.OK, (address, answer.status)
    return len(body)


@contextmanager
def served() -> Iterator[int]:
    """The port of a web process that answers its health page."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    known = connection.get_connection_params()
    command = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--port", str(port), "--lifespan", "off"]
    process = subprocess.Popen(
        [*command, "--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "2"],
        env={
            **os.environ,
            "DATABASE_URL": f"postgres://{known['user']}@/{known['dbname']}?host={known['host']}",
            "ALLOT_HOME": str(settings.HOME),
        },
    )
    try:
        _wait(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(START_LIMIT_S)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline_s = time.monotonic() + START_LIMIT_S
    while True:
        assert process.poll() is None and time.monotonic() < deadline_s, "the web process did not start"
        try:
            _ask(port, "/healthz", {})
        except ConnectionError:
            time.sleep(0.05)
        else:
            return
