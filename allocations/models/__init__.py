"""People, decisions, plans and what leaves the building."""

from allocations.models.decisions import (
    Grant,
    Pitch,
    PitchRole,
    Recusal,
    Share,
    SignOff,
    Split,
    SplitLine,
    SplitSignature,
)  # fmt: skip
from allocations.models.outbox import Notice, NoticePreference, OutboxMessage
from allocations.models.people import (
    Deputy,
    Division,
    Membership,
    Person,
    Project,
    ProjectTerms,
    Role,
    RoleHolder,
    signed_name,
)
from allocations.models.plans import Assignment, Holding, Move, Plan, PlanStep, Target
from allocations.models.policies import Policy, PolicyRole

__all__ = [
    "Assignment", "Deputy", "Division", "Grant", "Holding", "Membership", "Move", "Notice", "NoticePreference",
    "OutboxMessage", "Person", "Pitch", "PitchRole", "Plan", "PlanStep", "Policy", "PolicyRole", "Project",
    "ProjectTerms", "Recusal", "Role", "RoleHolder", "Share", "SignOff", "Split", "SplitLine", "SplitSignature",
    "Target", "signed_name",
]  # fmt: skip
