"""The nouns of the API: read-only viewsets, and actions over the services that the pages call."""

from portal.api.viewsets.conflicts import Conflicts
from portal.api.viewsets.decisions import Grants, Needs, Pitches, Projects, Splits
from portal.api.viewsets.facts import Events, GpuModels, Gpus, Modes, Nodes
from portal.api.viewsets.health import Arrivals, Findings, LiftMaintenance, Maintenance, Polling
from portal.api.viewsets.idle import IdleCases, IdlePhases
from portal.api.viewsets.lending import Changes, Exceptions, Loans
from portal.api.viewsets.plans import Moves, Plans
from portal.api.viewsets.scenarios import Scenarios

__all__ = [
    "Arrivals",
    "Changes",
    "Conflicts",
    "Events",
    "Exceptions",
    "Findings",
    "GpuModels",
    "Gpus",
    "Grants",
    "IdleCases",
    "IdlePhases",
    "LiftMaintenance",
    "Loans",
    "Maintenance",
    "Modes",
    "Moves",
    "Needs",
    "Nodes",
    "Pitches",
    "Plans",
    "Polling",
    "Projects",
    "Scenarios",
    "Splits",
]
