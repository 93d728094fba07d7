"""People, decisions, plans and what leaves the building."""

from allocations.models.accounts import ProjectAccess, UnixAccount
from allocations.models.asks import (
    Answer,
    Opened,
    PitchAlternative,
    PitchLink,
    PitchRevision,
    Question,
    ResultCheck,
)
from allocations.models.changes import ChangeSignOff, GrantChange
from allocations.models.grants import Grant, GrantSize
from allocations.models.idle import IdleCase, IdlePhase, IdlePolicy
from allocations.models.lending import ExceptionSignature, Loan, LoanSignature, SplitException
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
from allocations.models.pitches import Pitch, PitchRole
from allocations.models.plans import Assignment, Holding, Move, Plan, PlanStep, Target
from allocations.models.policies import Policy, PolicyRole
from allocations.models.sign_offs import ConflictOfInterest, Recusal, SignOff
from allocations.models.sittings import HeadCount, Holiday, LastLook, Scenario
from allocations.models.splits import Share, Split, SplitLine, SplitSignature, SplitWeight

__all__ = [
    "Answer", "Assignment", "ChangeSignOff", "ConflictOfInterest", "Deputy", "Division", "ExceptionSignature",
    "Grant", "GrantChange", "GrantSize", "HeadCount", "Holding", "Holiday", "IdleCase", "IdlePhase", "IdlePolicy",
    "LastLook", "Loan", "LoanSignature", "Membership", "Move", "Notice", "NoticePreference", "Opened",
    "OutboxMessage", "Person", "Pitch", "PitchAlternative", "PitchLink", "PitchRevision", "PitchRole", "Plan",
    "PlanStep", "Policy", "PolicyRole", "Project", "ProjectAccess", "ProjectTerms", "Question", "Recusal",
    "ResultCheck", "Role", "RoleHolder", "Scenario", "Share", "SignOff", "Split", "SplitException", "SplitLine",
    "SplitSignature", "SplitWeight", "Target", "UnixAccount", "signed_name",
]  # fmt: skip
