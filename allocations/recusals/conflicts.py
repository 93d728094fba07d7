"""Declared conflicts of interest: while one lasts, a person signs nothing of a project, in no way and for nobody."""

from datetime import datetime

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.errors import BadTerms, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import ConflictOfInterest, GrantChange, Loan, Person, Pitch, Project, Role
from allocations.notify import page, tell
from allocations.recusals.held import alarm_if_held
from inventory import trail


@one_at_a_time
def declare_conflict(
    *, person: Person, project: Project, by: Person, reason: str, until: datetime | None = None
) -> ConflictOfInterest:
    """`person` signs nothing of the project from now on: no pitch, no change of a grant, no terms, for nobody else.

    It lasts until `until`, or until it is ended. What was signed stays signed. Who could sign what waits is told, the
    person too where somebody else declared it; where a role has nobody left, those who administer are told. One that
    lasts already comes back unchanged. Locks what waits for signatures, so that each one is given before or after it,
    and the project. Raises NotAllowed, BadTerms, WrongState for a project that has ended.
    """
    rules.require(by, "declare_conflict", person)
    if not reason.strip():
        raise BadTerms(_("Say why: those who sign instead read it."), field="reason")
    waiting = _lock_waiting(project)
    lock_row(project)
    now = timezone.now()
    lasting = queries.conflicts_now().filter(person=person, project=project).first()
    if lasting:
        return lasting
    if project.state == Project.State.ENDED:
        raise WrongState(_("%(project)s has ended: nothing of it is signed any more.") % {"project": project.name})
    if until is not None and until <= now:
        raise BadTerms(_("The end lies in the future."), field="until_on")
    concerned = [(row, _roles_to_sign(row, person)) for row in waiting]
    conflict = ConflictOfInterest.objects.create(
        person=person, project=project, reason=reason.strip(), during=DateTimeTZRange(now, until), declared_by=by
    )
    words = {"person": person.name, "project": project.name}
    subject = _("%(person)s has a conflict of interest: %(project)s") % words
    body = _("%(person)s signs nothing of %(project)s while it lasts: %(reason)s") % {**words, "reason": reason}
    _tell(conflict, "conflict.declared", by, reason, concerned, subject, body)
    for row, roles in concerned:
        if roles:
            alarm_if_held(row, by)
    return conflict


@one_at_a_time
def end_conflict(*, conflict: ConflictOfInterest, by: Person, reason: str) -> ConflictOfInterest:
    """The person may sign again what the roles name; who could sign what waits is told.

    Locks the row. Raises NotAllowed, BadTerms without a reason, WrongState when it is over.
    """
    rules.require(by, "declare_conflict", conflict.person)
    if not reason.strip():
        raise BadTerms(_("Say why: those who sign beside you read it."), field="reason")
    lock_row(conflict)
    now = timezone.now()
    if conflict.during.upper is not None and conflict.during.upper <= now:
        raise WrongState(_("That conflict of interest is over already."))
    conflict.during = DateTimeTZRange(conflict.during.lower, now)
    conflict.save(update_fields=["during"])
    concerned = [(row, _roles_to_sign(row, conflict.person)) for row in _waiting(conflict.project)]
    words = {"person": conflict.person.name, "project": conflict.project.name}
    subject = _("A conflict of interest is over: %(person)s, %(project)s") % words
    body = _("%(person)s signs for %(project)s again: %(reason)s") % {**words, "reason": reason}
    _tell(conflict, "conflict.ended", by, reason, concerned, subject, body)
    return conflict


Waiting = Pitch | GrantChange


def _waiting(project: Project) -> list[Waiting]:
    pitches = Pitch.objects.filter(project=project, state__in=Pitch.SIGNABLE).order_by("pk")
    changes = GrantChange.objects.filter(grant__project=project, state=GrantChange.State.ASKED).order_by("pk")
    return [*pitches.select_related("project"), *changes.select_related("grant__project", "grant__pitch")]


def _lock_waiting(project: Project) -> list[Waiting]:
    for rows in (
        Pitch.objects.filter(project=project, state__in=Pitch.SIGNABLE),
        GrantChange.objects.filter(grant__project=project, state=GrantChange.State.ASKED),
        Loan.objects.filter(Q(lender=project) | Q(borrower=project), state=Loan.State.PROPOSED),
    ):
        list(rows.order_by("pk").select_for_update(no_key=True, of=("self",)).values_list("pk"))
    return _waiting(project)


def _roles_to_sign(row: Waiting, person: Person) -> list[Role]:
    """The roles of the row that nobody has signed for and in which the person could."""
    if isinstance(row, Pitch):
        mandates, unsigned = queries.mandates_for(row, person), queries.roles_that_wait(row)
    else:
        is_barred = person.pk in queries.barred_from(row)
        mandates = [] if is_barred else queries.mandates_of(person)
        unsigned = queries.roles_that_wait_on_change(row)
    held = {mandate.role for mandate in mandates}
    return [role for role in unsigned if role in held]


def _tell(
    conflict: ConflictOfInterest, verb: str, by: Person, reason: str, concerned: list[tuple[Waiting, list[Role]]],
    subject: str, body: str,
) -> None:  # fmt: skip
    event = trail.record(
        verb, conflict, by=by, reason=reason, label=conflict.project.name, person=conflict.person.username,
        person_name=conflict.person.name, project=conflict.project.slug, until=conflict.during.upper,
    )  # fmt: skip
    touched = [(row, roles) for row, roles in concerned if roles]
    people = {conflict.person}
    for row, roles in touched:
        people |= queries.signers_of(row, roles) if isinstance(row, Pitch) else queries.signers_of_change(row)
    tell(event, people - {by}, subject, body, _page_of([row for row, _roles in touched]))


def _page_of(touched: list[Waiting]) -> str:
    if len(touched) != 1:
        return page("queue") if touched else page("conflicts")
    [row] = touched
    return page("queue", row.public_id) if isinstance(row, Pitch) else page("grants", row.grant.public_id)
