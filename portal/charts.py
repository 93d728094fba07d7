"""Drawings of numbers over time as SVG figures: paths and boxes in user units, styled by classes only."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from django.utils import timezone
from django.utils.formats import date_format

from allocations.capacity import Step, Timeline

WIDTH, HEIGHT = 480, 168
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 22
TICKS = 4  # days named under the axis; more would touch each other on a phone
HEADROOM = 1.15  # the highest number stays clear of the upper edge


@dataclass(frozen=True)
class Box:
    """A rectangle with the class that styles it."""

    x: str
    y: str
    width: str
    height: str
    kind: str


@dataclass(frozen=True)
class Tick:
    """A name at a place of an axis."""

    at: str
    text: str


@dataclass(frozen=True)
class CapacityChart:
    """Free GPUs over time with the ask on top; `over` marks where the ask stands above what is free."""

    area: str
    edge: str
    ask: Box
    over: list[Box]
    days: list[Tick]
    levels: list[Tick]
    steps: list[Step] = field(default_factory=list)

    width = WIDTH
    height = HEIGHT
    floor = HEIGHT - BOTTOM
    left = LEFT
    right = WIDTH - RIGHT


def capacity_chart(
    free: Timeline, *, gpus: int, starts_at: datetime, ends_at: datetime, shown_from: datetime, shown_until: datetime
) -> CapacityChart:
    """What is free from `shown_from` to `shown_until`, and the ask of `gpus` from `starts_at` to `ends_at`."""
    steps = free.steps(shown_from, shown_until)
    top = max([gpus, 1, *(step.gpus for step in steps)]) * HEADROOM
    span_s = (shown_until - shown_from).total_seconds()

    def x(at: datetime | None) -> float:
        seconds = ((at or shown_until) - shown_from).total_seconds()
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(seconds / span_s, 0), 1)

    def y(count: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * max(count, 0) / top

    corners = [(x(edge), y(step.gpus)) for step in steps for edge in (step.starts_at, step.ends_at)]
    line = " L ".join(f"{at:.1f} {level:.1f}" for at, level in corners)
    short = [step for step in free.steps(starts_at, ends_at) if step.gpus < gpus]
    return CapacityChart(
        area=f"M {LEFT} {y(0):.1f} L {line} L {x(None):.1f} {y(0):.1f} Z",
        edge=f"M {line}",
        ask=_box(x(starts_at), y(gpus), x(ends_at), y(0), "ask-over" if short else "ask"),
        over=[_box(x(step.starts_at), y(gpus), x(step.ends_at), y(step.gpus), "over") for step in short],
        days=_days(shown_from, shown_until, x),
        levels=[Tick(f"{y(level):.1f}", f"{level:,}") for level in _levels(top)],
        steps=steps,
    )


def _box(left: float, top: float, right: float, bottom: float, kind: str) -> Box:
    return Box(f"{left:.1f}", f"{top:.1f}", f"{max(right - left, 1):.1f}", f"{max(bottom - top, 1):.1f}", kind)


def _days(start: datetime, end: datetime, x: Callable[[datetime], float]) -> list[Tick]:
    step = (end - start) / TICKS
    return [
        Tick(f"{x(start + step * index):.1f}", date_format(timezone.localtime(start + step * index), "j M"))
        for index in range(TICKS)
    ]


def _levels(top: float) -> list[int]:
    """0 and two round numbers below the top."""
    for size in sorted(base * 10**power for power in range(8) for base in (1, 2, 5)):
        if size * 3 >= top:
            return [level for level in (0, size, 2 * size) if level <= top]
    return [0]


def split_history(splits: list[tuple[datetime, list[tuple[str, float]]]], *, until: datetime) -> list[Box]:
    """Boxes of a stepped area chart, 0-100 %: for each split (in force from, [(division slug, percent)]), stacked."""
    if not splits:
        return []
    start = splits[0][0]
    span_s = max((until - start) / timedelta(seconds=1), 1)
    edges = [*(at for at, _ in splits), until]
    boxes = []
    for (begins, ends), (_at, shares) in zip(pairwise(edges), splits, strict=True):
        left, right = (WIDTH * (at - start).total_seconds() / span_s for at in (begins, ends))
        height = 0.0
        for slug, percent in shares:
            boxes.append(_box(left, height, right, height + percent, f"fill-{slug}"))
            height += percent
        boxes.append(_box(left, height, right, 100, "fill-reserve"))
    return boxes
