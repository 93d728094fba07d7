"""Plans: proposed once and never changed, committed by compare-and-set on the one target, undone by a plan on top."""

from allocations.plans.adopt import propose_adoption
from allocations.plans.commit import commit_plan
from allocations.plans.lift import generation_in_force, lift_target
from allocations.plans.need import propose_plan
from allocations.plans.release import propose_release
from allocations.plans.repair import propose_repair
from allocations.plans.undo import propose_undo

__all__ = [
    "commit_plan",
    "generation_in_force",
    "lift_target",
    "propose_adoption",
    "propose_plan",
    "propose_release",
    "propose_repair",
    "propose_undo",
]
