"""What is promised, healthy and free over time: pure functions over dated intervals of one GPU model."""

from .checks import Kind, Shortage, clear_from, debt, earliest_start, free, shortage
from .displaced import displaced
from .shares import SplitTerm, apportion, healthy, share
from .timeline import Booking, Step, Timeline, instant
from .weighted import Weights, unit_of, weighted, worst_of

__all__ = [
    "Booking",
    "Kind",
    "Shortage",
    "SplitTerm",
    "Step",
    "Timeline",
    "Weights",
    "apportion",
    "clear_from",
    "debt",
    "displaced",
    "earliest_start",
    "free",
    "healthy",
    "instant",
    "share",
    "shortage",
    "unit_of",
    "weighted",
    "worst_of",
]
