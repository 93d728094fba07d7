"""The facts: what is declared (nodes, models, arrivals), what was observed and judged, and the trail."""

from inventory.models.arrivals import Arrival
from inventory.models.enrolment import JoinCode
from inventory.models.findings import Finding, Intrusion
from inventory.models.hardware import Cordon, Gpu, GpuModel, Node
from inventory.models.judged import Activity
from inventory.models.observed import (
    Reading,
    ReadingHistory,
    Survey,
    SurveyFault,
    UsageDay,
    UsageFiveMinutes,
    UsageHour,
)
from inventory.models.trail import Event, EventSeal

__all__ = [
    "Activity", "Arrival", "Cordon", "Event", "EventSeal", "Finding", "Gpu", "GpuModel", "Intrusion", "JoinCode",
    "Node", "Reading", "ReadingHistory", "Survey", "SurveyFault", "UsageDay", "UsageFiveMinutes", "UsageHour",
]  # fmt: skip
