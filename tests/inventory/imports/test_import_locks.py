"""An import beside surveys: both lock nodes in one order."""

import time
from threading import Event as Signal

import pytest
from django.db import connection, transaction

from inventory.imports import DeclaredNode, import_fleet
from inventory.models import Node
from inventory.survey.nodes import lock_nodes
from tests import factories
from tests.races import at_once

pytestmark = pytest.mark.django_db(transaction=True)

NODES = 40


def test_an_import_takes_no_node_that_a_survey_wants_next():
    nodes = [factories.node(f"gpu-{number}.lab", gpus=1) for number in range(NODES)]
    keys = sorted(node.pk for node in nodes)
    # The last rows of the table come first in the file.
    declared = [
        DeclaredNode(line=2, name=node.name, model=node.model.name, gpus=1, site="new") for node in reversed(nodes)
    ]
    held = Signal()

    def survey():
        with transaction.atomic():
            lock_nodes(keys[:1])
            held.set()
            _wait_for_a_waiter()
            lock_nodes(keys[1:])

    def bring_in():
        held.wait(60)
        import_fleet(nodes=declared, source="file:lab.csv", by="import_fleet")

    assert at_once(survey, bring_in) == [None, None]
    assert Node.objects.filter(site="new").count() == NODES


def _wait_for_a_waiter() -> None:
    """Until another connection waits for a lock; a minute at most."""
    for _ in range(600):
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.1)
