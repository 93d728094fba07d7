"""`manage.py up`: the whole portal on one machine, or one part of it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from portal.services import parts
from portal.services.errors import CannotStart
from portal.services.home import Home, allot_home
from portal.services.supervisor import Supervisor


class Command(BaseCommand):
    help = _(
        "Starts the database, the broker, web, worker and beat, and keeps them up until Ctrl-C. "
        "DATABASE_URL and REDIS_URL name real servers, which are used then instead of the embedded ones."
    )
    requires_system_checks = ()  # the database that some checks ask for is not started yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", choices=parts.ONLY, help=_("run this part alone"))
        parser.add_argument("--simulate", action="store_true", help=_("run a simulated fleet, too"))
        parser.add_argument("--demo", action="store_true", help=_("fill in the demo lab, where anybody may be anybody"))
        parser.add_argument("--no-migrate", action="store_true", help=_("leave the tables as they are"))

    def handle(self, *args: Any, **options: Any) -> None:
        home = Home(allot_home())
        try:
            run = parts.plan(
                home,
                only=options["only"],
                simulate=options["simulate"],
                demo=options["demo"],
                migrate=not options["no_migrate"],
            )
            Supervisor(home, parts.say).run(run)
        except CannotStart as error:
            raise CommandError(str(error)) from error
