"""Whose Unix id is whose: `manage.py import_accounts FILE [--realm NAME]`; the format stands in docs/running.md."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from allocations.errors import BadTerms
from allocations.imports.accounts import import_accounts, read_accounts


class Command(BaseCommand):
    """Reads, imports, and says what began, ended and stayed."""

    help = "Unix accounts from CSV (login, uid, person); may be repeated, and leaves accounts that it does not name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--realm", default="", help="nodes with the same label `realm`; empty: those without one")

    def handle(self, *args: Any, file: Path, realm: str, **options: Any) -> None:
        try:
            rows = read_accounts(file.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(_("%(file)s cannot be read: %(why)s") % {"file": file, "why": error}) from error
        except BadTerms as error:
            raise CommandError(_("%(file)s: %(why)s Nothing was imported.") % {"file": file, "why": error}) from error
        report = import_accounts(rows, realm=realm, by="import_accounts")
        words = {"begun": report.begun, "ended": report.ended, "unchanged": report.unchanged}
        self.stdout.write(_("begun: %(begun)d, ended: %(ended)d, unchanged: %(unchanged)d") % words)
        if report.unknown:
            self.stdout.write(_("nobody here is called: %(names)s") % {"names": ", ".join(report.unknown)})
