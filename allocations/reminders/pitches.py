"""Signatures: those whose turn it is are reminded, and the role above them hears when they are overdue."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries
from allocations.grants import spoken_at
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Pitch, PitchRole, Role
from allocations.notify import page, tell
from allocations.reminders.when import ACTOR, is_due, may_be_due
from inventory import trail


def candidates(now: datetime) -> QuerySet[Pitch]:
    """Pitches that wait for signatures of which one may be due to be reminded of or to be escalated."""
    overdue = Q(due_at__lte=now, escalated_at=None, escalates_to__isnull=False)
    rows = PitchRole.objects.filter(may_be_due(now) | overdue, pitch=OuterRef("pk"))
    return Pitch.objects.filter(Exists(rows), state=Pitch.State.SUBMITTED)


@one_at_a_time
def remind_of(pk: int) -> bool:
    """The signers of the pitch whose turn it is, and those above them, have heard what is due; False if nothing was."""
    pitch = Pitch.objects.select_related("project__division", "model").get(pk=pk)
    lock_row(pitch)
    if pitch.state != Pitch.State.SUBMITTED:
        return False
    now, division = timezone.now(), pitch.project.division
    waiting = queries.in_turn(queries.unsigned_roles(pitch))
    late = [row for row in waiting if is_due(row.due_at, row.reminded_at, now=now, division=division)]
    above = [row for row in waiting if _escalates(row, now)]
    _remind(pitch, late, now)
    to = sorted({row.escalates_to for row in above if row.escalates_to}, key=lambda role: role.pk)
    told = [role for role in to if _escalate(pitch, [row for row in above if row.escalates_to == role], role, now)]
    return bool(late or told)


def _escalates(row: PitchRole, now: datetime) -> bool:
    is_overdue = row.due_at is not None and row.due_at <= now
    return is_overdue and row.escalates_to_id is not None and row.escalated_at is None


def _remind(pitch: Pitch, rows: Iterable[PitchRole], now: datetime) -> None:
    for due_at in sorted({row.due_at for row in rows if row.due_at}):
        turn = [row for row in rows if row.due_at == due_at]
        PitchRole.objects.filter(pk__in=[row.pk for row in turn]).update(reminded_at=now)
        event = trail.record(
            "pitch.reminded", pitch, by=ACTOR, roles=[row.role.slug for row in turn], due_at=due_at,
            overdue=now >= due_at,
        )  # fmt: skip
        subject = _("Overdue: %(title)s") if now >= due_at else _("Due soon: %(title)s")
        body = _("%(project)s asks for %(gpus)s %(model)s. Your answer is due %(when)s.")
        words = _words(pitch) | {"when": spoken_at(due_at)}
        people = queries.signers_of(pitch, [row.role for row in turn])
        tell(event, people, subject % words, body % words, page("queue", pitch.public_id))


def _escalate(pitch: Pitch, rows: list[PitchRole], to: Role, now: datetime) -> bool:
    """The role above these has heard; False where it has nobody, so that whoever gets it next hears."""
    standing_in = {each.deputy for each in queries.deputies_of([to])[to]}
    people = ({*queries.holders_of([to])[to]} | standing_in) - {pitch.pitcher}
    if not people:
        return False
    PitchRole.objects.filter(pk__in=[row.pk for row in rows]).update(escalated_at=now)
    due_at = min(row.due_at for row in rows if row.due_at)
    event = trail.record(
        "pitch.escalated", pitch, by=ACTOR, roles=[row.role.slug for row in rows], to=to.slug, due_at=due_at,
        people=sorted(person.username for person in people),
    )  # fmt: skip
    roles = _(" and ").join(row.role.name for row in rows)
    words = _words(pitch) | {"roles": roles, "when": spoken_at(due_at)}
    subject = _("Overdue at the %(roles)s: %(title)s") % words
    body = _("%(project)s asks for %(gpus)s %(model)s. Due at the %(roles)s: %(when)s. Nothing is decided.")
    tell(event, people, subject, body % words, page("pitches", pitch.public_id))
    return True


def _words(pitch: Pitch) -> dict[str, object]:
    model = pitch.offered_model or pitch.model
    return {
        "title": pitch.title,
        "project": pitch.project.name,
        "gpus": pitch.offered_gpus,
        "model": model.name,
    }
