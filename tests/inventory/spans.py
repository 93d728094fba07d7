"""Readings of a GPU put straight into its history, for tests of what is made of them."""

from datetime import datetime

from django.db import connection

from inventory.models import Gpu
from inventory.survey.readings import BOTH, SHARED

PUT = f"""
INSERT INTO inventory_readinghistory (gpu_id, {BOTH})
VALUES (%(gpu_id)s, {", ".join(f"%({name})s" for name in SHARED)})
"""


def read(gpu: Gpu, at: datetime, *, holder: str | None = "apollo", util: float | None = 0.0, **fields) -> None:
    """The GPU was read at that instant."""
    row = dict.fromkeys(SHARED) | {"requested_at": at, "holder": holder, "util_pct": util, "generation": 0}
    with connection.cursor() as cursor:
        cursor.execute(PUT, row | {"gpu_id": gpu.pk, "draining": False} | fields)
