"""What somebody has had before their eyes: a pitch that was open on the screen, news of a page that were seen.

Neither decides anything, and neither is in the trail: the rows say all of it.
"""

from collections.abc import Iterable

from django.conf import settings
from django.utils import timezone

from allocations.locks import one_at_a_time
from allocations.models import LastLook, Opened, Person, Pitch


@one_at_a_time
def open_pitch(*, pitch: Pitch, by: Person) -> None:
    """`by`, who may see the pitch, has it open as it is in this round; a repeat keeps the first time."""
    if pitch.submitted_at is not None:
        row = Opened(pitch=pitch, person=by, round=pitch.round, at=timezone.now())
        Opened.objects.bulk_create([row], ignore_conflicts=True)


@one_at_a_time
def look(*, page: str, by: Person) -> None:
    """The news of the page up to now are known to `by`."""
    LastLook.objects.update_or_create(person=by, page=page, defaults={"at": timezone.now()})


def unopened(pitches: Iterable[Pitch], by: Person) -> list[Pitch]:
    """Those that ask for more than `DECIDE_UNOPENED_GPUS` and that `by` has not had open in this round."""
    large = [pitch for pitch in pitches if pitch.offered_gpus > settings.DECIDE_UNOPENED_GPUS]
    rows = Opened.objects.filter(person=by, pitch__in=large).values_list("pitch", "round")
    seen = set(rows) if large else set()
    return [pitch for pitch in large if (pitch.pk, pitch.round) not in seen]
