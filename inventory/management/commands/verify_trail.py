"""Check the chain of the trail: `manage.py verify_trail`; exit code 1 when an event was changed or is missing.

With `--file export.jsonl` it checks an export of it, line by line, against its own digests and the seals here.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from inventory import trail
from inventory.models import Event, EventSeal


class Command(BaseCommand):
    """Recomputes every seal from its event and the seal before."""

    help = "Recompute the hash chain of the trail and say whether it is whole."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--file", type=Path, help="an export of the trail (JSONL) to check instead")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["file"]:
            return self._check_file(options["file"])
        found = trail.first_break()
        if found is not None:
            raise CommandError(_("The trail is broken at position %(position)d: %(row)s.") % _words(found))
        sealed = EventSeal.objects.count()
        waiting = Event.objects.filter(seal=None).count()
        self.stdout.write(
            _("The trail is whole: %(sealed)d events sealed, %(waiting)d not sealed yet.")
            % {"sealed": sealed, "waiting": waiting}
        )
        return None

    def _check_file(self, path: Path) -> None:
        try:
            with path.open(encoding="utf-8") as lines:
                held, found = trail.first_break_in(lines)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(_("This is no export of the trail: %(error)s") % {"error": error}) from error
        if found is not None:
            raise CommandError(
                _("The export does not hold at position %(position)d: %(row)s. %(held)d lines before it do.")
                % {**_words(found), "held": held}
            )
        self.stdout.write(_("The export holds: %(held)d events.") % {"held": held})


def _words(found: trail.Break) -> dict[str, Any]:
    row = _("event %(event)s, %(verb)s, at %(at)s") % {"event": found.event, "verb": found.verb, "at": found.at}
    return {"position": found.position, "row": row}
