"""Plans: proposed once and never changed, committed by compare-and-set on the one target, undone by a plan on top."""

from allocations.plans.commit import commit_plan
from allocations.plans.need import propose_plan
from allocations.plans.release import propose_release
from allocations.plans.repair import propose_repair
from allocations.plans.undo import propose_undo

__all__ = ["commit_plan", "propose_plan", "propose_release", "propose_repair", "propose_undo"]
