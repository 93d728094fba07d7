"""Many rows brought into a state at once: each by exactly one caller."""

import pytest
from django.utils import timezone

from allocations.errors import WrongState
from allocations.models import Move
from tests import factories
from tests.allocations.machines import committed


@pytest.fixture
def moves(lab, machines) -> list[Move]:
    machines.rack(gpus=3)
    return list(committed(factories.grant(lab.project, gpus=3), lab.ops).moves.order_by("pk"))


def test_all_rows_are_in_the_new_state_in_the_database_and_in_memory(moves):
    at = timezone.now()

    won = Move.objects.advance_many(reversed(moves), Move.State.NOTICED, noticed_at=at)

    assert won == moves
    assert {(move.state, move.noticed_at) for move in moves} == {("noticed", at)}
    assert set(Move.objects.values_list("state", "noticed_at")) == {("noticed", at)}


def test_a_row_that_somebody_else_has_moved_on_is_left_alone_and_left_out(moves):
    Move.objects.filter(pk=moves[1].pk).update(state="failed", fault="gpu_lost")

    won = Move.objects.advance_many(moves, Move.State.NOTICED, noticed_at=timezone.now())

    assert won == [moves[0], moves[2]]
    assert (moves[1].state, moves[1].noticed_at) == ("proposed", None)
    assert list(Move.objects.order_by("pk").values_list("state", flat=True)) == ["noticed", "failed", "noticed"]


def test_rows_in_different_states_go_to_one_if_each_may(moves):
    Move.objects.advance_many(moves[:1], Move.State.NOTICED)

    won = Move.objects.advance_many(moves, Move.State.FAILED, fault="gpu_lost")

    assert [move.state for move in won] == ["failed"] * 3


def test_a_step_that_does_not_exist_changes_nothing(moves):
    Move.objects.advance_many(moves[:1], Move.State.NOTICED)

    with pytest.raises(WrongState):
        Move.objects.advance_many(moves, Move.State.AGREED)

    assert list(Move.objects.order_by("pk").values_list("state", flat=True)) == ["noticed", "proposed", "proposed"]


def test_no_rows_are_no_query(lab, django_assert_num_queries):
    with django_assert_num_queries(0):
        won = Move.objects.advance_many([], Move.State.NOTICED)

    assert won == []
