"""Bring the shipped divisions, roles and policies into a lab that lacks them."""

from typing import Any

from django.core.management.base import BaseCommand

from allocations import defaults


class Command(BaseCommand):
    help = "Adds the shipped divisions, roles and policies; touches nothing that exists."

    def handle(self, *args: Any, **options: Any) -> None:
        added = defaults.install(by="install_defaults")
        self.stdout.write(", ".join(f"{count} {noun}" for noun, count in added.items()) + " added")
