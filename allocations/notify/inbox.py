"""The inbox of a person, and how they want to be told outside the portal."""

from collections.abc import Collection
from datetime import datetime, time

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations.errors import BadTerms
from allocations.models import Notice, NoticePreference, Person


def notices_of(person: Person) -> QuerySet[Notice]:
    """What the person was told until now; nobody else reads it."""
    return Notice.objects.filter(person=person, at__lte=timezone.now())


def unread_of(person: Person) -> QuerySet[Notice]:
    """What the person was told and has not opened yet."""
    return notices_of(person).filter(read_at=None)


def mark_read(*, notice: Notice, by: Person) -> None:
    """`by` has read it; a repeat keeps the first time. Somebody else's stays as it is."""
    unread_of(by).filter(pk=notice.pk).update(read_at=timezone.now())


def mark_all_read(*, by: Person, up_to: int) -> int:
    """All up to the notice with that key, the newest that was seen, are read; returns how many were not before."""
    return unread_of(by).filter(pk__lte=up_to).update(read_at=timezone.now())


def settle(path: str, *, at: datetime, people: Collection[Person] | None = None) -> None:
    """What asked for something on that page is read from `at` on, by `people` (None: by all): it is answered."""
    open_ones = Notice.objects.filter(path=path, read_at=None)
    (open_ones if people is None else open_ones.filter(person__in=people)).update(read_at=at)


def unsettle(path: str, *, at: datetime) -> None:
    """What `settle` read at that instant is open again; what people have read themselves stays read."""
    Notice.objects.filter(path=path, read_at=at).update(read_at=None)


@transaction.atomic
def set_preferences(
    *, by: Person, by_mail: bool, by_chat: bool, quiet_from: time | None, quiet_until: time | None
) -> NoticePreference:
    """From now on `by` is told so; what waits already keeps its way. The chat address is an admin's to set.

    Raises BadTerms.
    """
    if (quiet_from is None) != (quiet_until is None):
        raise BadTerms(_("Quiet hours have a beginning and an end."))
    if quiet_from is not None and quiet_from == quiet_until:
        raise BadTerms(_("Quiet hours end at another time than they begin."))
    wish, _is_new = NoticePreference.objects.get_or_create(person=by)
    if by_chat and not wish.chat_url:
        raise BadTerms(_("You have no chat address yet; an administrator sets it."))
    wish.by_mail, wish.by_chat, wish.quiet_from, wish.quiet_until = by_mail, by_chat, quiet_from, quiet_until
    wish.save(update_fields=["by_mail", "by_chat", "quiet_from", "quiet_until"])
    return wish
