"""People, decisions, plans and what leaves the building."""

from allocations.models.decisions import (
    Grant,
    Pitch,
    PitchRole,
    Share,
    SignOff,
    Split,
    SplitLine,
    SplitSignature,
)  # fmt: skip
from allocations.models.outbox import OutboxMessage
from allocations.models.people import Division, Membership, Person, Project, ProjectTerms, Role, RoleHolder
from allocations.models.plans import Assignment, Holding, Move, Plan, PlanStep, Target
from allocations.models.policies import Policy, PolicyRole

__all__ = [
    "Assignment", "Division", "Grant", "Holding", "Membership", "Move", "OutboxMessage", "Person", "Pitch", "PitchRole",
    "Plan", "PlanStep", "Policy", "PolicyRole", "Project", "ProjectTerms", "Role", "RoleHolder", "Share", "SignOff",
    "Split", "SplitLine", "SplitSignature", "Target",
]  # fmt: skip
