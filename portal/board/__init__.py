"""The decision desk's board: one budget week by week, and the pitches that compete for it as somebody marked them."""

from .build import Board
from .choose import Chosen, chosen, with_suggestion

__all__ = ["Board", "Chosen", "chosen", "with_suggestion"]
