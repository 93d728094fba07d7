"""Use without a right: one row a user, GPU and day, and nobody accused by a node that does not know."""

import pytest

from inventory.drivers.base import ProcessSeen
from inventory.models import Event, Intrusion
from tests import factories
from tests.inventory.survey.seen import card, later, said, survey

pytestmark = pytest.mark.django_db


@pytest.fixture
def node():
    return factories.node("n1", gpus=1, cards=0)


def process(user="eve", *, allowed=False, name="python3", pid=7):
    return ProcessSeen(pid, user, 1_700_000_000.0, 512, 1005, name, allowed=allowed)


def poll(node, *processes, at=0, holder="apollo", mode="shadow"):
    survey(said(node, card(holder=holder, processes=processes), at=later(at), agent="2.0", mode=mode), at=later(at))


def rows():
    fields = ("user", "uid", "holder", "mode", "names", "first_at", "last_at", "readings")
    return list(Intrusion.objects.order_by("first_at", "user").values_list(*fields))


def test_a_user_who_may_not_is_one_row_however_often_they_are_seen(node):
    poll(node, process(), process(pid=8))
    poll(node, process(), process(name="bash", pid=9), at=10)
    poll(node, at=20)
    poll(node, process(), at=3600)

    assert rows() == [("eve", 1005, "apollo", "shadow", ["bash", "python3"], later(0), later(3600), 3)]
    assert list(Event.objects.filter(verb="gpu.intruded").values_list("facts__user", flat=True)) == ["eve"]


@pytest.mark.parametrize("allowed", [True, None], ids=["may", "the node does not know"])
def test_nobody_else_is_accused(node, allowed):
    poll(node, process(allowed=allowed))

    assert rows() == []


def test_another_day_another_user_and_another_holder_are_rows_of_their_own(node):
    poll(node, process())
    poll(node, process("mallory"), at=10)
    poll(node, process(), at=20, holder="borealis")
    poll(node, process(), at=86_400)

    assert [(row[0], row[2], row[5]) for row in rows()] == [
        ("eve", "apollo", later(0)),
        ("mallory", "apollo", later(10)),
        ("eve", "borealis", later(20)),
        ("eve", "apollo", later(86_400)),
    ]


def test_many_programs_are_cut_at_twenty(node):
    poll(node, *(process(name=f"job-{number:02}", pid=100 + number) for number in range(15)))
    poll(node, *(process(name=f"job-{number:02}", pid=100 + number) for number in range(10, 30)), at=10)

    assert len(rows()[0][4]) == 20
