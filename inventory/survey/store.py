"""A survey becomes rows: a handful of statements, however many nodes, in one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from inventory.drivers.base import Observed
from inventory.models import Survey
from inventory.queries import fresh_after
from inventory.survey.asking import Answer
from inventory.survey.comparing import KnownGpu, compare
from inventory.survey.findings import health_of, write_findings
from inventory.survey.gpus import write_gpus
from inventory.survey.intrusions import write_intrusions
from inventory.survey.nodes import (
    Heard,
    NodeState,
    Unheard,
    gpus_named,
    known_gpus,
    lock_nodes,
    write_nodes,
)
from inventory.survey.readings import store_readings


@transaction.atomic
def store_survey(answers: Sequence[Answer], *, started_at: datetime) -> Survey:
    """What the nodes said, or why they said nothing, is stored; a silent node revokes nothing, its readings just age.

    Locks the nodes by id: surveys of the same nodes are stored one after the other. What is older than what is known,
    or says a sequence again, changes nothing.
    """
    nodes = lock_nodes(answer.node_id for answer in answers)
    known = known_gpus([answer.node_id for answer in answers if isinstance(answer.said, Observed)])
    said = _news(answers, nodes, _sequences(known))
    unheard = [
        Unheard(node, error)
        for node_id, error in answers
        if not isinstance(error, Observed)
        and (node := nodes.get(node_id))
        and not _is_later(node.answered_at, started_at)
    ]
    known = _with_strangers(known, said)
    changes = compare(known, said, fresh_after=fresh_after(timezone.now()), good_polls=settings.GOOD_POLLS)
    survey = Survey.objects.create(
        started_at=started_at,
        finished_at=timezone.now(),
        nodes_asked=len(answers),
        nodes_answered=sum(isinstance(answer.said, Observed) for answer in answers),
        gpus_seen=len(changes.claims),
    )
    gpu_ids = write_gpus(changes, node_names={node.node_id: node.name for node in nodes.values()})
    store_readings(changes.claims, gpu_ids, survey_id=survey.pk)
    write_intrusions(changes.claims, gpu_ids)
    heard = [Heard(nodes[node_id], seen) for node_id, seen in said]
    write_findings(health_of(changes, known, gpu_ids, heard, unheard, now=started_at), nodes)
    write_nodes(survey, heard, unheard)
    return survey


def _news(
    answers: Iterable[Answer], nodes: Mapping[int, NodeState], sequences: Mapping[tuple[int, str], int]
) -> list[tuple[int, Observed]]:
    """The answers that say something newer than what is stored, by node id."""
    found = []
    for node_id, said in answers:
        node = nodes.get(node_id)
        if node is None or not isinstance(said, Observed) or _is_later(node.answered_at, said.requested_at):
            continue
        observation = said.observation
        # A sequence that was seen already is an old answer kept by somebody on the way.
        if observation.sequence > sequences.get((node_id, observation.boot_id), -1):
            found.append((node_id, said))
    return sorted(found, key=lambda row: row[0])


def _is_later(answered_at: datetime | None, instant: datetime) -> bool:
    return answered_at is not None and answered_at >= instant


def _sequences(known: Iterable[KnownGpu]) -> dict[tuple[int, str], int]:
    """(node id, boot id) -> the highest sequence of a stored reading."""
    found: dict[tuple[int, str], int] = {}
    for gpu in known:
        if gpu.boot_id is not None and gpu.sequence is not None:
            key = gpu.node_id, gpu.boot_id
            found[key] = max(gpu.sequence, found.get(key, 0))
    return found


def _with_strangers(known: list[KnownGpu], said: Iterable[tuple[int, Observed]]) -> list[KnownGpu]:
    """The GPUs of those nodes, and of the UUIDs that none of them has, whoever has them."""
    here = {gpu.uuid for gpu in known}
    strange = [seen.uuid for _node, answer in said for seen in answer.observation.gpus if seen.uuid not in here]
    return known + gpus_named(strange) if strange else known
