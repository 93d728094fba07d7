"""From a snapshot of the fleet and a need to a plan and its why: pure, no Django."""

from .propose import Pick, Proposal, propose, propose_all
from .snapshot import Need, Place, Snapshot, Source, Unit, Unusable
from .why import Because, Help, Helps, Shape, Short, Shortfall, Skipped, Taken, Why

__all__ = [
    "Because",
    "Help",
    "Helps",
    "Need",
    "Pick",
    "Place",
    "Proposal",
    "Shape",
    "Short",
    "Shortfall",
    "Skipped",
    "Snapshot",
    "Source",
    "Taken",
    "Unit",
    "Unusable",
    "Why",
    "propose",
    "propose_all",
]
