"""Deputies: somebody signs in a role for its holder for a time; set by the holder, a fellow holder or an admin."""

from datetime import datetime, timedelta

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.days import day_of, start_of
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.grants import site_zone
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Deputy, Person, Role
from allocations.notify import tell
from inventory import trail
from inventory.models import Event

LONGEST = timedelta(days=366)  # a year's leave; who stands in for longer is given the role


@one_at_a_time
def set_deputy(
    *, principal: Person, deputy: Person, role: Role, starts_at: datetime, until: datetime, by: Person, reason: str
) -> Deputy:
    """`deputy` signs in the role for `principal` from `starts_at` (now at the earliest) until `until`, open items too.

    It gives signing and the sight of what is to be signed, and only while the principal holds the role. The deputy and
    the role's other holders are told. Locks the role: one deputy at a time for a principal.
    Raises NotAllowed, BadTerms.
    """
    row = Deputy(principal=principal, deputy=deputy, role=role, set_by=by, reason=reason.strip())
    rules.require(by, "set_deputy", row)
    if by == deputy and by != principal:
        raise NotAllowed(_("Nobody makes themselves a deputy: %(name)s sets one.") % {"name": principal.name})
    lock_row(role)
    _check_people(row)
    row.during = _period(starts_at, until)
    _check_free(row)
    row.save()
    event = _record("deputy.set", row, by, reason)
    words = {"deputy": deputy.name, "principal": principal.name, "role": role.name}
    _tell(event, row, by, _("%(deputy)s stands in for %(principal)s as %(role)s") % words)
    return row


@one_at_a_time
def end_deputy(*, deputy_row: Deputy, by: Person, reason: str) -> Deputy:
    """The deputy signs nothing more for the principal; one that had not begun never begins. Those who knew are told.

    What was signed stands. Locks the row. Raises NotAllowed, BadTerms without a reason, WrongState when it is over.
    """
    rules.require(by, "set_deputy", deputy_row)
    if not reason.strip():
        raise BadTerms(_("Say why: those it concerns read it."), field="reason")
    lock_row(deputy_row)
    now = timezone.now()
    planned = deputy_row.during
    if planned.isempty or planned.upper <= now:
        raise WrongState(_("That deputyship is over already."))
    # Empty where it had not begun: it was at no time, and its days are free for another.
    begun = planned.lower < now
    deputy_row.during = DateTimeTZRange(planned.lower, now) if begun else DateTimeTZRange(empty=True)
    deputy_row.save(update_fields=["during"])
    event = _record("deputy.ended", deputy_row, by, reason, planned=planned)
    words = {"deputy": deputy_row.deputy.name, "principal": deputy_row.principal.name, "role": deputy_row.role.name}
    _tell(event, deputy_row, by, _("%(deputy)s no longer stands in for %(principal)s as %(role)s") % words)
    return deputy_row


def _check_people(row: Deputy) -> None:
    words = {"principal": row.principal.name, "deputy": row.deputy.name, "role": row.role.name}
    if row.principal == row.deputy:
        raise BadTerms(_("Nobody stands in for themselves."), field="deputy")
    if row.role.power != Role.Power.DECIDE:
        raise BadTerms(_("%(role)s signs nothing: only roles that sign have deputies.") % words, field="role")
    if row.principal not in queries.holders_of([row.role])[row.role]:
        raise BadTerms(_("%(principal)s does not hold the role %(role)s.") % words, field="principal")
    if not row.deputy.is_active:
        raise BadTerms(_("%(deputy)s cannot log in any more.") % words, field="deputy")


def _period(starts_at: datetime, until: datetime) -> DateTimeTZRange:
    now = timezone.now()
    if starts_at < start_of(day_of(now, site_zone()), site_zone()):
        raise BadTerms(_("A deputy begins today at the earliest."), field="starts_on")
    starts_at = max(starts_at, now)
    if until <= starts_at:
        raise BadTerms(_("The end lies after the beginning and in the future."), field="until_on")
    if until - starts_at > LONGEST:
        raise BadTerms(_("A deputy stands in for a year at most: give the role to somebody."), field="until_on")
    return DateTimeTZRange(starts_at, until)


def _check_free(row: Deputy) -> None:
    same = Deputy.objects.filter(principal=row.principal, role=row.role, during__overlap=row.during)
    other = same.select_related("deputy").order_by("during").first()
    if other:
        raise BadTerms(
            _("In that time %(deputy)s stands in for %(principal)s already; end that first.")
            % {"deputy": other.deputy.name, "principal": row.principal.name},
            field="starts_on",
        )


def _record(verb: str, row: Deputy, by: Person, reason: str, *, planned: DateTimeTZRange | None = None) -> Event:
    during = planned or row.during
    return trail.record(
        verb, row, by=by, reason=reason, role=row.role.slug, principal=row.principal.username,
        deputy=row.deputy.username, starts_at=during.lower, until=during.upper,
    )  # fmt: skip


def _tell(event: Event, row: Deputy, by: Person, subject: str) -> None:
    people = {row.principal, row.deputy, *queries.holders_of([row.role])[row.role]}
    words = {"person": by.name, "reason": event.reason or "-", "until": event.facts["until"][:10]}
    body = _("%(person)s: %(reason)s\n\nUntil %(until)s.") % words
    tell(event, people - {by}, subject, body, "/deputies/")
