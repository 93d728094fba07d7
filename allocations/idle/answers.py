"""What people say about idle GPUs: keep them, because ..., until ...; or beforehand, that they will be quiet."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import rules
from allocations.errors import BadTerms, WrongState
from allocations.locks import lock_row, one_at_a_time
from allocations.models import IdleCase, IdlePhase, Person, Project
from inventory import trail

# Longer is no pause but another use of the grant, which the lead asks for.
KEPT_MOST = timedelta(days=14)
State = IdleCase.State


@one_at_a_time
def keep(*, case: IdleCase, by: Person, reason: str, until: datetime) -> IdleCase:
    """Nobody is asked about the grant's idle GPUs until that instant; who works on the grant reads why.

    The same answer again changes nothing. Raises NotAllowed, BadTerms, WrongState when it is over or kept already.
    """
    rules.require(by, "keep_idle", case.grant)
    now = timezone.now()
    if not reason.strip():
        raise BadTerms(_("Say why: ops read it before they look elsewhere."), field="reason")
    if not now < until <= min(now + KEPT_MOST, max(case.grant.ends_at, now)):
        raise BadTerms(
            _("Name a day from today on, within %(days)s days and before the grant ends.") % {"days": KEPT_MOST.days},
            field="until",
        )
    lock_row(case)
    said = (reason.strip(), until, by)
    if case.state == State.KEPT and (case.kept_reason, case.kept_until, case.kept_by) == said:
        return case
    if State.KEPT not in IdleCase.NEXT[State(case.state)]:
        raise WrongState(
            _("These GPUs: %(state)s. There is nothing to answer.") % {"state": case.get_state_display()},
            state=case.state,
        )
    IdleCase.objects.advance(case, State.KEPT, kept_by=by, kept_at=now, kept_until=until, kept_reason=reason.strip())
    trail.record("idle.kept", case, by=by, reason=reason, until=until, gpus=case.gpus)
    return case


@one_at_a_time
def declare_phase(*, project: Project, by: Person, starts_at: datetime, ends_at: datetime, reason: str) -> IdlePhase:
    """The project's GPUs may be idle in that time without a question. Said again it is said once.

    Locks the project. Raises NotAllowed, BadTerms.
    """
    rules.require(by, "declare_idle_phase", project)
    if not reason.strip():
        raise BadTerms(_("Say why: ops read it before they look elsewhere."), field="reason")
    if not starts_at < ends_at or ends_at <= timezone.now():
        raise BadTerms(_("It ends after it began, and in the future."), field="ends_at")
    if ends_at - starts_at > KEPT_MOST:
        raise BadTerms(_("A quiet phase has at most %(days)s days.") % {"days": KEPT_MOST.days}, field="ends_at")
    lock_row(project)
    said = {"starts_at": starts_at, "ends_at": ends_at, "reason": reason.strip()}
    same = IdlePhase.objects.filter(project=project, **said).first()
    if same:
        return same
    phase = IdlePhase.objects.create(project=project, declared_by=by, declared_at=timezone.now(), **said)
    trail.record(
        "idle.phase_declared", phase, by=by, reason=reason, project=project.slug, starts_at=starts_at, ends_at=ends_at
    )
    return phase


@one_at_a_time
def end_phase(*, phase: IdlePhase, by: Person) -> IdlePhase:
    """It is over now, or, where it had not begun, never was. Raises NotAllowed, WrongState."""
    rules.require(by, "declare_idle_phase", phase.project)
    lock_row(phase)
    now = timezone.now()
    if phase.ends_at <= now:
        raise WrongState(_("This quiet phase is over already."), ends_at=phase.ends_at)
    phase.starts_at, phase.ends_at = min(phase.starts_at, now - timedelta(microseconds=1)), now
    phase.save(update_fields=["starts_at", "ends_at"])
    trail.record("idle.phase_ended", phase, by=by, project=phase.project.slug)
    return phase
