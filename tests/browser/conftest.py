"""A real Chromium against a real uvicorn with the database of this test run.

Skipped with a reason where there is no Chromium; ALLOT_REQUIRE_BROWSER=1 makes that a failure.
"""

import gc
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from django.conf import settings as site
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, sync_playwright

from allocations.models import Person
from portal.asgi import application

CHROMIUM = os.environ.get("ALLOT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
IS_REQUIRED = os.environ.get("ALLOT_REQUIRE_BROWSER") == "1"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HERE = Path(__file__).parent
START_LIMIT_S = 20
# A page that closes breaks its requests off; what the server had open for them is left to the collector.
BROKEN_OFF = "ignore::pytest.PytestUnraisableExceptionWarning"
PATIENCE_MS = 15_000  # two shared cores may be busy with other tests


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a Chromium every test of this folder is skipped with the reason, unless one is required."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.filterwarnings(BROKEN_OFF))
            if not CHROMIUM and not IS_REQUIRED:
                item.add_marker(pytest.mark.skip(reason="no chromium on this machine (apt-get install chromium)"))


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for this folder; ended with it, since its event loop would forbid other tests theirs."""
    assert CHROMIUM, "ALLOT_REQUIRE_BROWSER=1, and there is no chromium"
    # Playwright's sync API runs a loop in this thread; Django would take that for async code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
        # While that loop runs this thread has connections apart, and nobody else would close them.
        connections.close_all()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="package")
def _server(django_db_setup) -> Iterator[str]:
    # Connections that outlive their request would forbid the test database's end.
    connections.settings["default"]["CONN_MAX_AGE"] = 0
    config = uvicorn.Config(
        application, port=0, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline_s = time.monotonic() + START_LIMIT_S
    while not server.started:
        assert time.monotonic() < deadline_s, "uvicorn did not start"
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(START_LIMIT_S)
    # A request that a closed page broke off leaves its connection to the collector, which warns of it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def server(_server, transactional_db) -> str:
    """The address of the portal, on this test's rows."""
    return _server


@dataclass
class Visit:
    """A page of a person's own browser session, and what the browser complained about."""

    page: Page
    complaints: list[str]


@pytest.fixture
def visit(chromium, server) -> Callable[..., Visit]:
    """`visit(person, dark=False, phone=False)` opens a session of that person (None: nobody) on the portal."""

    @contextmanager
    def opened(person: Person | None = None, *, dark: bool = False, phone: bool = False) -> Iterator[Visit]:
        context = chromium.new_context(
            base_url=server,
            color_scheme="dark" if dark else "light",
            viewport={"width": 390, "height": 844} if phone else {"width": 1440, "height": 900},
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        if person is not None:
            client = Client()
            client.force_login(person)
            cookie = client.cookies[site.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": site.SESSION_COOKIE_NAME, "value": cookie, "url": server}])
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        try:
            yield Visit(page, complaints)
        finally:
            context.close()

    return opened
