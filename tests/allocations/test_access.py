"""Who may open a project's GPUs: its members with an account in the node's realm, and nobody a day longer."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from allocations import access, executor, leavers
from allocations.models import Membership, Person, ProjectAccess, UnixAccount
from inventory.models import Event, Node
from tests import factories
from tests.allocations.machines import Machines, committed
from tests.races import at_once

pytestmark = pytest.mark.django_db
YESTERDAY = timezone.now() - timedelta(days=1)


def account(person: Person, uid: int, *, realm: str = "", since=YESTERDAY, until=None) -> UnixAccount:
    return UnixAccount.objects.create(person=person, uid=uid, realm=realm, login=person.username, during=(since, until))


def lists() -> list[tuple[str, str, list[int], int]]:
    rows = ProjectAccess.objects.order_by("project__slug", "realm")
    return list(rows.values_list("project__slug", "realm", "unix_ids", "revision"))


@pytest.fixture
def accounts(lab):
    return [account(person, 1001 + place) for place, person in enumerate((lab.lead, lab.pitcher, lab.team_mate))]


@pytest.fixture
def held(lab, machines: Machines):
    """Two GPUs that protein folding got by a plan, as the nodes show."""
    cards = machines.rack(gpus=2)
    committed(factories.grant(lab.project, gpus=2), lab.ops)
    machines.settle()
    return cards


class TestLists:
    def test_a_list_has_the_members_who_have_an_account(self, lab, accounts):
        account(lab.stranger, 1009)

        access.refresh()

        assert lists() == [("protein-folding", "", [1001, 1002, 1003], 1)]

    def test_a_repeat_changes_nothing(self, lab, accounts):
        changed = [access.refresh(), access.refresh()]

        assert (changed, lists()[0][3]) == ([1, 0], 1)
        assert Event.objects.filter(verb="access.changed").count() == 1

    @pytest.mark.parametrize("realm", ["", "cluster-b"])
    def test_each_realm_has_its_own_list(self, lab, accounts, realm):
        account(lab.applied_lead, 2001, realm=realm)

        access.refresh()

        assert ("assistant", realm, [2001], 1) in lists()

    def test_a_member_who_goes_is_off_the_list_at_the_next_look(self, lab, accounts):
        access.refresh()
        Membership.objects.filter(person=lab.team_mate).update(during=(factories.LONG_AGO, timezone.now()))

        access.refresh()

        assert lists() == [("protein-folding", "", [1001, 1002], 2)]

    def test_an_account_that_ends_and_a_login_that_is_off_are_no_way_in(self, lab, accounts):
        UnixAccount.objects.filter(uid=1001).update(during=(YESTERDAY, timezone.now()))
        Person.objects.filter(pk=lab.pitcher.pk).update(is_active=False)

        access.refresh()

        assert lists() == [("protein-folding", "", [1003], 1)]

    def test_the_last_one_to_go_leaves_an_empty_list_and_not_the_old_one(self, lab, accounts):
        access.refresh()
        UnixAccount.objects.all().delete()

        access.refresh()

        assert lists() == [("protein-folding", "", [], 2)]

    def test_somebody_who_left_the_lab_is_on_no_list(self, lab, accounts):
        access.refresh()
        leavers.let_go(person=lab.pitcher, by=lab.admin, reason="New job.", leads_to={})

        access.refresh()

        assert lists() == [("protein-folding", "", [1001, 1003], 2)]

    def test_an_id_belongs_to_one_person_at_a_time(self, lab, accounts):
        with pytest.raises(IntegrityError), transaction.atomic():
            account(lab.stranger, 1001)

        account(lab.stranger, 1001, realm="cluster-b")

    def test_root_is_nobodys_account(self, lab):
        with pytest.raises(IntegrityError), transaction.atomic():
            account(lab.stranger, 0)


class TestOnNodes:
    def test_a_move_brings_the_list_along(self, lab, accounts, machines):
        access.refresh()
        cards = machines.rack(gpus=1)
        committed(factories.grant(lab.project, gpus=1), lab.ops)

        machines.settle()

        assert [machines.device(card).order.unix_ids for card in cards] == [(1001, 1002, 1003)]

    def test_a_leaver_goes_from_the_node_without_a_new_generation(self, lab, accounts, machines, held):
        before = [(machines.device(card).generation, machines.device(card).holder) for card in held]
        Membership.objects.filter(person=lab.pitcher).update(during=(factories.LONG_AGO, timezone.now()))
        access.refresh()

        told = executor.tell_access()
        machines.see()

        assert [machines.device(card).order.unix_ids for card in held] == [(1001, 1003)] * 2
        assert [(machines.device(card).generation, machines.device(card).holder) for card in held] == before
        assert (told, executor.tell_access()) == (2, 0)

    def test_a_node_that_was_silent_hears_it_when_it_is_back(self, lab, accounts, machines, held):
        access.refresh()
        Node.objects.update(silent_since=timezone.now(), fault="node_unreachable")
        silent = executor.tell_access()

        Node.objects.update(silent_since=None, fault="")

        assert (silent, executor.tell_access()) == (0, 2)

    def test_a_node_of_another_realm_gets_its_own_ids(self, lab, accounts, machines):
        account(lab.lead, 7001, realm="cluster-b")
        access.refresh()
        cards = machines.rack(gpus=1, labels={"realm": "cluster-b"})
        committed(factories.grant(lab.project, gpus=1), lab.ops)

        machines.settle()

        assert [machines.device(card).order.unix_ids for card in cards] == [(7001,)]

    def test_a_gpu_that_drains_is_left_to_its_move(self, lab, accounts, machines, held):
        access.refresh()
        for card in held:
            factories.reading(card, lab.project.slug, draining=True)

        assert executor.tell_access() == 0

    def test_a_gpu_in_other_hands_gets_no_list_of_the_one_it_is_meant_for(self, lab, accounts, machines, held):
        access.refresh()
        for card in held:
            factories.reading(card, "assistant")

        assert executor.tell_access() == 0


@pytest.mark.django_db(transaction=True)
def test_two_clocks_at_once_count_a_change_once(lab):
    account(lab.lead, 1001)

    outcomes = at_once(access.refresh, access.refresh)

    assert (sorted(outcomes), lists()) == ([0, 1], [("protein-folding", "", [1001], 1)])
