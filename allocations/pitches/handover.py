"""A pitch changes hands: somebody else answers for it from now on."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import queries, rules
from allocations.errors import BadTerms
from allocations.locks import one_at_a_time
from allocations.models import Person, Pitch, Recusal
from allocations.notify import page, tell
from allocations.pitches.common import lock_in
from inventory import trail


@one_at_a_time
def hand_over_pitch(*, pitch: Pitch, to: Person, by: Person, reason: str = "") -> Pitch:
    """`to` is the pitcher of a draft or a pitch that nobody has decided; its history stays. `to` is told.

    Who has signed a pitch cannot answer for it, and who has pitched it steps aside from signing it.
    Raises NotAllowed, BadTerms, WrongState, Stale.
    """
    rules.require(by, "hand_over_pitch", pitch)
    lock_in(pitch, Pitch.State.DRAFT, *Pitch.OPEN)
    if pitch.pitcher_id == to.pk:
        return pitch
    words = {"person": to.name, "project": pitch.project.name, "title": pitch.title}
    if not rules.can(to, "pitch_for", pitch.project):
        raise BadTerms(_("%(person)s is no member of %(project)s.") % words, field="pitches_to")
    if to.pk in queries.people_of(pitch.sign_offs.filter(undone_at=None)):
        raise BadTerms(_("%(person)s has signed %(title)s and cannot answer for it.") % words, field="pitches_to")
    before = pitch.pitcher
    pitch.pitcher = to
    pitch.save(update_fields=["pitcher"])
    words_aside = {"reason": _("Pitched it before %(person)s.") % words, "at": timezone.now()}
    Recusal.objects.get_or_create(pitch=pitch, person=before, defaults=words_aside)
    label = _("a draft") if pitch.state == Pitch.State.DRAFT else ""
    event = trail.record(
        "pitch.handed_over", pitch, by=by, reason=reason, label=label, before=before.username, after=to.username
    )
    tell(
        event,
        {to},
        _("You answer for a pitch of %(person)s now") % {"person": before.name},
        _("%(title)s, for %(project)s.") % words,
        page("pitches", pitch.public_id),
    )
    return pitch
