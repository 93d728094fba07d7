"""Somebody leaves the lab: what is theirs goes to others in one act, access ends at once, history stays."""

from collections.abc import Mapping

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import deputies, pitches, projects, queries, rules
from allocations.errors import BadTerms, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Person, Pitch, Project, Role
from inventory import trail


@one_at_a_time
def let_go(
    *,
    person: Person,
    by: Person,
    reason: str,
    leads_to: Mapping[Project, Person],
    roles_to: Mapping[Role, Person] | None = None,
) -> Person:
    """`person` has left: the new leads answer for its projects and for its pitches there, the others' leads for theirs.

    `leads_to` names a lead for each project that the person leads. `roles_to` gives some of its roles to others; a role
    that nobody holds afterwards raises the alarm, and what waits for it is held. Sessions and tokens end at once.
    Raises NotAllowed, BadTerms (somebody is missing, or cannot take it), WrongState when the person has left.
    """
    rules.require(by, "administer")
    if person == by:
        raise BadTerms(_("Nobody lets themselves go: another admin does that."), field="person")
    if not reason.strip():
        raise BadTerms(_("Say why: the trail keeps it."), field="reason")
    lock_row(person)
    if person.left_at is not None:
        raise WrongState(_("%(person)s has left already.") % {"person": person.name}, left_at=person.left_at)
    theirs = queries.theirs(person)
    _require_heirs(person, [*leads_to.values(), *(roles_to or {}).values()])
    for project in theirs.leads:
        if project not in leads_to:
            raise BadTerms(_("Name a lead for %(project)s.") % {"project": project.name}, field="leads_to")
        projects.set_lead(project=project, person=leads_to[project], by=by)
    _hand_over_pitches(person, theirs, by, reason)
    _end_deputyships(theirs, by, reason)
    _end_roles(person, theirs.roles, roles_to or {}, by)
    for project in theirs.projects:
        project.refresh_from_db()
        projects.end_membership(project=project, person=person, by=by)
    _close(person)
    trail.record(
        "person.left", person, by=by, reason=reason, pitches=[str(row.public_id) for row in theirs.pitches],
        leads={project.slug: heir.username for project, heir in leads_to.items()},
        roles=[role.slug for role in theirs.roles],
    )  # fmt: skip
    return person


def _require_heirs(person: Person, heirs: list[Person]) -> None:
    for heir in heirs:
        if heir == person or not heir.is_active:
            raise BadTerms(_("%(person)s cannot take anything over.") % {"person": heir.name}, field="leads_to")


def _hand_over_pitches(person: Person, theirs: queries.Theirs, by: Person, reason: str) -> None:
    """Each pitch goes to the lead of its project, or to another member where the lead has signed it."""
    for pitch in theirs.pitches:
        pitch.project.refresh_from_db()
        pitches.hand_over_pitch(pitch=pitch, to=_heir(pitch, person), by=by, reason=reason)


def _heir(pitch: Pitch, person: Person) -> Person:
    """Who answers for the pitch. Raises BadTerms when everybody of the project has signed it."""
    signed = queries.people_of(pitch.sign_offs.filter(undone_at=None)) | {person.pk}
    lead = pitch.project.lead
    members = pitch.project.memberships.filter(during__contains=timezone.now(), person__is_active=True)
    others = [row.person for row in members.select_related("person").order_by("pk")]
    heir = next((each for each in [lead, *others] if each.pk not in signed), None)
    if heir is None:
        raise BadTerms(
            _("Nobody in %(project)s can answer for %(title)s: add a member, or withdraw it first.")
            % {"project": pitch.project.name, "title": pitch.title}
        )
    return heir


def _end_deputyships(theirs: queries.Theirs, by: Person, reason: str) -> None:
    for row in theirs.deputyships:
        deputies.end_deputy(deputy_row=row, by=by, reason=reason)


def _end_roles(person: Person, roles: list[Role], roles_to: Mapping[Role, Person], by: Person) -> None:
    for role in roles:
        heir = roles_to.get(role)
        if heir and heir not in queries.holders_of([role])[role]:
            projects.give_role(role=role, person=heir, by=by)
        projects.end_role(role=role, person=person, by=by)


def _close(person: Person) -> None:
    person.left_at, person.is_active = timezone.now(), False
    person.save(update_fields=["left_at", "is_active"])
    # An inactive account opens no session; its tokens go with it.
    person.auth_token_set.all().delete()  # type: ignore[attr-defined]
