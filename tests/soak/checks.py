"""What was stored, held against what was true: whose reading it is, and how long each card's use is known."""

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection

from inventory.models import Reading
from tests.soak.blows import Silence

# A span's seconds are sums of floats.
TOLERANCE_S = 0.01
# Whatever says otherwise than the card it is stored under: its holder, its memory, its place.
WRONG = """
WITH truth AS (
  SELECT * FROM json_to_recordset(%s::json) AS truth(uuid text, node text, slot int, holder text, mem_used_mib int)
)
SELECT gpu.uuid, truth.node, truth.slot, history.requested_at, history.holder, history.mem_used_mib, node.name
FROM inventory_readinghistory history
JOIN inventory_gpu gpu ON gpu.id = history.gpu_id
JOIN inventory_node node ON node.id = gpu.node_id
LEFT JOIN truth ON truth.uuid = gpu.uuid
WHERE (history.holder, history.mem_used_mib, node.name, gpu.pci_bus_id)
  IS DISTINCT FROM (truth.holder, truth.mem_used_mib, truth.node::varchar,
    format('00000000:%%s:00.0', lpad(upper(to_hex(16 + truth.slot)), 2, '0'))::varchar)
LIMIT 5
"""
# Every second from a card's first reading on is busy, idle or unknown, and stands once.
UNEVEN = """
WITH first AS (SELECT gpu_id, min(requested_at) AS at FROM inventory_readinghistory GROUP BY gpu_id),
span AS (
  SELECT gpu_id, begins_at, sum(busy_s + idle_s + unknown_s) AS told_s FROM inventory_usage5min GROUP BY 1, 2
)
SELECT gpu_id, begins_at, told_s, due_s FROM span JOIN first USING (gpu_id) CROSS JOIN LATERAL (
  SELECT extract(epoch FROM begins_at + interval '5 minutes' - greatest(begins_at, first.at))::float8 AS due_s
) AS due WHERE abs(told_s - due_s) > %s LIMIT 5
"""
# While an agent was silent for longer than a reading is believed, nobody knew whether its cards were used.
INVENTED = """
WITH silence AS (
  SELECT node, to_timestamp(from_s + %(believed_s)s) AS begun, to_timestamp(until_s) AS ended
  FROM json_to_recordset(%(silences)s::json) AS silence(node text, from_s float8, until_s float8)
  WHERE until_s - from_s > %(believed_s)s
), known AS (
  SELECT gpu_id, begins_at, sum(busy_s + idle_s) AS known_s FROM inventory_usage5min GROUP BY 1, 2
), silent AS (
  SELECT gpu.id AS gpu_id, known.begins_at, sum(extract(epoch FROM
    least(ended, begins_at + interval '5 minutes') - greatest(begun, begins_at))::float8) AS silent_s
  FROM silence JOIN inventory_node node ON node.name = silence.node JOIN inventory_gpu gpu ON gpu.node_id = node.id
  JOIN known ON known.gpu_id = gpu.id AND begun < begins_at + interval '5 minutes' AND ended > begins_at
  GROUP BY 1, 2
)
SELECT gpu_id, begins_at, known_s, silent_s FROM known JOIN silent USING (gpu_id, begins_at)
WHERE known_s > 300 - silent_s + %(tolerance_s)s LIMIT 5
"""
SUMS = """
SELECT (SELECT count(*) FROM inventory_readinghistory), sum(busy_s), sum(idle_s), sum(unknown_s)
FROM inventory_usage5min
"""


def nothing_is_another_cards(truth: Sequence[dict[str, object]]) -> None:
    """Every row of the history says what is true of its card. Raises AssertionError."""
    wrong = _rows(WRONG, [json.dumps(truth)])
    assert not wrong, f"readings of other cards, such as {wrong}"
    assert set(Reading.objects.values_list("gpu__uuid", flat=True)) == {card["uuid"] for card in truth}


def every_second_stands_once() -> None:
    """Busy, idle and unknown make up all the time. Raises AssertionError."""
    uneven = _rows(UNEVEN, [TOLERANCE_S])
    assert not uneven, f"seconds told and due differ, such as {uneven}"


def no_gap_counts_as_use(silences: Sequence[Silence], *, believed_s: float) -> int:
    """The time of an agent that answered nobody is unknown; how many silences that shows. Raises AssertionError."""
    told = json.dumps([silence._asdict() for silence in silences])
    values = {"silences": told, "believed_s": believed_s, "tolerance_s": TOLERANCE_S}
    invented = _rows(INVENTED, values)
    assert not invented, f"known for longer than the agent answered, such as {invented}"
    return sum(silence.until_s - silence.from_s > believed_s for silence in silences)


def sums() -> tuple[int, float, float, float]:
    """Rows of the history; busy, idle and unknown seconds of all cards."""
    [(readings, busy_s, idle_s, unknown_s)] = _rows(SUMS, [])
    return readings, busy_s, idle_s, unknown_s


def _rows(statement: str, values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()
