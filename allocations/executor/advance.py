"""From proposed to agreed: what needs no node."""

from django.db import transaction
from django.utils import timezone

from allocations.models import Move


def move_on() -> None:
    """Moves whose donors are told count as noticed, and as agreed those that need nobody's consent: as yet all.

    The notice is an outbox message of the commit's own transaction, so a move that exists has been noticed. Plans take
    only what is free, ended, or past the release that its lead promised; undo and repair are commits of ops.
    """
    now = timezone.now()
    with transaction.atomic():
        proposed = list(Move.objects.filter(state=Move.State.PROPOSED))
        Move.objects.advance_many(proposed, Move.State.NOTICED, skip_locked=True, noticed_at=now)
        noticed = list(Move.objects.filter(state=Move.State.NOTICED))
        Move.objects.advance_many(noticed, Move.State.AGREED, skip_locked=True, agreed_at=now)
