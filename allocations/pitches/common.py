"""What every step of a pitch needs: its lock, its state, and telling those who sign."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext as _

from allocations import queries
from allocations.errors import Stale, WrongState
from allocations.locks import lock_row
from allocations.models import Person, Pitch, Role
from allocations.notify import page, tell
from inventory.models import Event


def tell_signers(
    event: Event,
    pitch: Pitch,
    roles: Collection[Role],
    what: str,
    *,
    but: Collection[Person] = (),
    not_before: datetime | None = None,
) -> None:
    """Those who can sign for the roles, less `but`, hear of the pitch: its title and what about it."""
    terms = pitch.terms
    words = {
        "title": pitch.title, "what": what, "gpus": terms.gpus, "model": terms.model.name,
        "project": pitch.project.name, "days": terms.days, "why": pitch.why,
    }  # fmt: skip
    tell(
        event,
        queries.signers_of(pitch, roles) - {*but},
        _("%(title)s %(what)s") % words,
        _("%(project)s asks for %(gpus)s %(model)s for %(days)s days.\n\n%(why)s") % words,
        page("queue", pitch.public_id),
        not_before=not_before,
    )


def show(pitch: Pitch, row: Pitch) -> None:
    """`pitch` shows what the locked and written `row` shows, without asking the database again."""
    for field in Pitch._meta.concrete_fields:
        setattr(pitch, field.attname, getattr(row, field.attname))


def lock_in(pitch: Pitch, *states: Pitch.State) -> None:
    """The row is locked and in one of the states; raises WrongState, Stale when it was in one as `pitch` shows it."""
    seen = pitch.state
    lock_row(pitch)
    require_state(pitch, seen, *states)


def require_state(pitch: Pitch, seen: str, *states: Pitch.State) -> None:
    """The locked pitch is in one of the states; raises WrongState, Stale when the caller saw another one."""
    if pitch.state in states:
        return
    message = _("This pitch: %(state)s. There is no such step from here.") % {"state": pitch.get_state_display()}
    if seen != pitch.state:
        raise Stale(_("Somebody was first. %(message)s") % {"message": message}, old=seen, new=pitch.state)
    raise WrongState(message, state=pitch.state)
