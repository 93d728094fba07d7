"""The health board: one cause is one line, with whom it hits, what to do, and how the pollers themselves do."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import queries
from inventory import queries as facts
from inventory.models import Cordon, Finding, Gpu, Node, Survey
from tests import factories


def finding(where, code="lost", *, severity="out", minutes=5, **fields):
    """An open finding of a node or a GPU."""
    now = timezone.now()
    place = {"gpu": where, "node": where.node} if isinstance(where, Gpu) else {"node": where}
    given = {"since": now - timedelta(minutes=minutes), "seen_at": now, "evidence": "the node says so"} | fields
    return Finding.objects.create(**place, code=code, severity=severity, **given)


def surveyed(*, seconds_ago=1, **fields):
    at = timezone.now() - timedelta(seconds=seconds_ago)
    given = {"nodes_asked": 2, "nodes_answered": 2, "gpus_seen": 16} | fields
    return Survey.objects.create(started_at=at - timedelta(seconds=2), finished_at=at, **given)


@pytest.fixture
def ops(client, lab):
    client.force_login(lab.ops)
    return client


def board(client):
    answer = client.get("/health/")
    assert answer.status_code == 200
    return answer


def lines(client):
    return [
        (line.code, line.place, line.nodes, line.gpus, line.severity) for line, _hits in board(client).context["lines"]
    ]


class TestCauses:
    def test_one_code_on_many_gpus_of_an_island_is_one_line(self, ops):
        nodes = [factories.node(f"gpu-{number}.lab", island="pod-1", gpus=4) for number in range(3)]
        for node in nodes:
            for gpu in node.gpus.all()[:2]:
                finding(gpu, "throttled", severity="warn", evidence="too hot")
        finding(factories.node("ws-1", gpus=1).gpus.get(), "throttled", severity="warn")

        assert lines(ops) == [("throttled", "pod-1", 3, 6, "warn"), ("throttled", "ws-1", 1, 1, "warn")]

    def test_worst_comes_first_then_what_touches_most(self, ops):
        one, two, three = (factories.node(f"gpu-{number}.lab", gpus=2) for number in range(3))
        finding(one, "persistence_off", severity="note")
        finding(two, "not_ready", severity="warn")
        finding(one.gpus.first(), "lost")
        finding(three, "silent")

        assert [line[0] for line in lines(ops)] == ["silent", "lost", "not_ready", "persistence_off"]

    def test_a_lost_card_is_one_cause_and_not_a_missing_card_too(self, ops):
        node = factories.node("gpu-1.lab", gpus=8)
        gpu = node.gpus.first()
        Gpu.objects.filter(pk=gpu.pk).update(lost_at=timezone.now())
        finding(gpu, "lost")
        finding(gpu, "not_answering")
        finding(node, "cards_missing", severity="warn", evidence="7 cards seen, 8 expected")

        assert lines(ops) == [("lost", "gpu-1.lab", 1, 1, "out")]

    def test_a_card_that_nobody_ever_saw_is_missing_all_the_same(self, ops):
        node = factories.node("gpu-1.lab", gpus=8, cards=7)
        finding(node, "cards_missing", severity="warn", evidence="7 cards seen, 8 expected")

        assert lines(ops) == [("cards_missing", "gpu-1.lab", 1, 0, "warn")]

    def test_nodes_that_are_no_longer_in_use_are_not_wrong(self, ops):
        node = factories.node("gpu-1.lab", gpus=1, retired_at=timezone.now())
        finding(node, "silent")

        assert lines(ops) == []

    def test_what_ended_stands_below_for_a_week_with_how_often(self, ops):
        gpu = factories.node("gpu-1.lab", gpus=1).gpus.get()
        for days in (1, 2, 9):
            finding(gpu, "xid", minutes=60 * 24 * 10, ended_at=timezone.now() - timedelta(days=days))

        page = board(ops)

        assert ([(line.code, line.times) for line in page.context["ended"]], page.context["lines"]) == (
            [("xid", 2)],
            [],
        )


class TestWhomItHits:
    def test_a_lost_gpu_names_its_project_and_what_is_left_of_the_promise(self, ops, lab):
        grant = factories.grant(lab.project, gpus=8)
        gpus = list(factories.node("gpu-1.lab", gpus=8).gpus.all())
        for gpu in gpus:
            factories.assignment(gpu, lab.project, grant=grant)
            factories.reading(gpu, lab.project.slug)
        finding(gpus[0])
        finding(gpus[1])

        page = board(ops)

        [(_line, [hit])] = page.context["lines"]
        assert (hit.slug, hit.gpus, hit.left, hit.promised) == ("protein-folding", 2, 6, 8)
        assert "6 of 8 promised work" in page.content.decode()

    def test_a_silent_node_hits_all_of_its_gpus(self, ops, lab):
        node = factories.node("gpu-1.lab", gpus=4)
        factories.assignment(node.gpus.first(), lab.project)
        finding(node, "silent")

        [(line, [hit])] = board(ops).context["lines"]

        assert (line.gpus, hit.slug, hit.gpus) == (4, "protein-folding", 1)

    def test_who_is_seen_on_a_gpu_that_is_nobodys_is_named(self, lab):
        gpu = factories.node("gpu-1.lab", gpus=1).gpus.get()
        factories.reading(gpu, "assistant")
        finding(gpu)

        assert queries.hit_by_cause() == {("lost", "gpu-1.lab"): [queries.Hit("assistant", "Assistant", None, 1, 0)]}


class TestPollers:
    def test_polling_that_stands_still_is_said_on_the_board_and_to_ops_on_every_page(self, client, lab):
        factories.node("gpu-1.lab", address="https://gpu-1.lab:8443")
        surveyed(seconds_ago=facts.stale_after_s() + 60)
        said = {}

        for login in ("ops", "lead"):
            client.force_login(lab.everyone[login])
            said[login] = ["Polling stands still" in client.get(page).content.decode() for page in ("/", "/health/")]

        assert said == {"ops": [True, True], "lead": [False, True]}

    def test_polling_that_goes_on_is_told_in_figures(self, ops):
        for number in reversed(range(4)):
            surveyed(seconds_ago=10 * number + 1)
        Node.objects.filter(pk=factories.node("gpu-1.lab", address="https://gpu-1.lab:8443").pk).update(
            answered_at=timezone.now()
        )

        polling = board(ops).context["polling"]

        assert (polling.stands_still, polling.asked, polling.answered, polling.survey_s) == (False, 8, 8, 2.0)
        assert [(part.nodes, part.answered, part.silent) for part in polling.slices] == [(1, 1, 0)]
        assert polling.kept_pct == 100

    def test_a_fleet_without_agents_does_not_stand_still(self, ops):
        factories.node("gpu-1.lab")

        page = board(ops)

        assert (page.context["polling"].stands_still, "Polling stands still" in page.content.decode()) == (False, False)

    def test_agents_that_work_otherwise_or_speak_the_first_protocol_are_named(self, ops):
        now, address = timezone.now(), "https://gpu-1.lab:8443"
        factories.node("as-wanted", address=address, answered_at=now, said_mode="enforce", agent_version="1.0")
        factories.node("otherwise", address=address, answered_at=now, said_mode="observe", agent_version="1.0")
        factories.node("old", address=address, answered_at=now)

        agents = board(ops).context["agents"]

        assert [node.name for node in agents.otherwise] == ["otherwise"]
        assert [node.name for node in agents.old] == ["old"]
        assert agents.versions == [("1.0", 2)]


class TestCordonFromTheBoard:
    def test_ops_come_to_the_form_with_the_nodes_filled_in(self, ops):
        for number in (1, 2):
            finding(factories.node(f"gpu-{number}.lab", island="pod-1"), "silent")
        [(line, _hits)] = board(ops).context["lines"]

        page = ops.get("/maintenance/", {"where": line.where})

        assert line.where == "gpu-1.lab, gpu-2.lab"
        assert page.context["form"].initial == {"where": "gpu-1.lab, gpu-2.lab"}

    def test_nobody_else_is_offered_it(self, client, lab):
        finding(factories.node("gpu-1.lab"), "silent")
        client.force_login(lab.lead)

        assert "/maintenance/?where=" not in board(client).content.decode()

    def test_what_is_cordoned_already_says_so(self, ops):
        node = factories.node("gpu-1.lab")
        factories.cordon(node)
        finding(node, "silent")

        [(line, _hits)] = board(ops).context["lines"]

        assert (line.is_cordoned, Cordon.objects.count()) == (True, 1)


@pytest.mark.parametrize("count", [1, 3])
def test_the_board_costs_the_same_with_one_row_and_with_three(ops, lab, django_assert_num_queries, count):
    for number in range(count):
        node = factories.node(f"gpu-{number}.lab", island=f"pod-{number}", gpus=2, address="https://a:1")
        for gpu in node.gpus.all():
            factories.assignment(gpu, factories.project(division=lab.research))
            finding(gpu)
        finding(node, "silent")
        finding(node, "xid", ended_at=timezone.now())
        factories.cordon(factories.node(f"ws-{number}"))
        surveyed()
    board(ops)

    with django_assert_num_queries(24):
        board(ops)
