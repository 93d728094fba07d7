"""Joining, from the node's side: which portal is spoken to, what is sent, and what a lost answer costs."""

import json
import ssl
import stat
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from inventory.node_agent import join as module
from inventory.node_agent.certificate import NoCertificate, fingerprint, make_certificate
from inventory.node_agent.identity import Identity, NotJoined, Places, read_identity
from inventory.node_agent.join import Asked, CannotJoin, join
from inventory.node_agent.tokens import Tokens

CODE = "c" * 40
YES = (200, {"node": "gpu-1", "address": "https://127.0.0.1:8443", "mode": "observe"})


@dataclass
class Portal:
    """Answers as a test says, and remembers what it was told."""

    answers: list[tuple[int, object]] = field(default_factory=lambda: [YES])
    told: list[dict] = field(default_factory=list)
    address: str = ""

    def next(self) -> tuple[int, object]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def portal(*answers, pem=None):
    """A portal on a port of its own; with `pem` it speaks TLS."""
    here = Portal(list(answers) or [YES])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            here.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, answer = here.next()
            if answer is None:
                self.connection.close()
                return
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *args: None
    if pem is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    here.address = f"http{'s' if pem else ''}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path / "state")


@pytest.fixture
def pem(tmp_path):
    make_certificate(tmp_path / "portal.pem")
    return tmp_path / "portal.pem"


def test_it_brings_its_certificate_address_and_token_and_keeps_who_it_is(places):
    with portal() as here:
        identity = join(Asked(here.address, CODE, port=9000), places)

    [told] = here.told
    assert identity == read_identity(places) == Identity("gpu-1", here.address, 9000)
    assert told == {
        "code": CODE,
        "host": "127.0.0.1",
        "port": 9000,
        "certificate_sha256": fingerprint(places.tls),
        "token": told["token"],
        "agent": "0.1.0",
    }
    assert Tokens(places.tokens).accept(f"Bearer {told['token']}")
    assert sorted(path.name for path in places.state.iterdir()) == ["agent.json", "tls.pem", "tokens.json"]


def test_key_and_secrets_are_for_root_alone_and_the_token_stays_nowhere(places):
    with portal() as here:
        join(Asked(here.address, CODE), places)

    kept = "".join(path.read_text() for path in places.state.iterdir())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (places.state, places.tls)}
    assert modes == {"state": 0o700, "tls.pem": 0o600}
    assert (here.told[0]["token"] in kept, CODE in kept) == (False, False)


def test_after_a_lost_answer_the_same_node_asks_again(places):
    with portal((200, None), YES) as here:
        with pytest.raises(CannotJoin, match="the same command again"):
            join(Asked(here.address, CODE), places)
        with pytest.raises(NotJoined):
            read_identity(places)
        join(Asked(here.address, CODE), places)

    assert here.told[0] == here.told[1]


@pytest.mark.parametrize("step", range(9))
def test_wherever_it_dies_it_joins_at_the_next_try(places, monkeypatch, step):
    steps = iter(range(99))

    def dying(path, body, on_step):
        def die(_step):
            if next(steps) == step:
                raise SystemExit

        durably(path, body, die)

    durably = module.write_durably
    with portal() as here:
        with monkeypatch.context() as patched, pytest.raises(SystemExit):
            for name in ("join.write_durably", "tokens.write_durably", "identity.write_durably"):
                patched.setattr(f"inventory.node_agent.{name}", dying)
            join(Asked(here.address, CODE), places)
        join(Asked(here.address, CODE), places)

    last = here.told[-1]
    assert Tokens(places.tokens).accept(f"Bearer {last['token']}")
    assert (last["certificate_sha256"], read_identity(places).node) == (fingerprint(places.tls), "gpu-1")


def test_a_node_that_joins_anew_has_a_new_certificate_and_token(places):
    with portal() as here:
        for _ in range(2):
            join(Asked(here.address, CODE), places)

    first, second = here.told
    assert first["certificate_sha256"] != second["certificate_sha256"]
    assert not Tokens(places.tokens).accept(f"Bearer {first['token']}")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((403, {"detail": "No node joins by that code."}), "the portal says: No node joins by that code."),
        ((400, {"detail": "Some fields are wrong.", "errors": {"host": ["no"]}}), "fields are wrong"),
        ((200, {"node": 3}), "the portal says: 200"),
        ((200, b"<html>"), "that is not the portal"),
        ((200, b"[]"), "that is not the portal"),
        ((502, b""), "that is not the portal: status 502"),
    ],
)
def test_a_no_is_told_in_a_sentence_and_nothing_is_kept_of_it(places, answer, says):
    with portal(answer) as here, pytest.raises(CannotJoin, match=says):
        join(Asked(here.address, CODE), places)

    assert not places.identity.exists()


def test_the_certificate_that_was_named_vouches_for_the_portal(places, pem):
    spelled = ":".join(fingerprint(pem).upper()[at : at + 2] for at in range(0, 64, 2))

    with portal(pem=pem) as here:
        assert join(Asked(here.address, CODE, portal_sha256=spelled), places).node == "gpu-1"


@pytest.mark.parametrize("named", ["0" * 64, ""])
def test_to_another_portal_nothing_is_sent(places, pem, named):
    with (
        portal(pem=pem) as here,
        pytest.raises(CannotJoin, match=r"another certificate|nobody that this system trusts"),
    ):
        join(Asked(here.address, CODE, portal_sha256=named), places)

    assert here.told == []


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://portal.example", "in the clear"),
        ("portal.example", "no address"),
        ("ftp://portal.example", "no address"),
        ("http://127.0.0.1:1", "is not reached"),
    ],
)
def test_an_address_that_cannot_be_is_told(places, address, says):
    with pytest.raises(CannotJoin, match=says):
        join(Asked(address, CODE), places)


def test_without_openssl_it_says_what_to_install(places, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoCertificate, match="apt-get install openssl"):
        join(Asked("http://127.0.0.1:1", CODE), places)


def test_codes_and_tokens_stand_in_no_repr():
    assert CODE not in repr(Asked("https://p", CODE))
