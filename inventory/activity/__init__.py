"""What a GPU does, from readings: plain values in, a verdict out. The one place that says what busy and idle mean."""

from inventory.activity.exemptions import Exemption, counts_since
from inventory.activity.judge import Previous, Verdict, judge, settled
from inventory.activity.rules import BUSY_FROM_PCT, Rules
from inventory.activity.windows import Reading, Unit, Window, window_of

__all__ = [
    "BUSY_FROM_PCT",
    "Exemption",
    "Previous",
    "Reading",
    "Rules",
    "Unit",
    "Verdict",
    "Window",
    "counts_since",
    "judge",
    "settled",
    "window_of",
]
