"""`manage.py seed_demo`: the demo lab, where it is not there yet."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from portal.demo import seed
from portal.services.home import Home


class Command(BaseCommand):
    help = "Fill an empty portal with the demo lab; a repeat changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        if not seed.is_seeded():
            seed.seed()
        Home(Path(settings.HOME)).people.write_text(seed.people_text())
