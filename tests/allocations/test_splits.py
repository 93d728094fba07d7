"""The split: two signatures by two people, in force by itself on its day."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from allocations import queries, splits
from allocations.errors import BadTerms, NobodyToSign, NotAllowed, Stale, WrongState
from allocations.models import Policy, RoleHolder, Share, Split, SplitSignature
from inventory.models import Event
from tests import factories
from tests.allocations.acts import told, verbs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

HALVES = {"": {"research": Decimal(50), "applied": Decimal(50)}}
TENTH = datetime(2027, 3, 10, tzinfo=UTC)


def propose(lab, *, by=None, starts_at=TENTH, percents=HALVES):
    return splits.propose_split(by=by or lab.ceo, starts_at=starts_at, percents=percents, reason="More for research.")


def in_force(at):
    split = queries.effective_split(at)
    return split and queries.percents_of(split)[""]["research"]


def test_both_signatures_bring_it_into_force_on_its_day(world, time_machine):
    split = propose(world)
    splits.sign_split(split=split, by=world.ceo)
    assert (split.state, in_force(TENTH)) == ("proposed", 60)

    splits.sign_split(split=split, by=world.ceo_apps)

    assert (split.state, split.starts_at) == ("signed", TENTH)
    assert in_force(TENTH - timedelta(seconds=1)) == 60
    assert in_force(TENTH) == 50
    assert verbs(split) == ["split.proposed", "split.signed", "split.signed"]
    proposed = Event.objects.get(verb="split.proposed").facts
    assert (proposed["before"], proposed["after"]) == (
        {"": {"research": "60.00", "applied": "40.00"}},
        {"": {"research": "50.00", "applied": "50.00"}},
    )
    assert (told("split.proposed"), told("split.signed")) == (["ceo", "ceo-applications"], ["ceo", "ceo-applications"])


def test_a_last_signature_after_its_day_brings_it_into_force_then_and_not_before(world, time_machine):
    split = propose(world)
    splits.sign_split(split=split, by=world.ceo)
    time_machine.move_to(TENTH + timedelta(days=2), tick=False)

    splits.sign_split(split=split, by=world.ceo_apps)

    assert split.starts_at == TENTH + timedelta(days=2)
    assert in_force(TENTH + timedelta(days=1)) == 60


def test_the_last_signature_makes_and_locks_the_share_of_every_model(world):
    factories.model("A100")
    split = propose(world)
    splits.sign_split(split=split, by=world.ceo)
    splits.sign_split(split=split, by=world.ceo_apps)

    assert Share.objects.count() == 4  # two models, two divisions


def test_one_person_with_both_roles_does_not_sign_twice(world):
    factories.holder("ceo-applications", who=world.ceo)
    split = propose(world)
    splits.sign_split(split=split, by=world.ceo, role=world.role("ceo"))

    with pytest.raises(NotAllowed):
        splits.sign_split(split=split, by=world.ceo, role=world.role("ceo-applications"))

    assert (SplitSignature.objects.count(), list(queries.splits_waiting_for(world.ceo))) == (1, [])


def test_a_second_holder_of_the_same_role_is_no_second_signature(world):
    second = factories.holder("ceo", "second-ceo")
    split = propose(world)
    splits.sign_split(split=split, by=world.ceo)

    with pytest.raises(Stale):
        splits.sign_split(split=split, by=second)

    assert (SplitSignature.objects.count(), split.state) == (1, "proposed")


def test_the_same_signature_pressed_twice_is_one(world):
    split = propose(world)
    splits.sign_split(split=split, by=world.ceo)

    splits.sign_split(split=split, by=world.ceo)

    assert (SplitSignature.objects.count(), Event.objects.filter(verb="split.signed").count()) == (1, 1)


@pytest.mark.parametrize("login", ["chief-scientist", "research-head", "ops", "auditor", "admin", "lead", "stranger"])
def test_nobody_else_proposes_signs_or_withdraws_one(world, login):
    split = propose(world)
    person = world.everyone[login]

    for attempt in (
        lambda: propose(world, by=person),
        lambda: splits.sign_split(split=split, by=person),
        lambda: splits.withdraw_split(split=split, by=person),
    ):
        with pytest.raises(NotAllowed) as refused:
            attempt()

        assert refused.value.facts["who"][-2:] == ["CEO of applications", "CEO"]
    assert list(Split.objects.filter(state="proposed")) == [split]


def test_who_has_to_sign_sees_it_waiting_until_then(world):
    split = propose(world)
    assert list(queries.splits_waiting_for(world.ceo)) == [split]
    splits.sign_split(split=split, by=world.ceo)

    assert list(queries.splits_waiting_for(world.ceo)) == []
    assert list(queries.splits_waiting_for(world.ceo_apps)) == [split]
    assert list(queries.splits_waiting_for(world.chief)) == []


@pytest.mark.parametrize(
    ("percents", "facts"),
    [
        ({}, {"model": ""}),
        ({"H100": {"research": Decimal(50)}}, {"model": ""}),
        ({"": {"research": Decimal(60), "applied": Decimal(41)}}, {"model": "", "total": Decimal(101)}),
        ({"": {"research": Decimal(-1)}}, {"model": "", "division": "research"}),
        ({"": {"research": Decimal("33.333")}}, {"model": "", "division": "research"}),
        ({"": {"research": Decimal("NaN")}}, {"model": "", "division": "research"}),
        ({"": {"research": "half"}}, {"model": "", "division": "research"}),
        ({"": {"robotics": Decimal(1)}}, {"model": "", "division": "robotics"}),
        ({**HALVES, "B300": {"research": Decimal(1)}}, {"model": "B300"}),
    ],
)
def test_percents_that_make_no_split_are_refused(world, percents, facts):
    with pytest.raises(BadTerms) as refused:
        propose(world, percents=percents)

    assert refused.value.facts == {"field": "percents", **facts}
    assert Split.objects.filter(state="proposed").count() == 0


def test_it_begins_today_at_the_earliest(world, noon):
    midnight = noon.replace(hour=0)
    with pytest.raises(BadTerms) as refused:
        propose(world, starts_at=midnight - timedelta(seconds=1))
    split = propose(world, starts_at=midnight)
    splits.sign_split(split=split, by=world.ceo)
    splits.sign_split(split=split, by=world.ceo_apps)

    assert (refused.value.facts["field"], split.starts_at) == ("starts_at", noon)


def test_a_withdrawn_split_is_not_signed_and_a_signed_one_not_withdrawn(world):
    withdrawn, signed = propose(world), propose(world)
    splits.withdraw_split(split=withdrawn, by=world.ceo_apps, reason="Wrong day.")
    splits.sign_split(split=signed, by=world.ceo)
    splits.sign_split(split=signed, by=world.ceo_apps)

    with pytest.raises(WrongState):
        splits.sign_split(split=withdrawn, by=world.ceo)
    with pytest.raises(WrongState):
        splits.withdraw_split(split=signed, by=world.ceo)

    assert (withdrawn.state, signed.state) == ("withdrawn", "signed")


def test_without_a_policy_or_a_holder_nobody_proposes_one(world, noon):
    RoleHolder.objects.filter(person=world.ceo_apps).update(during=(factories.LONG_AGO, noon))
    with pytest.raises(NobodyToSign) as no_holder:
        propose(world)
    Policy.objects.update(during=(factories.LONG_AGO, noon))
    with pytest.raises(NobodyToSign) as no_policy:
        propose(world)

    assert (no_holder.value.facts, no_policy.value.facts) == ({"role": "ceo-applications"}, {})
