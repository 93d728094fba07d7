"""The decision desk's board: one budget week by week, and the pitches that compete for it as somebody marked them."""

from .build import Board, Told, board_of, told
from .rows import Viewer

__all__ = ["Board", "Told", "Viewer", "board_of", "told"]
