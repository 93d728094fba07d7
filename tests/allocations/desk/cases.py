"""Random desks: a budget in a few stretches and asks that overlap, for the oracle and for the browser's rule."""

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from allocations.desk import Ask

MOST_STRETCHES = 6


@dataclass(frozen=True)
class Case:
    """What is left in each stretch, the asks in rank order, and what is taken (key -> GPUs) in that order."""

    room: list[int]
    asks: list[Ask]
    taken: dict[str, int]


@st.composite
def desks(draw, *, most: int = 5) -> Case:
    """Any small desk, also with debt, with asks that fit nowhere, and with fewer taken than asked."""
    stretches = draw(st.integers(1, MOST_STRETCHES))
    room = draw(st.lists(st.integers(-3, 20), min_size=stretches, max_size=stretches))
    asks, taken = [], {}
    for number in range(draw(st.integers(0, most))):
        first = draw(st.integers(0, stretches - 1))
        last = draw(st.integers(first + 1, stretches))
        gpus = draw(st.integers(1, 12))
        ask = Ask(f"k{number}", first, last, gpus, draw(st.integers(1, gpus)))
        asks.append(ask)
        if draw(st.booleans()):
            taken[ask.key] = draw(st.integers(1, gpus))
    return Case(room, asks, taken)


def table(count: int, *, seed: int) -> list[Case]:
    """As many cases, the same ones for the same seed; up to 30 asks over up to 40 stretches."""
    dice = random.Random(seed)
    return [_case(dice) for _ in range(count)]


def _case(dice: random.Random) -> Case:
    stretches = dice.randint(1, 40)
    asks, taken = [], {}
    for number in range(dice.randint(0, 30)):
        first = dice.randrange(stretches)
        gpus = dice.randint(1, 64)
        ask = Ask(f"k{number}", first, dice.randint(first + 1, stretches), gpus, dice.randint(1, gpus))
        asks.append(ask)
        if dice.random() < 0.4:
            taken[ask.key] = dice.randint(1, gpus)
    return Case([dice.randint(-10, 150) for _ in range(stretches)], asks, taken)
