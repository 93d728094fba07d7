"""Check the chain of the trail: `manage.py verify_trail`; exit code 1 when an event was changed or is missing."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from inventory import trail
from inventory.models import Event, EventSeal


class Command(BaseCommand):
    """Recomputes every seal from its event and the seal before."""

    help = "Recompute the hash chain of the trail and say whether it is whole."

    def handle(self, *args: Any, **options: Any) -> None:
        broken_at = trail.verify()
        if broken_at is not None:
            raise CommandError(_("The trail is broken at position %(position)d.") % {"position": broken_at})
        sealed = EventSeal.objects.count()
        waiting = Event.objects.filter(seal=None).count()
        self.stdout.write(
            _("The trail is whole: %(sealed)d events sealed, %(waiting)d not sealed yet.")
            % {"sealed": sealed, "waiting": waiting}
        )
