"""One look at the lab: what is asked again and again while one answer is made is read once.

Only what never writes may look so, and a service once its locks are held: a change after the first question would
not show.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_answers: ContextVar[dict[tuple[Any, ...], Any] | None] = ContextVar("answers", default=None)


@contextmanager
def one_look(*, anew: bool = False) -> Iterator[None]:
    """Inside, each question marked `once_a_look` is asked of the database once for the same arguments.

    `anew`: nothing that was answered before counts.
    """
    answers = _answers.get()
    before = _answers.set({} if answers is None or anew else answers)
    try:
        yield
    finally:
        _answers.reset(before)


def is_looking() -> bool:
    """Whether answers are remembered now."""
    return _answers.get() is not None


def remember(question: Callable[..., Any], *args: Any, answer: Any) -> None:
    """The question, marked `once_a_look`, has this answer for the rest of the look."""
    answers = _answers.get()
    if answers is not None:
        answers[(getattr(question, "__wrapped__", question), *args)] = answer


def once_a_look(question: Callable[P, R]) -> Callable[P, R]:
    """`question`, answered from memory inside `one_look`; its arguments are hashable, its answer is left as it is."""

    @wraps(question)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        answers = _answers.get()
        if answers is None:
            return question(*args, **kwargs)
        key = (question, *args, *kwargs.items())
        if key not in answers:
            answers[key] = question(*args, **kwargs)
        return answers[key]  # type: ignore[no-any-return]

    return asked
