"""Memory and open files of the portal's parts over time, each with its children."""

import time
from collections import defaultdict
from pathlib import Path
from statistics import linear_regression, median
from typing import NamedTuple

from tests.drill.processes import Portal

WATCHED = ("web", "worker", "beat")
EVERY_S = 5.0
# What starts, imports and fills its caches grows; a worker has its connections to all agents after some polls.
WARM_AFTER_S = 45.0


class Sample(NamedTuple):
    """One part at an instant (monotonic), its children included."""

    at_s: float
    mib: float
    files: int


class Course(NamedTuple):
    """How a part did in the warm part of its lives; growth is the line through all samples, over the whole time."""

    samples: int
    mib: float
    mib_grown: float
    files: float
    files_grown: float


class Watch:
    """Looks at the parts every few seconds."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal
        self._next_s = 0.0
        self._born_s: dict[tuple[int, ...], float] = {}
        self._samples: dict[str, list[Sample]] = defaultdict(list)

    def look(self) -> None:
        """A sample of each part that is warm, if it is time."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + EVERY_S
        for part in WATCHED:
            pid = self._portal.pid(part)
            family = (pid, *children(pid)) if pid else ()
            # A slot that was replaced is cold again, and its part with it.
            if family and now_s - self._born_s.setdefault(family, now_s) >= WARM_AFTER_S:
                self._samples[part].append(Sample(now_s, *_size(family)))

    def courses(self) -> dict[str, Course]:
        """Part -> how it did; those that were never warm for long are left out."""
        return {part: _course(samples) for part, samples in self._samples.items() if len(samples) > 2}


def children(pid: int | None) -> list[int]:
    """The processes that `pid` started and that run; none without it."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _size(family: tuple[int, ...]) -> tuple[float, int]:
    mib, files = 0.0, 0
    for pid in family:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            # Without the pages that the children share with the worker that forked them.
            mib += int(status.partition("RssAnon:")[2].split()[0]) / 1024
            files += len(list(Path(f"/proc/{pid}/fd").iterdir()))
        except (OSError, IndexError):
            continue
    return mib, files


def _course(samples: list[Sample]) -> Course:
    at_s = [sample.at_s for sample in samples]
    mib, files = [sample.mib for sample in samples], [float(sample.files) for sample in samples]
    lasted_s = at_s[-1] - at_s[0]
    return Course(
        len(samples),
        median(mib),
        linear_regression(at_s, mib).slope * lasted_s,
        median(files),
        linear_regression(at_s, files).slope * lasted_s,
    )
