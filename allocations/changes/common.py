"""What every step of a change needs: its words, its state, and telling those whom it concerns."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from allocations import queries, turns
from allocations.days import last_day
from allocations.errors import WrongState
from allocations.grants import site_zone, spoken
from allocations.locks import lock_row
from allocations.models import Grant, GrantChange, Person
from allocations.notify import page, tell
from inventory.models import Event

signers_of = queries.signers_of_change


def words_of(change: GrantChange) -> str:
    """What is asked for, in one sentence: "protein-folding: 32 H100, 30 days more"."""
    grant = change.grant
    facts = {
        "project": grant.project.name, "model": grant.model.name, "gpus": grant.gpus, "days": change.days,
        "kept": change.gpus, "last": spoken(last_day(grant.ends_at, site_zone())),
    }  # fmt: skip
    sentences = {
        GrantChange.Kind.EXTEND: _("%(project)s: %(gpus)s %(model)s for %(days)s days more than %(last)s"),
        GrantChange.Kind.SHRINK: _("%(project)s: %(kept)s instead of %(gpus)s %(model)s"),
        GrantChange.Kind.END: _("%(project)s: an earlier end of %(gpus)s %(model)s"),
        GrantChange.Kind.RATIFY: _("%(project)s: the emergency grant of %(gpus)s %(model)s"),
    }
    return sentences[GrantChange.Kind(change.kind)] % facts


def tell_of(event: Event, change: GrantChange, people: Iterable[Person], subject: str, body: str) -> None:
    """The people hear of the change, with the grant's page."""
    tell(event, people, subject, body, page("grants", change.grant.public_id))


def lock_asked(change: GrantChange) -> None:
    """The row is locked and waits for signatures. Raises WrongState, Stale when it did as `change` shows it."""
    seen = change.state
    lock_row(change)
    turns.require_waits(change, seen)


def require_promised(grant: Grant) -> None:
    """Nobody has ended the grant early. Raises WrongState."""
    if grant.ended_at is not None:
        raise WrongState(_("This grant has ended early; a new pitch asks for GPUs again."), ends_at=grant.ends_at)
