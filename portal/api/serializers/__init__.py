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
    SignSplitIn,
    SplitIn,
    SplitOut,
)
from portal.api.serializers.facts import CordonIn, EventOut, GpuModelOut, GpuOut, NodeOut
from portal.api.serializers.plans import CommitIn, MoveOut, PlanOut, PlanWithStepsOut
from portal.api.serializers.verdicts import AcceptOfferIn, DeclineOfferIn, RankIn, SignPitchIn

__all__ = [
    "AcceptOfferIn",
    "CommitIn",
    "CordonIn",
    "DeclineOfferIn",
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
    "RankIn",
    "ReasonIn",
    "SignPitchIn",
    "SignSplitIn",
    "SplitIn",
    "SplitOut",
]
