"""A clock that can be set back, so that the demo's history goes through the real services."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from unittest.mock import patch


@contextmanager
def clock_at(instant: datetime) -> Iterator[None]:
    """Services that ask `django.utils.timezone.now` are told `instant`; for the seed's own process only."""
    with patch("django.utils.timezone.now", return_value=instant):
        yield
