"""What every test may lean on: a lab with its people, and a trail that only the flush between tests may empty."""

import pytest
from django.db.backends.postgresql.operations import DatabaseOperations
from hypothesis import HealthCheck, settings

from tests import people

# A busy machine is no finding: laws are judged by their examples, never by the time that these took.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

_sql_flush = DatabaseOperations.sql_flush


def _sql_flush_with_the_trail(self, style, tables, *, reset_sequences=False, allow_cascade=False):
    # Transactional tests empty all tables: the append-only triggers let this one transaction pass, so that they
    # refuse inside tests as they do in production. The partitioned history is not Django's, so it is named here.
    statements = _sql_flush(self, style, tables, reset_sequences=reset_sequences, allow_cascade=allow_cascade)
    partitioned = "TRUNCATE inventory_readinghistory, inventory_usage5min, inventory_usagehour"
    return ["SET LOCAL allot.test_flush = 'on'", *statements, partitioned]


DatabaseOperations.sql_flush = _sql_flush_with_the_trail


@pytest.fixture
def lab(db) -> people.Lab:
    """Default divisions, roles and policies, one person a role, a project in each division with a lead and a member."""
    return people.lab()
