"""GPUs of several models as one number: each counts what the weights say, and 1 where they say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from .timeline import Timeline, instant

ONE = Decimal(1)
Weights = Mapping[str, Decimal]
"""GPU model name -> what a GPU of it counts."""


def weighted(gpus: Mapping[str, int], weights: Weights) -> Decimal:
    """`gpus` (GPU model name -> how many) as one number."""
    return sum((count * weights.get(model, ONE) for model, count in gpus.items()), Decimal(0))


def unit_of(models: Iterable[str], weights: Weights) -> str:
    """The model that counts 1, by which a total is told: one that was given 1 before one given nothing.

    "" where none counts 1, or all do because nothing was given.
    """
    ones = [model for model in models if weights.get(model, ONE) == ONE] if weights else []
    return min(ones, key=lambda model: model not in weights, default="")


def worst_of(lines: Mapping[str, Timeline], weights: Weights, start: datetime, end: datetime | None) -> Decimal:
    """The largest total at one instant of [start, end); `lines`: GPU model name -> its number over time."""
    edges = {step.starts_at or start for line in lines.values() for step in line.steps(start, end)}
    return max(
        (weighted({model: line.at(at) for model, line in lines.items()}, weights) for at in edges | {instant(start)}),
        default=Decimal(0),
    )
