"""Django app of decisions, plans and execution."""

from django.apps import AppConfig


class AllocationsConfig(AppConfig):
    name = "allocations"
    verbose_name = "Decisions"
