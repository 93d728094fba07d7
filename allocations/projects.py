"""Projects, who works in them and who holds which role; object permissions are kept in step with memberships."""

from datetime import datetime

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from guardian.shortcuts import assign_perm, remove_perm

from allocations import queries, rules
from allocations.days import LAST_DAY, day_of, is_reachable, start_of
from allocations.errors import BadTerms, WrongState
from allocations.grants import end_early, site_zone
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Division, Grant, Membership, Person, Project, ProjectTerms, Role, RoleHolder
from allocations.notify import page, tell
from inventory import trail

MEMBER_PERMISSIONS = ("view_project", "pitch_for_project")
LEAD_PERMISSION = "lead_project"


@one_at_a_time
def create_project(*, slug: str, name: str, division: Division, lead: Person, by: Person) -> Project:
    """An active project of the division; the lead is its first member. Raises NotAllowed, BadTerms for a taken slug."""
    rules.require(by, "create_project")
    if Project.objects.filter(slug=slug).exists():
        raise BadTerms(_("There is a project %(slug)s already.") % {"slug": slug}, field="slug")
    project = Project.objects.create(slug=slug, name=name, division=division, lead=lead)
    trail.record("project.created", project, by=by, division=division.slug, lead=lead.username)
    _join(project, lead, by)
    assign_perm(LEAD_PERMISSION, lead, project)
    return project


@one_at_a_time
def add_member(*, project: Project, person: Person, by: Person) -> Membership:
    """The person works in the project from now on; a repeat changes nothing. Raises NotAllowed, WrongState."""
    rules.require(by, "edit_members", project)
    lock_row(project)
    _require_not_ended(project)
    present = project.memberships.filter(person=person, during__contains=timezone.now()).first()
    return present or _join(project, person, by)


@one_at_a_time
def end_membership(*, project: Project, person: Person, by: Person) -> Membership:
    """The person no longer works in the project. Raises NotAllowed, BadTerms for the lead, WrongState for no member."""
    rules.require(by, "edit_members", project)
    lock_row(project)
    if project.lead_id == person.pk:
        raise BadTerms(_("The lead stays a member: name another lead first."), field="person")
    membership = project.memberships.filter(person=person, during__contains=timezone.now()).first()
    if membership is None:
        raise WrongState(_("%(person)s is no member.") % {"person": person.name})
    membership.during = _until_now(membership.during)
    membership.save(update_fields=["during"])
    for permission in MEMBER_PERMISSIONS:
        remove_perm(permission, person, project)
    trail.record("member.left", project, by=by, person=person.username)
    return membership


@one_at_a_time
def set_lead(*, project: Project, person: Person, by: Person) -> Project:
    """The person answers for the project as a member; the lead before stays one. Raises NotAllowed, WrongState."""
    rules.require(by, "set_lead", project)
    lock_row(project)
    _require_not_ended(project)
    before = project.lead
    if not project.memberships.filter(person=person, during__contains=timezone.now()).exists():
        _join(project, person, by)
    remove_perm(LEAD_PERMISSION, before, project)
    assign_perm(LEAD_PERMISSION, person, project)
    project.lead = person
    project.save(update_fields=["lead"])
    trail.record("project.led", project, by=by, before=before.username, after=person.username)
    return project


@one_at_a_time
def give_role(*, role: Role, person: Person, by: Person, until: datetime | None = None) -> RoleHolder:
    """The person holds the role from now on, or until `until`. Raises NotAllowed, BadTerms, WrongState."""
    rules.require(by, "administer")
    lock_row(role)
    now = timezone.now()
    if until is not None and until <= now:
        raise BadTerms(_("The end of a role lies in the future."), field="until")
    _require_reachable(until, "until")
    during = DateTimeTZRange(now, until)
    if role.holders.filter(person=person, during__overlap=during).exists():
        raise WrongState(_("%(person)s holds %(role)s already.") % {"person": person.name, "role": role.name})
    held = RoleHolder.objects.create(role=role, person=person, during=during)
    _open_admin_site(role, person)
    trail.record("role.given", role, by=by, person=person.username, until=until)
    return held


@one_at_a_time
def end_role(*, role: Role, person: Person, by: Person) -> RoleHolder:
    """The person no longer holds the role; where nobody is left, those who administer are told.

    Raises NotAllowed, WrongState.
    """
    rules.require(by, "administer")
    lock_row(role)
    held = role.holders.filter(person=person, during__contains=timezone.now()).first()
    if held is None:
        raise WrongState(_("%(person)s does not hold %(role)s.") % {"person": person.name, "role": role.name})
    held.during = _until_now(held.during)
    held.save(update_fields=["during"])
    left = len(queries.holders_of([role])[role])
    event = trail.record("role.ended", role, by=by, person=person.username, holders_left=left)
    if not left and role.power in (Role.Power.DECIDE, Role.Power.OPERATE):
        tell(
            event,
            queries.people_with(Role.Power.ADMINISTER),
            _("Nobody holds the role %(role)s") % {"role": role.name},
            _("%(person)s was the last one. What it must sign or do is held until somebody has the role.")
            % {"person": person.name},
        )
    return held


@one_at_a_time
def wind_down(*, project: Project, by: Person, reason: str, releases_at: datetime) -> Project:
    """The project winds down and has promised to give its GPUs back by `releases_at`; the lead is told.

    Raises NotAllowed, BadTerms, WrongState, Stale.
    """
    rules.require(by, "wind_down", project)
    _require_reason(reason)
    if releases_at <= timezone.now():
        raise BadTerms(_("The promised release lies in the future."), field="releases_at")
    _require_reachable(releases_at, "releases_at")
    Project.objects.advance(
        project, Project.State.WINDING_DOWN, wind_down_reason=reason.strip(), releases_at=releases_at
    )
    event = trail.record("project.winding_down", project, by=by, reason=reason, releases_at=releases_at)
    tell(
        event,
        {project.lead},
        _("%(project)s winds down") % {"project": project.name},
        _("%(person)s: %(reason)s") % {"person": by.name, "reason": reason},
        page("projects", project.slug),
    )
    return project


@one_at_a_time
def resume_project(*, project: Project, by: Person, reason: str) -> Project:
    """The project goes on and has promised no release any more. Raises NotAllowed, BadTerms, WrongState, Stale."""
    rules.require(by, "wind_down", project)
    _require_reason(reason)
    before = {"reason": project.wind_down_reason, "releases_at": project.releases_at}
    Project.objects.advance(project, Project.State.ACTIVE, wind_down_reason="", releases_at=None)
    trail.record("project.resumed", project, by=by, reason=reason, before=before)
    return project


@one_at_a_time
def end_project(*, project: Project, by: Person, reason: str) -> Project:
    """The project has ended for good, and with it its promises; what it holds is free for planning.

    Raises NotAllowed, BadTerms, WrongState, Stale.
    """
    rules.require(by, "end_project", project)
    _require_reason(reason)
    now = timezone.now()
    Project.objects.advance(project, Project.State.ENDED, ended_at=now)
    promised = Grant.objects.filter(project=project, ends_at__gt=now).exclude(ends_at=F("starts_at"))
    grants = list(promised.select_related("project__lead", "model").order_by("pk"))
    for grant in grants:
        end_early(grant, by=by, reason=reason)
    trail.record("project.ended", project, by=by, reason=reason, grants=[grant.public_id for grant in grants])
    return project


@one_at_a_time
def set_terms(
    *,
    project: Project,
    by: Person,
    guarantee_gpus: int,
    protected: bool,
    quota_gpus: int | None,
    priority: int,
    starts_at: datetime,
    reason: str,
    until: datetime | None = None,
) -> ProjectTerms:
    """These terms hold from `starts_at` until `until` or the next ones; those in force at that instant end there.

    Locks the project. Raises NotAllowed, BadTerms for a time that has passed or that other terms begin at.
    """
    rules.require(by, "set_terms", project)
    _require_reason(reason)
    if guarantee_gpus < 0 or (quota_gpus is not None and quota_gpus < guarantee_gpus):
        raise BadTerms(_("The guarantee is 0 or more and not above the quota."), field="guarantee_gpus")
    lock_row(project)
    starts_at = _not_before_now(starts_at)
    if until is not None and until <= starts_at:
        raise BadTerms(_("Terms end after they begin."), field="until")
    _require_reachable(until, "until")
    if project.terms.filter(during__startswith=starts_at).exists():
        raise BadTerms(_("Other terms begin at that instant."), field="starts_at")
    before = project.terms.filter(during__contains=starts_at).first()
    following = project.terms.filter(during__startswith__gt=starts_at).order_by("during").first()
    if before:
        before.during = DateTimeTZRange(before.during.lower, starts_at)
        before.save(update_fields=["during"])
    ends = [end for end in (until, following.during.lower if following else None) if end is not None]
    terms = ProjectTerms.objects.create(
        project=project, during=DateTimeTZRange(starts_at, min(ends, default=None)),
        guarantee_gpus=guarantee_gpus, protected=protected, quota_gpus=quota_gpus, priority=priority,
        reason=reason.strip(), signed_by=by,
    )  # fmt: skip
    trail.record(
        "project.terms", project, by=by, reason=reason, starts_at=starts_at, until=terms.during.upper,
        before=_said(before) if before else {}, after=_said(terms),
    )  # fmt: skip
    return terms


def _join(project: Project, person: Person, by: Person) -> Membership:
    during = DateTimeTZRange(timezone.now(), None)
    membership = Membership.objects.create(project=project, person=person, during=during)
    for permission in MEMBER_PERMISSIONS:
        assign_perm(permission, person, project)
    trail.record("member.joined", project, by=by, person=person.username)
    return membership


def _open_admin_site(role: Role, person: Person) -> None:
    """Let the holder of an administering role past the admin site's door; what may be done there says `rules`."""
    if role.power == Role.Power.ADMINISTER and not person.is_staff:
        person.is_staff = True
        person.save(update_fields=["is_staff"])


def _until_now(during: DateTimeTZRange) -> DateTimeTZRange:
    return DateTimeTZRange(during.lower, timezone.now())


def _not_before_now(starts_at: datetime) -> datetime:
    now = timezone.now()
    if starts_at < start_of(day_of(now, site_zone()), site_zone()):
        raise BadTerms(_("Terms begin today at the earliest."), field="starts_at")
    _require_reachable(starts_at, "starts_at")
    return max(starts_at, now)


def _require_reachable(instant: datetime | None, field: str) -> None:
    if instant is not None and not is_reachable(instant):
        raise BadTerms(_("Name a day up to %(last)s.") % {"last": LAST_DAY}, field=field)


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise BadTerms(_("Say why: those it concerns read it."), field="reason")


def _require_not_ended(project: Project) -> None:
    if project.state == Project.State.ENDED:
        raise WrongState(_("%(project)s has ended.") % {"project": project.name}, state=project.state)


def _said(terms: ProjectTerms) -> dict[str, object]:
    names = ("guarantee_gpus", "protected", "quota_gpus", "priority")
    return {name: getattr(terms, name) for name in names}
