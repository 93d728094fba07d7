"""Servers outside the building, real ones on real sockets, that go down and come back on the same port."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = True


class _Server:
    """A server that is down until `up` is entered; `port` stays the same."""

    kind: type = _Tcp

    def __init__(self) -> None:
        with self.kind(("127.0.0.1", 0), None) as reserved:
            self.port: int = reserved.server_address[1]

    def handler(self) -> type:
        raise NotImplementedError

    @contextmanager
    def up(self) -> Iterator[None]:
        with self.kind(("127.0.0.1", self.port), self.handler()) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()


class MailServer(_Server):
    """Speaks as much SMTP as a sender needs; `replies` replaces answers, as in {"RCPT": "450 later"}."""

    def __init__(self) -> None:
        super().__init__()
        self.mails: list[EmailMessage] = []
        self.replies: dict[str, str] = {}

    def handler(self) -> type:
        server = self

        class Conversation(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.say("220 mail.lab.example")
                for line in self.rfile:
                    command = line.decode().strip().upper()[:4]
                    if command == "DATA" and command not in server.replies:
                        self.say("354 go on")
                        server.mails.append(message_from_bytes(self.text(), policy=policy.default))
                    self.say(server.replies.get(command, "221 bye" if command == "QUIT" else "250 ok"))
                    if command == "QUIT":
                        return

            def text(self) -> bytes:
                return b"".join(iter(self.rfile.readline, b".\r\n"))

            def say(self, answer: str) -> None:
                self.wfile.write(f"{answer}\r\n".encode())

        return Conversation


class ChatServer(_Server):
    """Takes apprise's JSON; `status` is what it answers, and `posts` what it took with 200."""

    kind = ThreadingHTTPServer

    def __init__(self) -> None:
        super().__init__()
        self.posts: list[dict[str, str]] = []
        self.status = 200

    @property
    def url(self) -> str:
        """The chat address of anybody there."""
        return f"json://127.0.0.1:{self.port}/"

    def handler(self) -> type:
        server = self

        class Post(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if server.status == 200:
                    server.posts.append(said)
                self.send_response(server.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Tests say themselves what happened."""

        return Post
