"""Lift: after the restore of an older backup the target is above every generation that nodes know."""

from django.utils.translation import gettext as _

from allocations.errors import WrongState
from allocations.locks import lock_target, one_at_a_time
from allocations.models import Target
from allocations.plans.commit import LIFT_MOST
from inventory import trail


@one_at_a_time
def lift_target(*, above: int, by: object, reason: str, believe: bool = False) -> tuple[int, int]:
    """The target's generation is above `above` too: (before, after). No assignment, move or holder changes.

    A repeat changes nothing. A jump of more than LIFT_MOST is refused unless somebody believes it: it is more likely
    one node that says nonsense. Locks the target. Raises WrongState.
    """
    target = lock_target()
    before = target.generation
    if above <= before:
        return before, before
    if above > before + LIFT_MOST and not believe:
        raise WrongState(
            _("A node says generation %(above)d, and %(before)d is in force here. That is no lost history.")
            % {"above": above, "before": before},
            above=above, before=before,
        )  # fmt: skip
    target.generation = above
    target.save(update_fields=["generation"])
    trail.record("target.lifted", target, by=by, reason=reason, before=before, after=above)
    return before, above


def generation_in_force() -> int:
    """The target's generation."""
    return Target.objects.filter(pk=1).values_list("generation", flat=True).first() or 0
