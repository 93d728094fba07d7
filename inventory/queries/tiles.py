"""The whole fleet as the map draws it: one query, one small tuple for each GPU."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from inventory.queries.freshness import fresh_after


class Tile(NamedTuple):
    """One GPU. `state`: lost, unknown, draining, free, busy or idle.

    `holder` is what the node said last ("" nobody, None unknown) and `age_s` how long ago that was (None: never);
    when the reading is stale the state is unknown. Cordon and silence are apart from the state.
    """

    gpu_id: int
    node: str
    island: str
    site: str
    model: str
    holder: str | None
    state: str
    util_pct: float | None
    age_s: int | None
    cordoned: bool
    silent: bool


# Raw, since 100,000 rows through the ORM's annotations take three times as long. The states are those of `gpu_state`.
# Nodes are put in order before they meet their GPUs: sorting the GPUs by three texts each doubled the time.
TILES = """
SELECT gpu.id, node.name, node.island, node.site, model.name, reading.holder,
  CASE
    WHEN gpu.lost_at IS NOT NULL THEN 'lost'
    WHEN reading.requested_at IS NULL OR reading.requested_at < %(fresh_after)s OR reading.holder IS NULL THEN 'unknown'
    WHEN reading.draining THEN 'draining'
    WHEN reading.holder = '' THEN 'free'
    WHEN reading.util_pct > 0 THEN 'busy'
    WHEN reading.util_pct = 0 THEN 'idle'
    ELSE 'unknown'
  END,
  reading.util_pct,
  CASE WHEN reading.gpu_id IS NOT NULL THEN greatest(0, extract(epoch FROM %(now)s - reading.requested_at))::int END,
  cordon.node_id IS NOT NULL,
  node.silent_since IS NOT NULL
FROM inventory_gpu gpu
JOIN (
  SELECT id, name, island, site, silent_since, row_number() OVER (ORDER BY site, island, name) AS place
  FROM inventory_node WHERE retired_at IS NULL
) node ON node.id = gpu.node_id
JOIN inventory_gpumodel model ON model.id = gpu.model_id
LEFT JOIN inventory_reading reading ON reading.gpu_id = gpu.id
LEFT JOIN inventory_cordon cordon ON cordon.node_id = node.id AND cordon.during @> %(now)s
WHERE gpu.retired_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM inventory_gpu instance
  WHERE instance.parent_id = gpu.id AND instance.retired_at IS NULL AND instance.lost_at IS NULL
)
ORDER BY node.place, gpu.pci_bus_id, gpu.id
"""


def fleet_tiles(*, now: datetime | None = None) -> list[Tile]:
    """Every GPU that can be assigned, ordered by site, island, node and slot."""
    now = now or timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(TILES, {"now": now, "fresh_after": fresh_after(now)})
        return [Tile._make(row) for row in cursor.fetchall()]
