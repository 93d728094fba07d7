"""What came of a project's earlier grants, for those who decide about its next one."""

from typing import Any

from allocations import queries
from allocations.models import Pitch

RESULT_ROWS = 5


def results_shown(row: Pitch) -> dict[str, Any]:
    """What the project's people said about earlier grants, and how many answers are missing."""
    key = row.project_id
    return {
        "results": queries.results_of([key]).get(key, [])[:RESULT_ROWS],
        "results_due": queries.results_due([key]).get(key, 0),
    }
