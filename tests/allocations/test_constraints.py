"""What the database refuses by itself, in raw SQL that no code of ours has checked before."""

from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from allocations.models import Assignment, Holding, Pitch, SignOff
from tests import factories

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 3, 1, tzinfo=UTC)


def execute(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


def refused(sql, *values):
    """The name of the constraint that refuses the statement."""
    with pytest.raises(IntegrityError) as error:
        execute(sql, *values)
    return error.value.__cause__.diag.constraint_name


def insert(table, **values):
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(['%s'] * len(values))})", *values.values()


def possession(table, gpu, project, during, generation=1):
    return insert(
        f"allocations_{table}", gpu_id=gpu.pk, project_id=project.pk, generation=generation, during=during, card_id=0
    )


@pytest.mark.parametrize(("table", "model"), [("assignment", Assignment), ("holding", Holding)])
class TestOneHolder:
    def test_two_holders_of_one_gpu_at_one_instant(self, lab, table, model):
        gpu = factories.node(gpus=1).gpus.get()
        execute(*possession(table, gpu, lab.project, "[2027-03-01, 2027-03-10)"))

        assert refused(*possession(table, gpu, lab.applied_project, "[2027-03-09, 2027-03-20)")) == (
            f"{table}_one_holder"
        )
        execute(*possession(table, gpu, lab.applied_project, "[2027-03-10, 2027-03-20)"))
        assert model.objects.count() == 2

    def test_a_card_and_its_instance_together(self, lab, table, model):
        card = factories.node(gpus=1).gpus.get()
        first, second = (factories.gpu(card.node, parent=card) for _ in range(2))
        execute(*possession(table, first, lab.project, "[2027-03-01,)"))

        assert refused(*possession(table, card, lab.applied_project, "[2027-03-02,)")) == f"{table}_one_holder"
        assert refused(*possession(table, first, lab.applied_project, "[2027-03-02,)")) == f"{table}_one_holder"
        execute(*possession(table, second, lab.applied_project, "[2027-03-02,)"))
        assert model.objects.count() == 2

    def test_an_instance_of_an_assigned_card(self, lab, table, model):
        card = factories.node(gpus=1).gpus.get()
        instance = factories.gpu(card.node, parent=card)
        execute(*possession(table, card, lab.project, "[2027-03-01,)"))

        assert refused(*possession(table, instance, lab.project, "[2027-03-02,)")) == f"{table}_one_holder"
        assert model.objects.count() == 1

    def test_a_row_changed_into_an_overlap(self, lab, table, model):
        one, other = factories.node(gpus=2).gpus.all()
        execute(*possession(table, one, lab.project, "[2027-03-01,)"))
        execute(*possession(table, other, lab.applied_project, "[2027-03-01,)"))

        assert refused(f"UPDATE allocations_{table} SET gpu_id = %s WHERE gpu_id = %s", one.pk, other.pk) == (
            f"{table}_one_holder"
        )
        assert model.objects.get(gpu=other).project == lab.applied_project

    def test_a_claim_of_no_time(self, lab, table, model):
        gpu = factories.node(gpus=1).gpus.get()

        assert refused(*possession(table, gpu, lab.project, "empty")) == f"{table}_not_empty"
        assert model.objects.count() == 0


class TestSignatures:
    def sign(self, pitch, role, person, *, in_round=1, verdict="approve", reason=""):
        return insert(
            "allocations_signoff", pitch_id=pitch.pk, round=in_round, role_id=role.pk, person_id=person.pk,
            verdict=verdict, gpus=8, reason=reason, at=NOW,
        )  # fmt: skip

    def test_two_signatures_for_one_role_in_one_round(self, lab):
        pitch = factories.submitted(lab.project)
        execute(*self.sign(pitch, lab.role("chief-scientist"), lab.chief))

        assert refused(*self.sign(pitch, lab.role("chief-scientist"), lab.head)) == "sign_off_once_a_role"
        execute(*self.sign(pitch, lab.role("chief-scientist"), lab.head, in_round=2))
        assert SignOff.objects.count() == 2

    def test_two_signatures_by_one_person_in_one_round(self, lab):
        pitch = factories.submitted(lab.project)
        execute(*self.sign(pitch, lab.role("chief-scientist"), lab.chief))

        assert refused(*self.sign(pitch, lab.role("research-head"), lab.chief)) == "sign_off_once_a_person"
        assert SignOff.objects.count() == 1

    def test_a_decline_without_a_reason(self, lab):
        pitch = factories.submitted(lab.project)

        assert refused(*self.sign(pitch, lab.role("ceo"), lab.ceo, verdict="decline")) == "sign_off_refusal_has_reason"

    def test_two_signatures_for_one_role_or_by_one_person_under_a_split(self, lab):
        split = factories.split(state="proposed")
        row = {"split_id": split.pk, "role_id": lab.role("ceo").pk, "person_id": lab.ceo.pk, "at": NOW}
        execute(*insert("allocations_splitsignature", **row))

        other_person = insert("allocations_splitsignature", **{**row, "person_id": lab.ceo_apps.pk})
        other_role = insert("allocations_splitsignature", **{**row, "role_id": lab.role("ceo-applications").pk})
        assert (refused(*other_person), refused(*other_role)) == (
            "split_signed_once_a_role",
            "split_signed_once_a_person",
        )


class TestPitches:
    @pytest.mark.parametrize("state", ["granted", "declined"])
    def test_a_decided_pitch_without_decider(self, lab, state):
        pitch = factories.submitted(lab.project)

        assert refused("UPDATE allocations_pitch SET state = %s WHERE id = %s", state, pitch.pk) == (
            "pitch_decided_has_decider"
        )
        assert Pitch.objects.get().state == "submitted"

    def test_a_decider_without_an_instant_or_before_the_decision(self, lab):
        pitch = factories.submitted(lab.project)
        granted = "UPDATE allocations_pitch SET state = 'granted', decided_by_id = %s WHERE id = %s"
        decided = "UPDATE allocations_pitch SET decided_by_id = %s, decided_at = now() WHERE id = %s"

        assert refused(granted, lab.chief.pk, pitch.pk) == "pitch_decided_pair"
        assert refused(decided, lab.chief.pk, pitch.pk) == "pitch_decided_has_decider"

    @pytest.mark.parametrize(
        "change", ["min_gpus = 9", "offered_gpus = 9", "offered_gpus = 0", "min_gpus = 0", "days = 0"]
    )
    def test_terms_that_no_pitch_can_have(self, lab, change):
        factories.submitted(lab.project, gpus=8)

        assert refused(f"UPDATE allocations_pitch SET {change}") in {
            "pitch_terms", "allocations_pitch_min_gpus_check", "allocations_pitch_days_check",
        }  # fmt: skip
        assert Pitch.objects.filter(min_gpus=8, offered_gpus=8, days=14).count() == 1

    def test_a_second_grant_of_one_pitch(self, lab):
        pitch = factories.submitted(lab.project)
        factories.grant(lab.project, pitch=pitch)

        with pytest.raises(DatabaseError), transaction.atomic():
            factories.grant(lab.project, pitch=pitch)

    def test_a_second_holding_of_one_role_by_one_person_at_one_instant(self, lab):
        row = {"role_id": lab.role("ceo").pk, "person_id": lab.ceo.pk, "during": "[2027-03-01,)"}

        assert refused(*insert("allocations_roleholder", **row)) == "role_held_once"
