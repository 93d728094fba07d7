"""The facts: what is declared (nodes, models), what was observed (GPUs, surveys, readings) and the trail."""

from inventory.models.hardware import Cordon, Gpu, GpuModel, Node
from inventory.models.observed import Reading, ReadingHistory, Survey, SurveyFault, UsageDay
from inventory.models.trail import Event, EventSeal

__all__ = [
    "Cordon",
    "Event",
    "EventSeal",
    "Gpu",
    "GpuModel",
    "Node",
    "Reading",
    "ReadingHistory",
    "Survey",
    "SurveyFault",
    "UsageDay",
]
