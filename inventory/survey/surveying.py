"""One survey: ask first, then write, so that no transaction waits for a node."""

from collections.abc import Sequence

from django.utils import timezone

from inventory.models import Node, Survey
from inventory.survey.asking import ask
from inventory.survey.store import store_survey


def survey_nodes(nodes: Sequence[Node]) -> Survey:
    """The nodes were asked and what they said is stored. May overlap with other surveys of the same nodes."""
    started_at = timezone.now()
    return store_survey(ask(nodes), started_at=started_at)
