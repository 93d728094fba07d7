"""What a signature stands under, and how signatures that were taken back stay out of every count."""

from datetime import date
from typing import NamedTuple, TypeVar

from django.db import models

from inventory.models import GpuModel

Row = TypeVar("Row", bound=models.Model)


class Terms(NamedTuple):
    """Whole GPUs of a model, from a first day on, for so many days of the site."""

    model: GpuModel
    gpus: int
    start_on: date
    days: int


class StandingManager(models.Manager[Row]):
    """The rows that stand; what was undone is history, and only who asks for `every` row sees it."""

    def get_queryset(self) -> models.QuerySet[Row]:
        """Without those that were undone."""
        return super().get_queryset().filter(undone_at=None)


class EveryManager(models.Manager[Row]):
    """All rows, also those that were undone."""
