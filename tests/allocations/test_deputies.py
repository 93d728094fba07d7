"""Deputies: who may set one, what it gives while it lasts, and what it never gives."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from allocations import deputies, projects, queries, rules, splits, turns
from allocations.errors import BadTerms, NotAllowed, Stale, WrongState
from allocations.models import Deputy, Pitch, SignOff, Split, SplitSignature
from allocations.pitches import signing, writing
from inventory.models import Event
from tests import factories
from tests.allocations.acts import approve, decline, submit, told, verbs
from tests.races import Window, at_once, kinds

DAY = timedelta(days=1)


def name(lab, principal, deputy, role, *, by=None, starts_in=timedelta(), days=7, reason="On leave.") -> Deputy:
    now = timezone.now()
    return deputies.set_deputy(
        principal=principal, deputy=deputy, role=lab.role(role), starts_at=now + starts_in,
        until=now + starts_in + days * DAY, by=by or principal, reason=reason,
    )  # fmt: skip


def end(row, by, reason="Back early.") -> Deputy:
    return deputies.end_deputy(deputy_row=row, by=by, reason=reason)


def titles(rows) -> list[str]:
    return [row.title for row in rows]


@pytest.fixture
def hugo(lab):
    """Staff without any role of their own."""
    return factories.person("hugo", first_name="Hugo")


@pytest.mark.django_db
class TestSetting:
    @pytest.mark.parametrize("who", ["chief", "second", "admin"])
    def test_the_holder_a_fellow_holder_or_an_admin_sets_a_deputy(self, lab, hugo, who):
        second = factories.holder("chief-scientist", "second-chief")
        by = second if who == "second" else getattr(lab, who)

        row = name(lab, lab.chief, hugo, "chief-scientist", by=by)

        assert (row.principal, row.deputy, row.set_by, row.reason) == (lab.chief, hugo, by, "On leave.")
        assert verbs(row) == ["deputy.set"]
        assert told("deputy.set") == sorted({"hugo", "chief-scientist", "second-chief"} - {by.username})

    @pytest.mark.parametrize("login", ["research-head", "ceo", "ops", "auditor", "pitcher"])
    def test_nobody_else_sets_one(self, lab, hugo, login):
        with pytest.raises(NotAllowed):
            name(lab, lab.chief, hugo, "chief-scientist", by=lab.everyone[login])

        assert Deputy.objects.count() == 0

    def test_nobody_makes_themselves_a_deputy(self, lab):
        """An admin would sign for others by the own hand alone (gravitational/teleport#13416)."""
        with pytest.raises(NotAllowed):
            name(lab, lab.chief, lab.admin, "chief-scientist", by=lab.admin)
        with pytest.raises(BadTerms) as refused:
            name(lab, lab.chief, lab.chief, "chief-scientist")

        assert (refused.value.facts["field"], Deputy.objects.count()) == ("deputy", 0)

    def test_the_database_knows_no_deputy_of_oneself_and_no_two_at_once(self, lab, hugo):
        row = name(lab, lab.chief, hugo, "chief-scientist")
        same = {"principal": lab.chief, "role": row.role, "during": row.during, "set_by": lab.chief}

        for deputy in (lab.chief, lab.stranger):
            with pytest.raises(IntegrityError), transaction.atomic():
                Deputy.objects.create(deputy=deputy, **same)

    @pytest.mark.parametrize(
        ("days", "starts_in", "field"),
        [(7, -DAY, "starts_on"), (0, DAY, "until_on"), (-2, DAY, "until_on"), (400, DAY, "until_on")],
    )
    def test_a_period_begins_today_or_later_and_ends_within_a_year(self, lab, hugo, days, starts_in, field):
        with pytest.raises(BadTerms) as refused:
            name(lab, lab.chief, hugo, "chief-scientist", days=days, starts_in=starts_in)

        assert refused.value.facts["field"] == field

    def test_a_period_that_overlaps_is_refused_and_the_next_one_is_not(self, lab, hugo):
        name(lab, lab.chief, hugo, "chief-scientist", days=7)

        with pytest.raises(BadTerms) as refused:
            name(lab, lab.chief, lab.stranger, "chief-scientist", starts_in=6 * DAY)
        later = name(lab, lab.chief, lab.stranger, "chief-scientist", starts_in=8 * DAY)

        assert refused.value.facts["field"] == "starts_on"
        assert list(queries.deputies_now_and_later())[-1] == later

    @pytest.mark.parametrize("role", ["ops", "auditor", "admin"])
    def test_only_roles_that_sign_have_deputies(self, lab, hugo, role):
        with pytest.raises(BadTerms) as refused:
            name(lab, lab.everyone[role], hugo, role)

        assert refused.value.facts["field"] == "role"

    def test_only_a_holder_of_the_role_has_a_deputy_for_it(self, lab, hugo):
        with pytest.raises(BadTerms) as refused:
            name(lab, lab.head, hugo, "chief-scientist", by=lab.admin)

        assert refused.value.facts["field"] == "principal"

    def test_two_set_at_once_are_one(self, transactional_db, lab, hugo, monkeypatch):
        monkeypatch.setattr(deputies, "_check_free", Window().after(deputies._check_free))

        outcomes = at_once(
            lambda: name(lab, lab.chief, hugo, "chief-scientist"),
            lambda: name(lab, lab.chief, lab.stranger, "chief-scientist", by=lab.admin),
        )

        assert kinds(outcomes) == ["BadTerms", "Deputy"]
        assert Deputy.objects.count() == 1


@pytest.mark.django_db
class TestEnding:
    def test_it_ends_at_once_and_says_so(self, world, hugo):
        pitch = submit(world)
        row = name(world, world.chief, hugo, "chief-scientist")

        end(row, world.chief)

        assert titles(queries.queue_of(hugo)) == []
        assert verbs(row) == ["deputy.set", "deputy.ended"]
        assert told("deputy.ended") == ["hugo"]
        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")

    def test_one_that_had_not_begun_never_begins_and_its_days_are_free(self, lab, hugo):
        row = name(lab, lab.chief, hugo, "chief-scientist", starts_in=3 * DAY)

        end(row, lab.admin)

        assert list(queries.deputies_now_and_later()) == []
        assert name(lab, lab.chief, lab.stranger, "chief-scientist", starts_in=3 * DAY).pk

    def test_what_is_over_is_not_ended_again_and_no_stranger_ends_it(self, lab, hugo):
        row = name(lab, lab.chief, hugo, "chief-scientist")

        with pytest.raises(NotAllowed):
            end(row, hugo)
        with pytest.raises(BadTerms):
            end(row, lab.chief, reason=" ")
        end(row, lab.chief)
        with pytest.raises(WrongState):
            end(row, lab.chief)


@pytest.mark.django_db
class TestSigning:
    def test_open_items_and_new_ones_are_the_deputys(self, world, hugo):
        """microsoft/powercat-business-approvals-kit#60: what already waited stayed with the person on leave."""
        submit(world, title="Waited before")
        name(world, world.chief, hugo, "chief-scientist")
        submit(world, title="Came later")

        assert titles(queries.queue_of(hugo)) == ["Waited before", "Came later"]
        assert titles(queries.pitches_visible_to(hugo).order_by("pk")) == ["Waited before", "Came later"]
        assert told("pitch.submitted") == [
            "chief-scientist", "chief-scientist", "hugo", "research-head", "research-head",
        ]  # fmt: skip

    def test_the_signature_names_both(self, world, hugo):
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        signed = approve(world, pitch, hugo, "chief-scientist")

        assert (signed.person, signed.deputy_for, signed.signer) == (hugo, world.chief, "Hugo for chief-scientist")
        facts = Event.objects.get(verb="sign_off.given").facts
        assert (facts["deputy_for"], facts["role"]) == ("chief-scientist", "chief-scientist")

    def test_a_deputy_signs_last_and_the_grant_is_there(self, world, hugo):
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        approve(world, pitch, world.head, "research-head")
        approve(world, pitch, hugo, "chief-scientist")

        pitch.refresh_from_db()
        assert (pitch.state, pitch.grant.issued_by) == (Pitch.State.GRANTED, hugo)

    def test_a_deputy_declines_with_a_reason(self, world, hugo):
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        decline(world, pitch, hugo, "chief-scientist")

        pitch.refresh_from_db()
        assert (pitch.state, pitch.decided_by) == (Pitch.State.DECLINED, hugo)

    def test_the_deputys_own_pitch_is_signed_by_others(self, world):
        """gravitational/teleport#13416: nobody decides an own request by any way."""
        name(world, world.chief, world.pitcher, "chief-scientist")
        pitch = submit(world)

        assert titles(queries.queue_of(world.pitcher)) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, world.pitcher, "chief-scientist")

    def test_the_principals_own_pitch_is_not_signed_through_the_deputy(self, world, hugo):
        """google/grr#389: an approval in the name of who asked is no approval."""
        factories.holder("chief-scientist", "second-chief")
        factories.member(world.project, world.chief)
        name(world, world.chief, hugo, "chief-scientist")
        pitch = submit(world, by=world.chief)

        assert titles(queries.queue_of(hugo)) == []
        assert titles(queries.pitches_visible_to(hugo)) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")
        assert approve(world, pitch, world.everyone["research-head"], "research-head").deputy_for is None

    def test_one_of_each_role_stays_two_people(self, world):
        """gravitational/teleport#36854: the research head is not the chief scientist, too."""
        pitch = submit(world)
        name(world, world.chief, world.head, "chief-scientist")

        approve(world, pitch, world.head, "research-head")

        assert titles(queries.queue_of(world.head)) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, world.head, "chief-scientist")

    def test_principal_and_deputy_do_not_both_count(self, world, hugo):
        """gravitational/teleport#36854: who holds both roles would count twice by the deputy's hand."""
        factories.holder("research-head", who=world.chief)
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        approve(world, pitch, hugo, "chief-scientist")

        assert titles(queries.queue_of(world.chief)) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, world.chief, "research-head")

    def test_a_deputy_does_not_count_beside_the_principal_who_signed_otherwise(self, world, hugo):
        factories.holder("research-head", who=world.chief)
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        approve(world, pitch, world.chief, "research-head")

        assert titles(queries.queue_of(hugo)) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")

    def test_an_own_role_goes_before_that_of_another(self, world):
        second = factories.holder("chief-scientist", "second-chief")
        name(world, world.chief, second, "chief-scientist")
        pitch = submit(world)

        assert approve(world, pitch, second, "chief-scientist").deputy_for is None

    def test_when_the_principal_signs_the_deputys_turn_is_gone(self, world, hugo):
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        approve(world, pitch, world.chief, "chief-scientist")

        assert titles(queries.queue_of(hugo)) == []
        with pytest.raises(Stale):
            approve(world, pitch, hugo, "chief-scientist")

    def test_the_power_ends_with_the_period_between_look_and_signature(self, noon, world, hugo, time_machine):
        pitch = submit(world)
        row = name(world, world.chief, hugo, "chief-scientist")
        assert titles(queries.queue_of(hugo)) == [pitch.title]

        time_machine.move_to(row.during.upper, tick=False)

        assert queries.mandates_of(hugo) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")

    def test_the_power_lasts_to_the_last_second(self, noon, world, hugo, time_machine):
        pitch = submit(world)
        row = name(world, world.chief, hugo, "chief-scientist")

        time_machine.move_to(row.during.upper - timedelta(seconds=1), tick=False)

        assert approve(world, pitch, hugo, "chief-scientist").deputy_for == world.chief

    @pytest.mark.parametrize("how", ["role ended", "principal left", "deputy left"])
    def test_the_power_ends_when_a_role_or_an_account_does(self, world, hugo, how):
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")

        if how == "role ended":
            projects.end_role(role=world.role("chief-scientist"), person=world.chief, by=world.admin)
        else:
            leaver = world.chief if how == "principal left" else hugo
            leaver.is_active = False
            leaver.save()

        assert titles(queries.queue_of(hugo)) == []
        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")

    def test_a_period_that_ends_while_the_pitch_is_locked_gives_no_signature(self, world, hugo, monkeypatch):
        pitch = submit(world)
        row = name(world, world.chief, hugo, "chief-scientist")
        lock_row = signing.lock_row

        def waits_until_it_is_over(locked) -> None:
            lock_row(locked)
            Deputy.objects.filter(pk=row.pk).update(during=(row.during.lower, timezone.now()))

        monkeypatch.setattr(signing, "lock_row", waits_until_it_is_over)

        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")
        assert SignOff.objects.count() == 0

    def test_two_who_stand_in_for_each_other_gain_only_each_others_role(self, world):
        """A deputy of a deputy does not inherit: the resolution asks holders only, so that no circle has an end."""
        name(world, world.chief, world.head, "chief-scientist")
        name(world, world.head, world.chief, "research-head")
        pitch = submit(world)

        approve(world, pitch, world.chief, "research-head")

        assert [(each.role.slug, each.is_own) for each in queries.mandates_of(world.chief)] == [
            ("chief-scientist", True), ("research-head", False),
        ]  # fmt: skip
        for person in (world.chief, world.head):
            assert titles(queries.queue_of(person)) == []
            with pytest.raises(NotAllowed):
                approve(world, pitch, person, "chief-scientist")

    def test_a_deputys_deputy_inherits_nothing(self, world, hugo):
        pitch = submit(world)
        name(world, world.chief, world.head, "chief-scientist")
        name(world, world.head, hugo, "research-head")

        assert [each.role.slug for each in queries.mandates_of(hugo)] == ["research-head"]
        with pytest.raises(NotAllowed):
            approve(world, pitch, hugo, "chief-scientist")

    def test_a_deputyship_gives_signing_and_nothing_else(self, world, hugo):
        pitch = submit(world)
        grant = factories.grant(world.project)
        name(world, world.chief, hugo, "chief-scientist")
        rows = {"set_terms": world.project, "end_grant": grant, "wind_down": world.project, "set_deputy": Deputy(
            principal=world.chief, role=world.role("chief-scientist"))}  # fmt: skip

        allowed = {action for action in ("sign_pitch", "see_pitch") if rules.can(hugo, action, pitch)}
        others = ("administer", "propose_plan", "commit_plan", "cordon_node", "propose_split", "see_trail",
                  "see_deputies", "create_project", "back_date")  # fmt: skip

        assert allowed == {"sign_pitch", "see_pitch"}
        assert [action for action in others if rules.can(hugo, action)] == []
        assert [action for action, row in rows.items() if rules.can(hugo, action, row)] == []
        assert list(queries.projects_visible_to(hugo)) == list(queries.grants_visible_to(hugo)) == []

    def test_a_deputy_still_reads_what_that_deputy_signed(self, world, hugo):
        pitch = submit(world)
        row = name(world, world.chief, hugo, "chief-scientist")
        approve(world, pitch, hugo, "chief-scientist")

        end(row, world.chief)

        assert titles(queries.pitches_visible_to(hugo)) == [pitch.title]


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_principal_and_deputy_sign_at_once_and_one_signature_stands(self, world, hugo, monkeypatch):
        pitch = submit(world)
        name(world, world.chief, hugo, "chief-scientist")
        monkeypatch.setattr(turns, "require_turn", Window().after(turns.require_turn))

        outcomes = at_once(
            lambda: approve(world, Pitch.objects.get(pk=pitch.pk), world.chief, "chief-scientist"),
            lambda: approve(world, Pitch.objects.get(pk=pitch.pk), hugo, "chief-scientist"),
        )

        assert kinds(outcomes) == ["SignOff", "Stale"]
        assert SignOff.objects.count() == 1

    def test_an_end_waits_for_the_signature_that_is_being_given(self, world, hugo, monkeypatch):
        pitch = submit(world)
        row = name(world, world.chief, hugo, "chief-scientist")
        window = Window()
        monkeypatch.setattr(writing, "write_sign_off", window.before(writing.write_sign_off))
        monkeypatch.setattr(deputies, "_record", window.before(deputies._record))

        signed, ended = at_once(
            lambda: approve(world, Pitch.objects.get(pk=pitch.pk), hugo, "chief-scientist"),
            lambda: end(Deputy.objects.get(pk=row.pk), world.chief),
        )

        assert (window.met, type(ended)) == (False, Deputy)
        assert isinstance(signed, NotAllowed) or signed.at <= ended.during.upper


@pytest.mark.django_db
class TestSplits:
    @pytest.fixture
    def proposed(self, world) -> Split:
        percents = {"": {"research": 50, "applied": 50}}
        return splits.propose_split(by=world.ceo, starts_at=timezone.now(), percents=percents)

    def test_a_deputy_signs_a_split_and_it_names_both(self, world, hugo, proposed):
        name(world, world.ceo, hugo, "ceo")

        assert list(queries.splits_waiting_for(hugo)) == [proposed]
        splits.sign_split(split=proposed, by=hugo)
        splits.sign_split(split=proposed, by=world.ceo_apps)

        first, _second = SplitSignature.objects.order_by("pk")
        assert (first.person, first.deputy_for, first.signer) == (hugo, world.ceo, "Hugo for ceo")
        assert Event.objects.filter(verb="split.signed").earliest("pk").facts["deputy_for"] == "ceo"
        assert Split.objects.get(pk=proposed.pk).state == Split.State.SIGNED

    def test_two_different_people_sign_a_split(self, world, proposed):
        name(world, world.ceo, world.ceo_apps, "ceo")
        splits.sign_split(split=proposed, by=world.ceo_apps, role=world.role("ceo-applications"))

        assert list(queries.splits_waiting_for(world.ceo_apps)) == []
        with pytest.raises(NotAllowed):
            splits.sign_split(split=proposed, by=world.ceo_apps, role=world.role("ceo"))

    def test_principal_and_deputy_do_not_sign_one_split_both(self, world, hugo, proposed):
        factories.holder("ceo-applications", who=world.ceo)
        name(world, world.ceo, hugo, "ceo")
        splits.sign_split(split=proposed, by=hugo, role=world.role("ceo"))

        assert list(queries.splits_waiting_for(world.ceo)) == []
        with pytest.raises(NotAllowed):
            splits.sign_split(split=proposed, by=world.ceo, role=world.role("ceo-applications"))

    def test_a_deputy_neither_proposes_nor_withdraws_a_split(self, world, hugo, proposed):
        name(world, world.ceo, hugo, "ceo")

        assert not rules.can(hugo, "propose_split")
        with pytest.raises(NotAllowed):
            splits.withdraw_split(split=proposed, by=hugo)
