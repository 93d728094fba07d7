"""Make join codes for nodes: `manage.py join_code NODE... [--hours 24]`; each is told once, here."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from inventory import enrolment
from inventory.errors import WrongEnrolment
from inventory.models import Node

HOURS = int(enrolment.CODE_LIVES / timedelta(hours=1))
HOURS_MOST = 24 * 30


class Command(BaseCommand):
    """One line a node: its name and its code."""

    help = "Make a one-time code for each node, by which its agent joins: `allot-agent join PORTAL --code CODE`."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("nodes", nargs="+", metavar="NODE")
        parser.add_argument("--hours", type=int, default=HOURS, help=f"how long they are good (at most {HOURS_MOST})")

    def handle(self, *args: Any, nodes: list[str], hours: int, **options: Any) -> None:
        if not 1 <= hours <= HOURS_MOST:
            raise CommandError(_("--hours is 1 to %(most)d.") % {"most": HOURS_MOST})
        known = {node.name: node for node in Node.objects.filter(name__in=nodes)}
        if unknown := sorted(set(nodes) - known.keys()):
            raise CommandError(_("Nobody has declared: %(names)s.") % {"names": ", ".join(unknown)})
        codes = []
        try:
            with transaction.atomic():
                for name in dict.fromkeys(nodes):
                    made = enrolment.make_code(node=known[name], by="join_code", lives=timedelta(hours=hours))
                    codes.append((name, made[1]))
        except WrongEnrolment as error:
            raise CommandError(error.message) from error
        for name, code in codes:
            self.stdout.write(f"{name} {code}")
