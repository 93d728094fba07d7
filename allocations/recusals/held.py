"""What nobody is left to sign is held: those who administer hear of it, and nothing decides it."""

from django.utils.translation import gettext as _

from allocations import queries
from allocations.models import GrantChange, Person, Pitch, Role
from allocations.notify import page, tell
from inventory import trail


def alarm_if_held(row: Pitch | GrantChange, by: Person) -> None:
    """Those who administer know that a role has nobody left who may sign the row, if that is so."""
    lacking = _nobody_left_for(row)
    if lacking is None:
        return
    is_pitch = isinstance(row, Pitch)
    event = trail.record("pitch.held" if is_pitch else "change.held", row, by=by, role=lacking.slug)
    title = (
        row.title
        if isinstance(row, Pitch)
        else _("a change of a grant of %(project)s") % {"project": row.grant.project}
    )
    words = {"title": title, "role": lacking.name}
    tell(
        event,
        queries.people_with(Role.Power.ADMINISTER),
        _("Held: %(title)s") % words,
        _("Nobody is left to sign as %(role)s. Give the role to somebody: until then it waits.") % words,
        page("pitches", row.public_id) if isinstance(row, Pitch) else page("grants", row.grant.public_id),
    )


def _nobody_left_for(row: Pitch | GrantChange) -> Role | None:
    if isinstance(row, Pitch):
        return queries.role_nobody_is_left_for(row)
    return queries.role_nobody_is_left_for_change(row)
