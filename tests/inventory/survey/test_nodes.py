"""Nodes over surveys: silence begins once, ends once, and revokes nothing; as many statements for one as for three."""

from datetime import datetime, timedelta

import pytest

from inventory.errors import BadAnswer, BadToken, UnknownDriver
from inventory.models import Event, Node, Reading, Survey, SurveyFault
from tests import factories
from tests.inventory.survey.seen import NOON, card, later, said, silent, survey

pytestmark = pytest.mark.django_db


@pytest.fixture
def node():
    return factories.node("n1", gpus=1, cards=0)


def events():
    return list(Event.objects.filter(verb__startswith="node.").order_by("pk").values_list("verb", "actor"))


def faults():
    return list(SurveyFault.objects.order_by("pk").values_list("node__name", "code", "detail", "at"))


def test_a_node_that_answers_says_when_and_which_boot(node):
    survey(said(node, card()))

    node.refresh_from_db()
    assert (node.answered_at, node.boot_id, node.silent_since, node.fault) == (NOON, "boot-1", None, "")


def test_a_silence_begins_with_one_event_and_one_fault_row(node):
    survey(said(node, card()))
    for seconds in (10, 20, 30):
        made = survey(silent(node), at=later(seconds))

    node.refresh_from_db()
    assert (node.answered_at, node.silent_since, node.fault) == (NOON, later(10), "node_unreachable")
    assert faults() == [("n1", "node_unreachable", "no answer in time", later(10))]
    assert events() == [("node.silent", "survey")]
    assert (made.nodes_asked, made.nodes_answered, made.gpus_seen) == (1, 0, 0)
    assert Reading.objects.get().requested_at == NOON


def test_another_reason_for_the_silence_is_another_fault_row_and_the_same_silence(node):
    survey(silent(node), at=later(10))
    survey(silent(node, BadToken("n1", "the node does not accept the portal's token")), at=later(20))

    node.refresh_from_db()
    assert (node.silent_since, node.fault) == (later(10), "bad_token")
    assert [(code, at) for _name, code, _detail, at in faults()] == [
        ("node_unreachable", later(10)),
        ("bad_token", later(20)),
    ]
    assert events() == [("node.silent", "survey")]


def test_a_silence_ends_with_an_event_that_says_how_long_it_was(node):
    survey(silent(node), at=later(10))

    survey(said(node, card(), at=later(70)), at=later(70))

    node.refresh_from_db()
    assert (node.silent_since, node.fault, node.answered_at) == (None, "", later(70))
    ended = Event.objects.get(verb="node.answers")
    assert datetime.fromisoformat(ended.facts["silent_since"]) == later(10)
    assert ended.facts["fault"] == "node_unreachable"


def test_silence_is_not_believed_when_a_later_survey_has_an_answer(node):
    survey(said(node, card(), at=later(10)), at=later(10))

    survey(silent(node), at=later(5))

    node.refresh_from_db()
    assert node.silent_since is None
    assert faults() == []


def test_one_bad_node_costs_the_others_nothing(node):
    others = [factories.node(f"n{number}", gpus=1, cards=0) for number in (2, 3)]
    survey(
        silent(others[0], BadAnswer("n2", "x" * 400)),
        said(node, card("GPU-a")),
        silent(others[1], UnknownDriver("n3", "no driver is called 'x'")),
    )

    assert Reading.objects.count() == 1
    assert [(name, code, len(detail)) for name, code, detail, _at in faults()] == [
        ("n2", "bad_answer", 300),
        ("n3", "unknown_driver", 23),
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_a_survey_takes_as_many_statements_for_three_nodes_as_for_one(count, django_assert_num_queries):
    nodes = [factories.node(f"n{number}", gpus=8, cards=0) for number in range(count)]
    quiet = [factories.node(f"quiet-{number}", gpus=8, cards=0) for number in range(count)]

    def answers(at):
        shown = [said(node, *(card(f"GPU-{node.pk}-{slot}", slot) for slot in range(8)), at=at) for node in nodes]
        return [*shown, *map(silent, quiet)]

    # Savepoint and release, lock, known GPUs, strangers, survey, models, cards, their events, readings (3), findings,
    # nodes, faults, and the events of the silence.
    with django_assert_num_queries(16):
        survey(*answers(NOON))
    # The same nodes again: lock, known GPUs, survey, readings (3), findings, nodes.
    with django_assert_num_queries(10):
        survey(*answers(later(10)), at=later(10))
    assert Reading.objects.filter(requested_at=later(10)).count() == 8 * count


def test_a_survey_says_when_it_began_and_ended(node):
    survey(said(node, card()), silent(factories.node("n2", cards=0)))

    made = Survey.objects.get()
    assert (made.started_at, made.nodes_asked, made.nodes_answered, made.gpus_seen) == (NOON, 2, 1, 1)
    assert made.finished_at > NOON + timedelta(days=1)


def test_a_node_renamed_in_the_portal_keeps_its_cards(node):
    """rancher/k3os#159."""
    survey(said(node, card()))
    Node.objects.update(name="renamed")

    survey(said(node, card(), at=later(10)), at=later(10))

    assert Reading.objects.get().requested_at == later(10)
