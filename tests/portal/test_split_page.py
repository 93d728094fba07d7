"""The split's page: exceptions beside it, weights in it, debt with its plan, two proposals beside each other."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations.models import Split, SplitException
from tests import factories

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def lab_with_gpus(lab):
    factories.fleet(gpus=100, per_node=10)
    factories.split()
    return lab


@pytest.fixture
def post(client, lab):
    def posted(login, path, **said):
        client.force_login(lab.everyone[login])
        return client.post(path, said)

    return posted


@pytest.fixture
def page(client, lab):
    def seen(login, path="/split/"):
        client.force_login(lab.everyone[login])
        return client.get(path).content.decode()

    return seen


def exception(**more):
    today = timezone.now().date()
    said = {
        "division": "research", "model": "H100", "gpus": 20, "starts_on": today, "ends_on": today + 9 * DAY,
        "reason": "The deadline is in May.",
    }  # fmt: skip
    return {f"exception-{name}": value for name, value in {**said, **more}.items()}


def proposed(lab, research=50, **more):
    split = factories.split(
        {"": {"research": research, "applied": 100 - research}}, state="proposed", by=lab.ceo,
        starts_at=timezone.now() + DAY, **more,
    )  # fmt: skip
    split.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    return split


class TestExceptions:
    def test_proposed_signed_by_both_and_shown_beside_the_split(self, lab_with_gpus, post, page):
        assert post("chief-scientist", "/split/exceptions/propose/", **exception()).status_code == 302
        row = SplitException.objects.get()
        assert "Sign as CEO" in page("ceo")
        for login, role in (("ceo", "ceo"), ("ceo-applications", "ceo-applications")):
            assert post(login, f"/split/exceptions/{row.public_id}/sign/", role=role).status_code == 302

        row.refresh_from_db()
        text = page("stranger")
        assert row.state == "signed"
        assert "With exceptions" in text
        assert '<td class="num">80</td>' in text

    def test_a_refusal_keeps_what_was_typed(self, lab_with_gpus, post):
        answer = post("chief-scientist", "/split/exceptions/propose/", **exception(gpus=0))

        assert answer.status_code == 422
        assert "The deadline is in May." in answer.content.decode()

    @pytest.mark.parametrize("login", ["lead", "ops", "stranger"])
    def test_nobody_else_proposes_or_signs(self, lab_with_gpus, post, login):
        assert post(login, "/split/exceptions/propose/", **exception()).status_code in (403, 422)
        assert not SplitException.objects.exists()

    def test_withdrawn(self, lab_with_gpus, post):
        post("chief-scientist", "/split/exceptions/propose/", **exception())
        row = SplitException.objects.get()

        assert post("chief-scientist", f"/split/exceptions/{row.public_id}/withdraw/").status_code == 302
        row.refresh_from_db()
        assert row.state == "withdrawn"


def test_weights_are_proposed_with_it_and_read_with_it(lab_with_gpus, post, page):
    model = factories.model()
    answer = post(
        "ceo", "/split/propose/", **{
            "starts_on": timezone.now().date() + DAY, "reason": "Spring.", "p-all-research": 50, "p-all-applied": 50,
            f"w-{model.pk}": "2.5",
        },
    )  # fmt: skip

    assert answer.status_code == 302
    assert Split.objects.get(reason="Spring.").weights.get().weight == pytest.approx(2.5)
    assert "H100 2.5" in page("ceo-applications")


def test_a_debt_shows_when_it_clears_and_by_which_ends(lab_with_gpus, page):
    lab = lab_with_gpus
    factories.grant(lab.project, gpus=50)
    proposed(lab, research=32)

    text = page("ceo")

    assert "18 over, cleared by itself from" in text
    assert ">-18<" not in text


def test_a_pitch_that_could_begin_later_is_named(lab_with_gpus, page):
    lab = lab_with_gpus
    factories.grant(lab.project, gpus=30)
    factories.submitted(lab.project, lab.pitcher, title="Fold larger proteins", gpus=20)
    proposed(lab, research=40)

    assert "later" in page("ceo").split("Pitches that wait")[1].split("</ul>")[0]


def test_two_proposals_stand_beside_each_other(lab_with_gpus, page):
    lab = lab_with_gpus
    proposed(lab, research=50, reason="One.")
    other = proposed(lab, research=70, reason="Other.")
    assert "/split/compare/" in page("ceo")

    both = page("ceo", "/split/compare/")
    one = page("ceo", f"/split/compare/?split={other.public_id}")

    assert "One." in both
    assert "Other." in both
    assert "One." not in one
    assert "No proposal waits" not in one
