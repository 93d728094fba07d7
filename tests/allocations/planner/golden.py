"""Reads the planner's scenarios, and writes their golden plans: `python -m tests.allocations.planner.golden`.

A scenario is a JSON file: `about` (a sentence), `nodes` (name -> `gpus`, one word each, and what differs from a free
H100), `needs` (in any order) and `plans`, the golden output. A GPU's word is `free`, `held:PROJECT@DATE`,
`ended:PROJECT`, `winding:PROJECT@DATE`, `moving:PROJECT`, or why it is unusable; `*N` behind a word repeats it.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from allocations.planner import Need, Place, Proposal, Snapshot, Source, Unit, propose_all

from .fleets import NOW, need, snapshot, unit

FOLDER = Path(__file__).with_name("scenarios")
WORDS = {"held": Source.HELD, "ended": Source.ENDED, "winding": Source.WINDING_DOWN, "moving": Source.MOVING}


def paths() -> list[Path]:
    """Every scenario."""
    return sorted(FOLDER.glob("*.json"))


def read(path: Path) -> tuple[Snapshot, list[Need], list[dict[str, Any]]]:
    """The fleet, the needs and the golden plans of a scenario."""
    told = json.loads(path.read_text())
    return snapshot(_units(told["nodes"])), [_need(facts) for facts in told["needs"]], told.get("plans", [])


def plans(fleet: Snapshot, needs: list[Need]) -> list[dict[str, Any]]:
    """What the planner proposes, as it stands in a scenario."""
    return [_plan(proposal) for proposal in propose_all(fleet, needs)]


def _plan(proposal: Proposal) -> dict[str, Any]:
    picks: dict[str, list[int]] = {}
    for pick in proposal.picks:
        picks.setdefault(f"{pick.why} {pick.from_holder}".strip(), []).append(pick.gpu_id)
    return {"grant": proposal.grant_id, "short": proposal.short, "picks": picks, "why": proposal.why.as_dict()}


def _units(nodes: dict[str, dict[str, Any]]) -> Iterator[Unit]:
    gpu_id = 0
    for name, facts in nodes.items():
        words = [word for part in facts["gpus"].split() for word in _repeated(part)]
        more = {key: value for key, value in facts.items() if key not in ("gpus", "labels")}
        more["labels"] = frozenset(facts.get("labels", ()))
        healthy = sum(word not in ("cordoned", "lost") for word in words)
        for word in words:
            gpu_id += 1
            yield unit(gpu_id, name, node_gpus=healthy, **(more | _judged(word)))


def _repeated(part: str) -> list[str]:
    word, _, times = part.partition("*")
    return [word] * int(times or 1)


def _judged(word: str) -> dict[str, Any]:
    kind, _, rest = word.partition(":")
    holder, _, day = rest.partition("@")
    if kind == "free":
        return {"source": Source.FREE}
    if kind not in WORDS:
        return {"source": Source.UNUSABLE, "detail": kind}
    releases_at = datetime.fromisoformat(day).replace(tzinfo=UTC) if day else None
    if kind == "winding" and not day:
        releases_at = NOW
    return {"source": WORDS[kind], "holder": holder, "releases_at": releases_at, "running": int(kind == "held")}


def _need(facts: dict[str, Any]) -> Need:
    told = dict(facts)
    if "starts_on" in told:
        told["starts_at"] = datetime.fromisoformat(told.pop("starts_on")).replace(tzinfo=UTC)
    told["labels"] = frozenset(told.get("labels", ()))
    told["already_on"] = tuple(Place(**place) for place in told.get("already_on", ()))
    return need(**told)


def write() -> None:
    """Every scenario holds what the planner proposes now; read the difference before it is committed."""
    for path in paths():
        told = json.loads(path.read_text())
        fleet, needs, _ = read(path)
        told["plans"] = plans(fleet, needs)
        path.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    write()
