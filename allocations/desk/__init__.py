"""The decision desk's arithmetic, pure: which pitches fit beside which in one budget, and the best set of them."""

from .judge import Ask, Finding, Judgement, judge
from .suggest import LeftOut, Suggestion, suggest

__all__ = ["Ask", "Finding", "Judgement", "LeftOut", "Suggestion", "judge", "suggest"]
