"""What goes out of the API (`...Out`) and what comes in (`...In`); none of them writes anything."""

from portal.api.serializers.decisions import (
    EndGrantIn,
    GrantOut,
    NeedOut,
    PitchIn,
    PitchOut,
    ProjectOut,
    QuestionOut,
    ReasonIn,
    SignPitchIn,
    SignSplitIn,
    SplitIn,
    SplitOut,
)
from portal.api.serializers.facts import CordonIn, EventOut, GpuModelOut, GpuOut, NodeOut
from portal.api.serializers.plans import CommitIn, MoveOut, PlanOut, PlanWithStepsOut

__all__ = [
    "CommitIn",
    "CordonIn",
    "EndGrantIn",
    "EventOut",
    "GpuModelOut",
    "GpuOut",
    "GrantOut",
    "MoveOut",
    "NeedOut",
    "NodeOut",
    "PitchIn",
    "PitchOut",
    "PlanOut",
    "PlanWithStepsOut",
    "ProjectOut",
    "QuestionOut",
    "ReasonIn",
    "SignPitchIn",
    "SignSplitIn",
    "SplitIn",
    "SplitOut",
]
