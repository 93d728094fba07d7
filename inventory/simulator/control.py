"""Let things happen to a running simulated fleet, from any process on the same machine."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

from inventory.simulator.life import Habit
from inventory.simulator.node import HOST

# Local work of milliseconds; seeding a whole fleet takes about one second.
TIMEOUT_S = 30
NOTE = "control.json"


class ControlRefused(Exception):
    """The fleet did not do it: no such node or GPU, or something that cannot happen."""


class Control:
    """The remote control of a simulated fleet. Node names and GPU uuids are the fleet's own."""

    def __init__(self, *, port: int, token: str) -> None:
        self._port = port
        self._token = token

    @classmethod
    def of(cls, state: Path) -> "Control":
        """The remote control of the fleet that runs with this state folder. Raises OSError when none ever did."""
        noted = json.loads((state / NOTE).read_text())
        return cls(port=noted["port"], token=noted["token"])

    def note(self, state: Path) -> None:
        """`Control.of` finds this one, for the user who runs the fleet."""
        note = state / NOTE
        note.touch(mode=0o600)
        note.write_text(json.dumps({"port": self._port, "token": self._token}))

    def fleet(self) -> dict[str, Any]:
        """The truth: certificate_sha256 and nodes, each with condition, obeys, gpus (holder, ordered_holder, ...)."""
        return self._call("GET", "/fleet")

    def gpus(self) -> dict[str, dict[str, Any]]:
        """GPU uuid -> its device as the fleet has it, plus its node's name."""
        return {gpu["uuid"]: gpu | {"node": node["name"]} for node in self.fleet()["nodes"] for gpu in node["gpus"]}

    def kill(self, node: str) -> None:
        """The node's port is closed, its connections are broken off."""
        self._call("POST", f"/nodes/{quote(node, safe='')}/kill")

    def hang(self, node: str) -> None:
        """The node accepts connections and answers nothing."""
        self._call("POST", f"/nodes/{quote(node, safe='')}/hang")

    def revive(self, node: str) -> None:
        """A killed or hung node has booted anew."""
        self._call("POST", f"/nodes/{quote(node, safe='')}/revive")

    def disobey(self, node: str) -> None:
        """The node accepts orders and does nothing."""
        self._call("POST", f"/nodes/{quote(node, safe='')}/disobey")

    def obey(self, node: str) -> None:
        """The node carries out what it accepted."""
        self._call("POST", f"/nodes/{quote(node, safe='')}/obey")

    def lose(self, uuid: str) -> None:
        """The GPU has fallen off its bus."""
        self._call("POST", f"/gpus/{quote(uuid, safe='')}/lose")

    def find(self, uuid: str) -> None:
        """The lost GPU is back."""
        self._call("POST", f"/gpus/{quote(uuid, safe='')}/find")

    def replace_card(self, uuid: str) -> str:
        """Another card sits in that one's slot; its uuid."""
        return str(self._call("POST", f"/gpus/{quote(uuid, safe='')}/replace")["uuid"])

    def fault(self, uuid: str, code: str, detail: str = "") -> None:
        """Something is wrong with the GPU from now on, as its node tells it."""
        self._call("POST", f"/gpus/{quote(uuid, safe='')}/fault", {"code": code, "detail": detail})

    def heal(self, uuid: str) -> None:
        """Nothing is wrong with the GPU any more, and no stranger uses it."""
        self._call("POST", f"/gpus/{quote(uuid, safe='')}/heal")

    def intrude(self, uuid: str, user: str) -> None:
        """A user without a right has a process on the GPU."""
        self._call("POST", f"/gpus/{quote(uuid, safe='')}/intrude", {"user": user})

    def set_habit(self, holder: str, habit: Habit) -> None:
        """How that holder uses its GPUs: life, idle, busy, stuck or tiny."""
        self._call("PUT", f"/holders/{quote(holder, safe='')}/habit", {"habit": habit})

    def seed_holders(self, holders: Mapping[str, tuple[str, int]]) -> None:
        """GPU uuid -> (holder, generation): those devices are so, as if ordered and carried out."""
        self._call("PUT", "/devices", dict(holders))

    def set_drain(self, drain_s: float) -> None:
        """About how long processes go on after an order for another holder."""
        self._call("PUT", "/drain", {"drain_s": drain_s})

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        connection = HTTPConnection(HOST, self._port, timeout=TIMEOUT_S)
        try:
            payload = None if body is None else json.dumps(body)
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read() or b"{}")
        finally:
            connection.close()
        if response.status != 200:
            raise ControlRefused(answer.get("detail", f"status {response.status}"))
        return answer
