"""Changes of grants that wait for signatures: reminded and escalated as pitches are."""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries
from allocations.grants import spoken_at
from allocations.locks import lock_row, one_at_a_time
from allocations.models import GrantChange, Person
from allocations.notify import page, tell
from allocations.reminders.when import ACTOR, is_due, may_be_due
from inventory import trail

DAY_S = 86_400


def candidates(now: datetime) -> QuerySet[GrantChange]:
    """Changes that wait for signatures and may be due to be reminded of or to be escalated."""
    overdue = Q(due_at__lte=now, escalated_at=None)
    return GrantChange.objects.filter(may_be_due(now) | overdue, state=GrantChange.State.ASKED)


@one_at_a_time
def remind_of(pk: int) -> bool:
    """Those who sign the change, and those above them, have heard what is due; False if nothing was."""
    change = GrantChange.objects.select_related("grant__project__division", "grant__model", "grant__pitch").get(pk=pk)
    lock_row(change)
    if change.state != GrantChange.State.ASKED or change.due_at is None:
        return False
    now = timezone.now()
    reminded = is_due(change.due_at, change.reminded_at, now=now, division=change.grant.project.division)
    if reminded:
        subject = _("Overdue: %(what)s, %(project)s") if now >= change.due_at else _("Due soon: %(what)s, %(project)s")
        GrantChange.objects.filter(pk=pk).update(reminded_at=now)
        _tell(change, "change.reminded", queries.signers_of_change(change), subject, now)
    above = _above(change) if now >= change.due_at and change.escalated_at is None else set()
    if above:
        GrantChange.objects.filter(pk=pk).update(escalated_at=now)
        _tell(change, "change.escalated", above, _("Overdue: %(what)s, %(project)s"), now)
    return reminded or bool(above)


def _above(change: GrantChange) -> set[Person]:
    """Who hears by the policies in force now; nobody where none names a role, or it has nobody."""
    days = change.days or max(1, int((change.grant.ends_at - timezone.now()).total_seconds() // DAY_S))
    _roles, rows = queries.roles_for_change(change.grant, change.kind, days=days)
    roles = [row.escalates_to for row in rows if row.escalates_to]
    holders = {person for people in queries.holders_of(roles).values() for person in people}
    standing_in = {row.deputy for found in queries.deputies_of(roles).values() for row in found}
    return (holders | standing_in) - {change.asked_by}


def _tell(change: GrantChange, verb: str, people: set[Person], subject: str, now: datetime) -> None:
    assert change.due_at is not None, "only what is due comes here"
    grant = change.grant
    event = trail.record(
        verb, change, by=ACTOR, grant=grant.public_id, due_at=change.due_at, overdue=now >= change.due_at,
        people=sorted(person.username for person in people),
    )  # fmt: skip
    words = {
        "what": change.get_kind_display(), "project": grant.project.name, "gpus": grant.gpus,
        "model": grant.model.name, "when": spoken_at(change.due_at),
    }  # fmt: skip
    body = _("It is about %(gpus)s %(model)s. The answer is due %(when)s; nothing is decided meanwhile.")
    tell(event, people, subject % words, body % words, page("grants", grant.public_id))
