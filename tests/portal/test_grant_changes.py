"""The grant's page: asking for more time, a smaller grant, signatures, the lead's answer, what came of it; loans."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, emergencies, loans
from allocations.models import Grant, GrantChange, Loan, Pitch, ResultCheck
from tests import factories

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def grant(lab):
    factories.fleet(gpus=100, per_node=10)
    factories.split()
    pitch = factories.pitch(
        lab.project, lab.pitcher, state=Pitch.State.GRANTED, gpus=32, decided_by=lab.chief, decided_at=timezone.now(),
        expected_result="1,000 residues",
    )  # fmt: skip
    return factories.grant(lab.project, gpus=32, pitch=pitch)


@pytest.fixture
def page(client, lab):
    def seen(login, path):
        client.force_login(lab.everyone[login])
        return client.get(path)

    return seen


@pytest.fixture
def post(client, lab):
    def posted(login, path, **said):
        client.force_login(lab.everyone[login])
        return client.post(path, said)

    return posted


def path(row, *more):
    return "/".join(["/grants", str(row.public_id), *more, ""])


def change_path(change, verb):
    return f"/changes/{change.public_id}/{verb}/"


EXTENSION = {"extend-days": 30, "extend-reason": "One more run.", "extend-so_far": "Two of three are done."}


class TestExtension:
    def test_the_lead_asks_and_both_roles_sign_on_the_page(self, page, post, lab, grant):
        assert post("lead", path(grant, "extend"), **EXTENSION).status_code == 302
        change = GrantChange.objects.get()
        text = page("chief-scientist", path(grant)).content.decode()
        assert "Sign as Chief scientist" in text
        assert "Two of three are done." in text
        assert "the grant ends that day; the extension then begins with its approval" in text
        assert "Protein folding" in page("chief-scientist", "/grants/").content.decode()
        for login in ("chief-scientist", "research-head"):
            assert post(login, change_path(change, "sign"), verdict="approve", reason="").status_code == 302

        change.refresh_from_db()
        assert (change.state, Grant.objects.get().ends_at) == ("approved", grant.ends_at + 30 * DAY)
        assert "Waits for your signature" not in page("chief-scientist", "/grants/").content.decode()

    def test_what_was_typed_stays_when_it_is_refused(self, post, lab, grant):
        answer = post("lead", path(grant, "extend"), **{**EXTENSION, "extend-days": 0})

        assert answer.status_code == 422
        assert "Two of three are done." in answer.content.decode()

    def test_a_decline_without_a_reason_is_refused_and_says_so(self, post, lab, grant):
        change = changes.ask_extension(grant=grant, by=lab.lead, days=9, reason="More.")
        answer = post("research-head", change_path(change, "sign"), verdict="decline", reason="")

        assert answer.status_code == 422
        assert "Say why: who asked reads it." in answer.content.decode()

    def test_strangers_do_not_see_it_and_outsiders_do_not_sign(self, post, lab, grant):
        change = changes.ask_extension(grant=grant, by=lab.lead, days=9, reason="More.")

        assert post("stranger", change_path(change, "sign"), verdict="approve").status_code == 404
        assert post("ops", change_path(change, "sign"), verdict="approve").status_code == 403
        assert post("stranger", path(grant, "extend"), **EXTENSION).status_code == 404

    def test_who_asked_withdraws(self, post, lab, grant):
        change = changes.ask_extension(grant=grant, by=lab.pitcher, days=9, reason="More.")

        assert post("pitcher", change_path(change, "withdraw")).status_code == 302
        assert GrantChange.objects.get().state == "withdrawn"

    def test_nothing_is_done_by_looking(self, client, lab, grant):
        change = changes.ask_extension(grant=grant, by=lab.lead, days=9, reason="More.")
        client.force_login(lab.chief)
        for address in (path(grant, "extend"), path(grant, "change"), change_path(change, "sign")):
            assert client.get(address).status_code == 405


class TestSmaller:
    def test_a_decider_asks_the_lead_objects_and_those_who_sign_read_it(self, page, post, lab, grant):
        said = {
            "change-kind": "shrink",
            "change-gpus": 8,
            "change-reason": "The others wait.",
            "change-takes_effect_on": "",
        }
        assert post("chief-scientist", path(grant, "change"), **said).status_code == 302
        change = GrantChange.objects.get()
        assert "Object" in page("lead", path(grant)).content.decode()
        answer = post("lead", change_path(change, "answer"), answer="objects", reason="The run ends on Friday.")
        assert answer.status_code == 302

        assert "The run ends on Friday." in page("research-head", path(grant)).content.decode()

    @pytest.mark.parametrize(
        ("kind", "gpus", "told"),
        [("shrink", "", "Type how many GPUs it keeps."), ("", "8", "This field is required."), ("", "", "required")],
    )
    def test_an_empty_number_ends_nothing(self, post, lab, grant, kind, gpus, told):
        said = {"change-kind": kind, "change-gpus": gpus, "change-reason": "Others wait."}
        answer = post("chief-scientist", path(grant, "change"), **said)

        assert answer.status_code == 422
        assert told in answer.content.decode()
        assert GrantChange.objects.count() == 0

    def test_an_end_is_chosen_and_the_number_that_stood_there_says_nothing(self, page, post, lab, grant):
        shown = page("chief-scientist", path(grant)).content.decode()
        said = {
            "change-kind": "end",
            "change-gpus": str(grant.gpus),
            "change-reason": "Over.",
            "change-takes_effect_on": "",
        }
        assert post("chief-scientist", path(grant, "change"), **said).status_code == 302

        assert f'name="change-gpus" value="{grant.gpus}"' in shown
        assert GrantChange.objects.values_list("kind", "gpus").get() == ("end", None)

    @pytest.mark.parametrize("count", [1, 3])
    def test_the_page_costs_the_same_for_any_number_of_changes(
        self, client, lab, grant, django_assert_max_num_queries, count
    ):
        for _number in range(count):
            change = changes.ask_extension(grant=grant, by=lab.lead, days=9, reason="More.")
            changes.sign_change(change=change, by=lab.chief, verdict="decline", reason="No.")
        client.force_login(lab.auditor)
        client.get(path(grant))

        with django_assert_max_num_queries(20):
            client.get(path(grant))


def test_what_came_of_it_is_said_on_the_page(page, post, lab, grant):
    ResultCheck.objects.create(grant=grant, asked_at=timezone.now())
    assert "Expected: 1,000 residues" in page("pitcher", path(grant)).content.decode()
    answer = post("pitcher", path(grant, "result"), **{"result-outcome": "partly", "result-said": "700 of them."})

    assert answer.status_code == 302
    assert "700 of them." in page("chief-scientist", path(grant)).content.decode()


class TestEmergency:
    def test_a_decider_grants_on_the_pitch_s_page_and_it_shows_everywhere(self, page, post, lab, grant):
        pitch = factories.submitted(lab.project, lab.pitcher)
        address = f"/pitches/{pitch.public_id}/"
        assert "Grant as an emergency" in page("chief-scientist", address).content.decode()
        assert "Grant as an emergency" not in page("lead", address).content.decode()
        answer = post("chief-scientist", f"{address}emergency/", **{"emergency-reason": "The paper is due."})

        row = Grant.objects.get(is_emergency=True)
        assert answer.url == path(row)
        text = page("research-head", path(row)).content.decode()
        assert "Ratify as Research head" in text
        assert "or it ends by itself then" in text
        assert "emergency" in page("ops", "/grants/").content.decode()

    def test_without_a_reason_nothing_is_granted(self, post, lab, grant):
        pitch = factories.submitted(lab.project, lab.pitcher)

        assert (
            post("chief-scientist", f"/pitches/{pitch.public_id}/emergency/", **{"emergency-reason": " "}).status_code
            == 422
        )
        assert not Grant.objects.filter(is_emergency=True).exists()

    def test_ratified_it_says_so(self, page, lab, grant):
        pitch = factories.submitted(lab.project, lab.pitcher)
        row = emergencies.grant_emergency(pitch=pitch, by=lab.chief, reason="The paper is due.")
        changes.sign_change(change=row.changes.get(), by=lab.head)

        assert "ratified" in page("lead", path(row)).content.decode()


class TestLoans:
    def said(self, lab, **more):
        today = timezone.now().date()
        terms = {
            "lender": lab.project.slug, "borrower": lab.applied_project.slug, "model": "H100", "gpus": 8,
            "starts_on": today, "ends_on": today + 5 * DAY, "reason": "You start later.",
        }  # fmt: skip
        return {**terms, **more}

    def test_proposed_agreed_and_given_back(self, page, post, lab, grant):
        answer = post("applied-lead", "/loans/propose/", **self.said(lab))
        loan = Loan.objects.get()
        assert answer.url == f"/loans/{loan.public_id}/"
        assert "Waits for your answer" in page("lead", "/loans/").content.decode()
        assert post("applied-lead", f"{answer.url}answer/", agrees="yes").status_code == 403
        assert post("lead", f"{answer.url}answer/", agrees="yes").status_code == 302
        loan.refresh_from_db()
        assert "8 GPUs of it are lent just now." in page("lead", path(grant)).content.decode()
        assert "On loan from Protein folding" in page("applied-lead", path(loan.grant)).content.decode()
        assert post("applied-lead", f"{answer.url}return/").status_code == 302

        assert Loan.objects.get().state == "returned"

    def test_too_many_are_refused_with_what_was_typed(self, post, lab, grant):
        answer = post("applied-lead", "/loans/propose/", **self.said(lab, gpus=99))

        assert answer.status_code == 409
        text = answer.content.decode()
        assert "does not have 99 H100 to lend" in text
        assert "You start later." in text

    def test_strangers_see_none(self, page, lab, grant):
        loan = loans.propose_loan(
            lender=lab.project, borrower=lab.applied_project, model=factories.model(), gpus=8,
            starts_at=timezone.now(), ends_at=timezone.now() + DAY, by=lab.lead, reason="You start later.",
        )  # fmt: skip

        assert page("stranger", f"/loans/{loan.public_id}/").status_code == 404
        assert "Propose a loan" not in page("stranger", "/loans/").content.decode()

    @pytest.mark.parametrize("count", [1, 3])
    def test_the_list_costs_the_same_for_any_number(self, client, lab, grant, django_assert_max_num_queries, count):
        for _number in range(count):
            loans.propose_loan(
                lender=lab.project, borrower=lab.applied_project, model=factories.model(), gpus=1,
                starts_at=timezone.now(), ends_at=timezone.now() + DAY, by=lab.lead, reason="You start later.",
            )  # fmt: skip
        client.force_login(lab.auditor)
        client.get("/loans/")

        with django_assert_max_num_queries(15):
            client.get("/loans/")


def test_what_was_promised_and_not_delivered_stands_on_the_page(page, lab, grant):
    Grant.objects.update(starts_at=timezone.now() - 2 * DAY)

    assert "64 GPU-days" in page("lead", path(grant)).content.decode()
    assert "64 GPU-days" in page("lead", f"/pitches/{grant.pitch.public_id}/").content.decode()
