"""Errors that the driver threw (Xid): each card's with their time, for a day, across restarts of the agent."""

import json
from collections.abc import Iterator
from pathlib import Path

# More of one card say nothing new.
KEPT_MOST = 16


class Xids:
    """uuid -> Xid -> when it was seen first and last, Unix time."""

    def __init__(self, path: Path | None, kept_s: float) -> None:
        self._path = path
        self._kept_s = kept_s
        self._of: dict[str, dict[int, tuple[float, float]]] = self._load()

    def add(self, uuid: str, xid: int, at_s: float) -> None:
        """Remembered, on disk where there is one."""
        mine = self._of.setdefault(uuid, {})
        first_s, _ = mine.get(xid, (at_s, at_s))
        mine[xid] = first_s, at_s
        self._of[uuid] = dict(sorted(mine.items(), key=lambda item: item[1][1])[-KEPT_MOST:])
        self._save()

    def of(self, uuid: str, now_s: float) -> Iterator[tuple[int, float, float]]:
        """Xid, first and last time; those longer ago than the time they are kept are over."""
        for xid, (first_s, last_s) in self._of.get(uuid, {}).items():
            if now_s - last_s < self._kept_s:
                yield xid, first_s, last_s

    def _load(self) -> dict[str, dict[int, tuple[float, float]]]:
        if self._path is None:
            return {}
        try:
            raw = json.loads(self._path.read_bytes())
            return {
                uuid: {int(xid): (float(first), float(last)) for xid, (first, last) in mine.items()}
                for uuid, mine in raw.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            # The hardware's own counters tell what is still wrong; a torn file must not stop the agent.
            return {}

    def _save(self) -> None:
        if self._path is None:
            return
        new = self._path.with_suffix(".new")
        try:
            new.write_text(json.dumps(self._of))
            new.replace(self._path)
        except OSError:
            return
