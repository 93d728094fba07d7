"""Changes signed by several people at once: each asked once is done once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, results
from allocations.changes import due, effects, signing
from allocations.models import Grant, GrantChange, ResultCheck
from inventory.models import Event
from tests import factories
from tests.allocations.acts import told
from tests.allocations.changes.acts import ask, policy, sign
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


@pytest.fixture
def grant(world):
    return factories.grant(world.project, gpus=32)


def signing_as(world, change, who, role, **more):
    row = fresh(change)
    return lambda: sign(world, row, who, role, **more)


def test_one_extension_approved_by_two_people_at_once_is_thirty_days(world, grant, monkeypatch):
    """Seen on ColdFront 1.1.10: +30 approved by two people at once was +60."""
    change = ask(world, grant)
    monkeypatch.setattr(signing, "_approve", Window().before(signing._approve))
    monkeypatch.setattr(signing.turns, "require_mandate", Window().after(signing.turns.require_mandate))
    sign(world, change, world.chief)
    second = factories.holder("research-head", "second-head")

    outcomes = at_once(
        signing_as(world, change, world.head, "research-head"), signing_as(world, change, second, "research-head")
    )

    assert kinds(outcomes) == ["ChangeSignOff", "Stale"]
    assert fresh(grant).ends_at == grant.ends_at + 30 * DAY
    assert Event.objects.filter(verb="change.approved").count() == 1


def test_the_last_two_signers_at_once_do_not_both_believe_that_the_other_is_missing(world, grant, monkeypatch):
    change = ask(world, grant)
    monkeypatch.setattr(signing.turns, "require_mandate", Window().after(signing.turns.require_mandate))

    outcomes = at_once(
        signing_as(world, change, world.chief, "chief-scientist"),
        signing_as(world, change, world.head, "research-head"),
    )

    assert kinds(outcomes) == ["ChangeSignOff", "ChangeSignOff"]
    assert (fresh(change).state, fresh(grant).ends_at) == ("approved", grant.ends_at + 30 * DAY)


def test_two_extensions_of_two_grants_do_not_both_get_the_last_room(world, monkeypatch):
    """Each fits alone in the 40 that are Research's later: 30 and 20."""
    one = factories.grant(world.project, gpus=30)
    two = factories.grant(world.project, gpus=20, starts_at=one.starts_at, ends_at=one.ends_at)
    factories.split({"": {"research": 40, "applied": 60}}, starts_at=one.ends_at)
    asked = [ask(world, one, days=10), ask(world, two, days=10)]
    for change in asked:
        sign(world, change, world.chief)
    monkeypatch.setattr(effects.grants, "require_room", Window().after(effects.grants.require_room))

    outcomes = at_once(*(signing_as(world, change, world.head, "research-head") for change in asked))

    assert kinds(outcomes) == ["ChangeSignOff", "OverShare"]


def test_approved_and_declined_at_once_has_one_outcome(world, grant, monkeypatch):
    """quanwangniuniu/marketing-simplified PR#755."""
    change = ask(world, grant)
    sign(world, change, world.chief)
    second = factories.holder("research-head", "second-head")
    monkeypatch.setattr(signing.turns, "require_mandate", Window().after(signing.turns.require_mandate))

    outcomes = at_once(
        signing_as(world, change, world.head, "research-head"),
        signing_as(world, change, second, "research-head", verdict="decline", reason="No."),
    )

    assert kinds(outcomes) == ["ChangeSignOff", "Stale"]
    assert len(told("change.approved") + told("change.declined")) == 1


def test_two_ticks_at_once_give_one_day(world, grant, monkeypatch):
    policy(world, "extension", "research-head", keeps_while_asked=True)
    ask(world, grant)
    Grant.objects.update(ends_at=grant.starts_at + timedelta(minutes=30))
    ends_at = fresh(grant).ends_at
    monkeypatch.setattr(due, "lock_row", Window().before(due.lock_row))

    at_once(changes.tend, changes.tend)

    assert fresh(grant).ends_at == ends_at + DAY
    assert Event.objects.filter(verb="grant.kept").count() == 1
    assert GrantChange.objects.get().takes_effect_at == ends_at


def test_two_clocks_at_once_ask_once_what_came_of_it(world, monkeypatch):
    pitch = factories.submitted(world.project, world.pitcher)
    type(pitch).objects.filter(pk=pitch.pk).update(check_on=timezone.now().date() - DAY, expected_result="A result.")
    factories.grant(world.project, pitch=pitch)
    window, checks = Window(), ResultCheck.objects
    monkeypatch.setattr(checks, "create", window.before(checks.create))

    outcomes = at_once(results.tend, results.tend)

    assert (outcomes, window.met, checks.count()) == ([None, None], False, 1)
    assert told("result.asked") == ["lead", "pitcher"]
