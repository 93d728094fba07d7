"""The portal's tokens as the node knows them: digests only, on disk before they are said to be accepted."""

import hmac
import json
from hashlib import sha256
from pathlib import Path

from inventory.node_agent.enforce.orders_kept import write_durably

SCHEME = "Bearer "


class Tokens:
    """The token in force, and the one that replaces it once it was used."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, ValueError where the file is not there or torn."""
        self._path = path
        said = json.loads(path.read_text())
        self._now, self._next = str(said["now"]), str(said["next"])

    def accept(self, header: str) -> bool:
        """Whether the header carries a token of the portal. The first use of the new one ends the old.

        Takes as long for a wrong one as for a right one. Raises OSError where the change cannot be kept.
        """
        digest = _digest(header.removeprefix(SCHEME)) if header.startswith(SCHEME) else ""
        is_now = hmac.compare_digest(digest, self._now)
        is_next = hmac.compare_digest(digest, self._next) and self._next != ""
        if is_next:
            self._keep(self._next, "")
        return is_now or is_next

    def expect(self, token: str) -> None:
        """`token` is accepted from now on, too; an unused one before it is not. Raises OSError."""
        digest = _digest(token)
        if digest != self._now:
            self._keep(self._now, digest)

    def _keep(self, now: str, later: str) -> None:
        write_tokens(self._path, now, later)
        self._now, self._next = now, later


def first_token(path: Path, token: str) -> None:
    """The file accepts this token and no other. Raises OSError."""
    write_tokens(path, _digest(token), "")


def write_tokens(path: Path, now: str, later: str) -> None:
    """Both digests are on disk, also after a crash. Raises OSError."""
    write_durably(path, json.dumps({"now": now, "next": later}).encode(), lambda step: None)


def _digest(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()
