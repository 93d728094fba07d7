"""Pitches that wait for their pitcher: a counter-offer to answer, changes to make."""

from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations.grants import spoken_at
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Pitch
from allocations.notify import page, tell
from allocations.reminders.when import ACTOR, is_due, may_be_due
from inventory import trail

WITH_PITCHER = (Pitch.State.OFFERED, Pitch.State.CHANGES)


def candidates(now: datetime) -> QuerySet[Pitch]:
    """Pitches whose pitcher may be due to be reminded."""
    due = may_be_due(now, due_at="answer_due_at", reminded_at="answer_reminded_at")
    return Pitch.objects.filter(due, state__in=WITH_PITCHER)


@one_at_a_time
def remind_of(pk: int) -> bool:
    """The pitcher has heard what is due, and the project's lead too once it is overdue; False if nothing was."""
    pitch = Pitch.objects.select_related("project__division", "project__lead", "pitcher").get(pk=pk)
    lock_row(pitch)
    now, due_at = timezone.now(), pitch.answer_due_at
    if pitch.state not in WITH_PITCHER or due_at is None:
        return False
    if not is_due(due_at, pitch.answer_reminded_at, now=now, division=pitch.project.division):
        return False
    is_overdue = now >= due_at
    Pitch.objects.filter(pk=pk).update(answer_reminded_at=now)
    event = trail.record("pitch.answer_reminded", pitch, by=ACTOR, due_at=due_at, overdue=is_overdue)
    words = {"title": pitch.title, "when": spoken_at(due_at), "person": pitch.pitcher.name}
    subject = _("Your answer is overdue: %(title)s") if is_overdue else _("Your answer is due soon: %(title)s")
    if pitch.state == Pitch.State.OFFERED:
        body = _("The counter-offer waits for the answer of %(person)s, due %(when)s. It does not lapse by itself.")
    else:
        body = _("Changes were asked for; %(person)s makes them and submits again, due %(when)s.")
    people = {pitch.pitcher, pitch.project.lead} if is_overdue else {pitch.pitcher}
    tell(event, people, subject % words, body % words, page("pitches", pitch.public_id))
    return True
