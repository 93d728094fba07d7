"""The pages of operation cost the same with one row of each kind and with three."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import plans
from allocations.models import Move
from inventory.models import Survey, SurveyFault
from tests import factories


def _rows(lab, count: int) -> None:
    now = timezone.now()
    for number in range(count):
        node = factories.node(f"gpu-{number}.lab", gpus=8, answered_at=now)
        gpus = list(node.gpus.all())
        for gpu in gpus[:4]:
            factories.reading(gpu, "")
        winding = factories.project(
            division=lab.research, state="winding_down", releases_at=now - timedelta(hours=1), wind_down_reason="over"
        )
        for gpu in gpus[4:7]:
            factories.assignment(gpu, winding, since=now - timedelta(days=2))
            factories.reading(gpu, winding.slug, running=1)
        factories.reading(gpus[7], "somebody-else", util_pct=60.0)
        project = factories.project(division=lab.research)
        plan = plans.propose_plan(grant=factories.grant(project, gpus=3), by=lab.ops)
        plans.commit_plan(plan=plan, by=lab.ops, generation=plan.base_generation)
        move = plan.moves.first()
        Move.objects.filter(pk=move.pk).update(state="failed", failed_at=now, fault="node_refused")
        plans.propose_plan(grant=factories.grant(project, gpus=2), by=lab.ops)
        survey = Survey.objects.create(started_at=now, finished_at=now, nodes_asked=1, nodes_answered=0, gpus_seen=0)
        SurveyFault.objects.create(survey=survey, node=node, code="node_unreachable", at=now)
        factories.cordon(factories.node(f"ws-{number}", gpus=1))


ADDRESSES = [
    ("/reshuffle/", 22),
    ("/fleet/", 9),
    ("/fleet/?as=table", 10),
    ("/fleet/tiles.json", 5),
    ("/trail/", 11),
]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("address", "queries"), ADDRESSES)
def test_a_page_costs_the_same_with_one_row_and_with_three(
    client, lab, django_assert_num_queries, address, queries, count
):
    _rows(lab, count)
    client.force_login(lab.ops)
    client.get(address)

    with django_assert_num_queries(queries):
        answer = client.get(address)

    assert answer.status_code == 200


@pytest.mark.parametrize("gpus", [1, 3])
def test_a_node_and_a_plan_cost_the_same_however_many_gpus(client, lab, django_assert_num_queries, gpus):
    for gpu in factories.node("gpu-1.lab", gpus=gpus).gpus.all():
        factories.reading(gpu, "")
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=gpus), by=lab.ops)
    client.force_login(lab.ops)

    with django_assert_num_queries(14):
        client.get("/nodes/gpu-1.lab/")
    with django_assert_num_queries(11):
        client.get(f"/plans/{plan.public_id}/")
