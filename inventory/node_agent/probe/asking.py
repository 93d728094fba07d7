"""One question to the driver: its answer as a value, or a reason why there is none. Never an exception, never 0."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from inventory.node_agent.probe.loading import (
    CAUGHT,
    FUNCTION_NOT_FOUND,
    GPU_IS_LOST,
    REASONS,
    code_of,
    nvml,
    reason_of,
)
from inventory.node_agent.protocol import IMPLAUSIBLE

NOT_SUPPORTED = 3
# What a card does not support today it may after a change of its modes.
ASK_AGAIN_S = 600.0
# Answers that say something about the card, not about the question.
CARD_ERRORS = frozenset({4, 8, 11, 14, GPU_IS_LOST, 16})


class Answer(NamedTuple):
    """`at_s`: the monotonic clock of the machine, the same for parent and child."""

    value: Any
    reason: str | None
    at_s: float


class Asking:
    """Asks one card. `errors`: what the card answered in this poll that is a fault of it, code -> call."""

    def __init__(self) -> None:
        self.errors: dict[int, str] = {}
        self._unsupported: dict[str, tuple[float, str]] = {}

    def begin(self) -> None:
        """Another poll begins: nothing is known against the card."""
        self.errors = {}

    def forget(self) -> None:
        """The card changed: what it did not support before, it may now."""
        self._unsupported = {}

    def ask(self, call: str, *args: Any, key: str = "") -> Answer:
        """The answer to `call`. What is not supported is remembered under `key` and not asked again for a while."""
        key, now_s = key or call, time.monotonic()
        if GPU_IS_LOST in self.errors:
            return Answer(None, REASONS[GPU_IS_LOST], now_s)
        if key in self._unsupported:
            asked_s, reason = self._unsupported[key]
            if now_s - asked_s < ASK_AGAIN_S:
                return Answer(None, reason, asked_s)
        try:
            return Answer(getattr(nvml, call)(*args), None, now_s)
        except CAUGHT as error:
            code, reason = code_of(error), reason_of(error)
        if code in (NOT_SUPPORTED, FUNCTION_NOT_FOUND):
            self._unsupported[key] = now_s, reason
        if code in CARD_ERRORS:
            self.errors.setdefault(code, call)
        return Answer(None, reason, now_s)


def number(answer: Answer, of: Callable[[Any], float], most: float, least: float = 0) -> Answer:
    """The number in the answer; unknown where no card could have it."""
    if answer.reason is not None:
        return answer
    value = of(answer.value)
    # NaN fails both comparisons.
    return answer._replace(value=value) if least <= value <= most else Answer(None, IMPLAUSIBLE, answer.at_s)


def words(answer: Answer) -> str:
    """A printable text of one line; "" where there is none. Older bindings answer bytes."""
    value = answer.value
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value if isinstance(value, str) and value.isprintable() else ""
