"""What the site settled for this node's agent: one small TOML file, every key known and of its type."""

import logging
import pwd
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from inventory.node_agent.enforce import Layout, Policy
from inventory.node_agent.probe import ProbeSettings

CONFIG = Path("/etc/allot-agent.toml")
# A unit gets 2 s to end: what is still there of the probe's child then is killed.
CHILD_ENDS_WITHIN_S = 0.8

log = logging.getLogger(__name__)


class BadConfig(Exception):
    """The file cannot be what the site meant; the text names the key."""


@dataclass(frozen=True, slots=True)
class Config:
    """`listen`: the address to listen on, "" for all. `service_accounts`: logins with a permanent right to every GPU.

    `device_dir`, `proc_dir`, `driver_dir`, `pci_dir` lie elsewhere in tests only.
    """

    state_dir: Path = Path("/var/lib/allot-agent")
    listen: str = ""
    observe_only: bool = False
    service_accounts: tuple[str, ...] = ()
    grace_s: float = 60.0
    waits_for_works_elsewhere: bool = True
    poll_every_s: float = 15.0
    device_dir: Path = Path("/dev")
    proc_dir: Path = Path("/proc")
    driver_dir: Path = Path("/proc/driver/nvidia")
    pci_dir: Path = Path("/sys/bus/pci/devices")

    def layout(self) -> Layout:
        """Where enforcement reads and writes."""
        return Layout(self.state_dir, self.device_dir, self.proc_dir, self.driver_dir)

    def policy(self, *, observe_only: bool) -> Policy:
        """What enforcement may do; `observe_only` also where the file does not say so."""
        uids = frozenset(filter(None, map(_uid, self.service_accounts)))
        return Policy(observe_only or self.observe_only, uids, self.grace_s, self.waits_for_works_elsewhere)

    def probe_settings(self) -> ProbeSettings:
        """How the probe looks."""
        return ProbeSettings(
            poll_every_s=self.poll_every_s,
            end_within_s=CHILD_ENDS_WITHIN_S,
            proc=self.proc_dir,
            pci=self.pci_dir,
            seen_errors=self.state_dir / "errors.json",
        )


def read_config(path: Path | None) -> Config:
    """The file's settings; the defaults where the usual file is not there. Raises BadConfig."""
    chosen = path or CONFIG
    try:
        raw = tomllib.loads(chosen.read_text())
    except FileNotFoundError as error:
        if path is None:
            return Config()
        raise BadConfig(f"{path} is not there") from error
    except (OSError, ValueError) as error:
        raise BadConfig(f"{chosen}: {error}") from error
    known = {field.name: field.default for field in fields(Config)}
    if unknown := sorted(raw.keys() - known.keys()):
        raise BadConfig(f"{chosen}: nothing is called {', '.join(unknown)}; there are {', '.join(known)}")
    return Config(**{name: _value(name, value, known[name], chosen) for name, value in raw.items()})


def _value(name: str, value: Any, default: Any, path: Path) -> Any:
    if isinstance(default, Path) and isinstance(value, str):
        return Path(value)
    if isinstance(default, tuple) and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if isinstance(default, float) and type(value) in (int, float) and value > 0:
        return float(value)
    if type(value) is type(default):
        return value
    raise BadConfig(f"{path}: {name} = {value!r} is not like {default!r}")


def _uid(login: str) -> int | None:
    try:
        return pwd.getpwnam(login).pw_uid
    except KeyError:
        log.warning("no account is called %s here: it gets no right", login)
        return None
