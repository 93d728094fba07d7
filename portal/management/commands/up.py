"""`manage.py up`: the whole portal on one machine, or one part of it."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from portal.services.home import CHECKOUT

SWITCHES = {
    "simulate": _("run a simulated fleet, too"),
    "demo": _("fill in the demo lab, where anybody may be anybody"),
    "no_migrate": _("leave the tables as they are"),
}


class Command(BaseCommand):
    help = _(
        "Starts the database, the broker, web, worker and beat, and keeps them up until Ctrl-C. "
        "DATABASE_URL and REDIS_URL name real servers, which are used then instead of the embedded ones."
    )
    requires_system_checks = ()  # the database that some checks ask for is not started yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", choices=("web", "worker", "beat"), help=_("run this part alone"))
        for name, text in SWITCHES.items():
            parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        """Becomes the supervisor, which needs nothing of Django: it stays small and ends at once."""
        asked = [f"--{name.replace('_', '-')}" for name in SWITCHES if options[name]]
        asked += ["--only", options["only"]] if options["only"] else []
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "portal.services", *asked])  # noqa: S606 - no shell wanted
