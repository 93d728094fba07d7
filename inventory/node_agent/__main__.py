"""`allot-agent run|join|install|doctor|observe`: the agent of a GPU node, and what an operator does with it."""

import argparse
import asyncio
import logging
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from inventory.node_agent.agent import Agent
from inventory.node_agent.certificate import NoCertificate
from inventory.node_agent.config import CONFIG, BadConfig, Config, read_config
from inventory.node_agent.enforce import Check, Enforcer, Layout
from inventory.node_agent.identity import NotJoined, Places, read_identity
from inventory.node_agent.install import CannotInstall, install
from inventory.node_agent.join import PORT, Asked, CannotJoin, join
from inventory.node_agent.probe import Probe
from inventory.node_agent.probe.__main__ import table
from inventory.node_agent.seen import NodeSeen
from inventory.node_agent.server import Server
from inventory.node_agent.tokens import Tokens
from inventory.node_agent.version import VERSION

# sysexits.h: something is not set up; systemd shows it.
NOT_SET_UP = 78
# A node that joined anew starts anew within that time.
LOOK_FOR_JOIN_S = 2.0

log = logging.getLogger("allot-agent")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 well, 1 not, 78 where something must be set up first."""
    asked = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        config = read_config(asked.config)
        match asked.what:
            case "join":
                return _join(asked, config)
            case "install":
                return _install(asked)
            case "doctor":
                return _doctor(config)
            case "observe":
                return _observe(config)
            case _:
                return asyncio.run(_run(config, observe_only=asked.observe_only))
    except (BadConfig, NotJoined, NoCertificate) as error:
        _say(str(error))
        return NOT_SET_UP
    except (CannotJoin, CannotInstall, OSError) as error:
        _say(str(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="allot-agent", description="The agent of a GPU node.")
    parser.add_argument("--version", action="version", version=f"allot-agent {VERSION}")
    parser.add_argument("--config", type=Path, help=f"default: {CONFIG}, where it is there")
    what = parser.add_subparsers(dest="what", required=True)
    run = what.add_parser("run", help="answer the portal; what the service does")
    run.add_argument("--observe-only", action="store_true", help="whatever the portal says, look only")
    joining = what.add_parser("join", help="join a portal, or join it anew with a new certificate and token")
    joining.add_argument("portal", help="its address, https://...")
    joining.add_argument("--code", required=True, help="the one-time code of this node; - reads it from the input")
    joining.add_argument("--host", default="", help="how the portal reaches this node, if not by its own address")
    joining.add_argument("--port", type=int, default=PORT, help=f"where the agent listens (default {PORT})")
    joining.add_argument("--portal-sha256", default="", help="of the portal's certificate, where no authority vouches")
    installing = what.add_parser("install", help="put this file and its service into their places, or newer ones there")
    installing.add_argument("--root", type=Path, default=Path("/"), help="of an image, if not of this machine")
    what.add_parser("doctor", help="say what is missing for enforcement, and what to do about it")
    what.add_parser("observe", help="show what the agent sees, once")
    return parser


async def _run(config: Config, *, observe_only: bool) -> int:
    """Serves until SIGTERM, or until the node has joined anew."""
    places = Places(config.state_dir)
    identity = read_identity(places)
    joined_at_ns = places.identity.stat().st_mtime_ns
    try:
        tokens = Tokens(places.tokens)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotJoined(f"{places.tokens} cannot be read ({error}): join anew") from error
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Own handlers: a child started by a shell's & inherits an ignored SIGINT.
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    enforcer = Enforcer(config.layout(), config.policy(observe_only=observe_only))
    agent = Agent(identity, tokens, Probe(config.probe_settings()), enforcer)
    server = Server(agent)
    await agent.start()
    try:
        port = await server.listen(host=config.listen, port=identity.port, pem=places.tls)
    except (OSError, ssl.SSLError):
        await agent.close()
        raise
    log.info("node %s listens on port %d, mode %s, version %s", identity.node, port, enforcer.mode, VERSION)
    while not ended.is_set():
        try:
            await asyncio.wait_for(ended.wait(), LOOK_FOR_JOIN_S)
        except TimeoutError:
            if places.identity.stat().st_mtime_ns != joined_at_ns:
                log.info("the node has joined anew: ending, to be started as that")
                break
    await server.close()
    await agent.close()
    # A pass may wait for a directory server in its thread. Each of its steps may be the last, by design.
    logging.shutdown()
    os._exit(0)


def _join(asked: argparse.Namespace, config: Config) -> int:
    code = sys.stdin.readline() if asked.code == "-" else asked.code
    told = Asked(asked.portal, code, asked.host, asked.port, asked.portal_sha256)
    identity = join(told, Places(config.state_dir))
    _say(f"This node is {identity.node} of {identity.portal}. Start it: systemctl enable --now allot-agent")
    return 0


def _install(asked: argparse.Namespace) -> int:
    for path in install(Path(sys.argv[0]), asked.root):
        _say(str(path))
    return 0


def _doctor(config: Config) -> int:
    """Every check, the failed ones with what to do; 1 where one failed."""
    seen = asyncio.run(_look(config))
    with TemporaryDirectory() as elsewhere:
        # Apart from the state of an agent that runs: reading its orders would tidy up beneath it.
        layout = config.layout()
        enforcer = Enforcer(
            Layout(Path(elsewhere), layout.devices, layout.proc, layout.driver), config.policy(observe_only=False)
        )
        checks = [_joined(config), *(_driver_check(seen)), *enforcer.findings(seen)]
    for check in checks:
        _say(f"{'ok  ' if check.passed else 'MISS'} {check.name}: {check.found}")
        if not check.passed:
            _say(f"     {check.remedy}")
    return 0 if all(check.passed for check in checks) else 1


def _joined(config: Config) -> Check:
    try:
        identity = read_identity(Places(config.state_dir))
    except NotJoined as error:
        return Check("joined", False, str(error), "Ask ops for a join code; the node's page in the portal makes one.")
    return Check("joined", True, f"{identity.node} of {identity.portal}", "")


def _driver_check(seen: NodeSeen) -> list[Check]:
    remedy = "See nvidia-smi and dmesg; a reboot mends most of these."
    faults = [Check(f"driver: {fault.code}", False, fault.detail or fault.code, remedy) for fault in seen.faults]
    return faults or [Check("driver", True, f"{seen.driver}, {len(seen.gpus)} GPUs", "")]


def _observe(config: Config) -> int:
    seen = asyncio.run(_look(config))
    _say(table(seen))
    return 1 if seen.faults else 0


async def _look(config: Config) -> NodeSeen:
    probe = Probe(config.probe_settings())
    await probe.start()
    try:
        return await probe.look()
    finally:
        await probe.close()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
