"""The decision desk's board: one budget week by week, and the pitches that compete for it as somebody marked them."""

from .build import Board, Told, board_of, told
from .facts import Facts, facts_of

__all__ = ["Board", "Facts", "Told", "board_of", "facts_of", "told"]
