"""The split's page: exceptions beside it, weights in it, debt with its plan, two proposals beside each other."""

import re
from datetime import timedelta
from urllib.parse import urlencode

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


@pytest.fixture
def weighed(lab_with_gpus):
    """Beside 100 H100 there are 50 A100, of which one counts 0.4; 60 % and 40 %."""
    factories.fleet(factories.model("A100"), gpus=50, per_node=10)
    split = Split.objects.get()
    split.weights.create(model=factories.model("A100"), weight="0.4")
    return split


def told_totals(text):
    """The rows of the table of all models, as words."""
    table = text.split('<th scope="col">All models</th>')[1].split("</table>")[0]
    rows = [
        re.sub(r"<[^>]*>", " ", row.replace("\N{EN DASH}", "-")).split()
        for row in table.split("<tbody>")[1].split("</tr>")
    ]
    return [" ".join(row) for row in rows if row]


def test_all_models_together_count_by_the_weights_in_force(lab_with_gpus, weighed, page):
    factories.grant(lab_with_gpus.project, model=factories.model("A100"), gpus=40)
    text = page("stranger")

    assert told_totals(text) == [
        "Research 72 16 0 4", "Applied 48 0 0 -", "Reserve 0 - - -", "All healthy 120 - - -",
    ]  # fmt: skip
    assert "Counted in H100. 1 A100 counts 0.4. Without a weight, so each counts 1: H100." in text
    assert "Research in all: 4 H100 over at the most, and none from" in text


def test_a_proposal_tells_its_totals_on_the_page_in_the_preview_and_side_by_side(lab_with_gpus, weighed, page):
    proposed(lab_with_gpus, research=50).weights.create(model=factories.model("A100"), weight="0.5")
    rows = ["Research 75 → 62.5 0 -", "Applied 50 → 62.5 0 -", "Reserve 0 - -", "All healthy 125 - -"]

    assert told_totals(page("ceo")) == rows
    assert told_totals(page("ceo", "/split/compare/")) == rows
    typed = {
        "starts_on": timezone.now().date() + 2 * DAY, "p-all-research": 50, "p-all-applied": 50,
        f"w-{factories.model('A100').pk}": "0.5",
    }  # fmt: skip
    assert told_totals(page("ceo", f"/split/preview/?{urlencode(typed)}")) == rows


def test_with_one_model_there_is_no_total(lab_with_gpus, page):
    assert "All healthy" not in page("ceo")


def test_a_debt_shows_when_it_clears_and_by_which_ends(lab_with_gpus, page):
    lab = lab_with_gpus
    factories.grant(lab.project, gpus=50)
    proposed(lab, research=32)

    text = page("ceo")

    assert "18 over</strong>, cleared by itself from" in text
    assert ">-18<" not in text


def test_what_is_to_be_over_says_from_which_day_on(lab_with_gpus, page):
    factories.grant(lab_with_gpus.project, gpus=50)
    factories.split({"": {"research": 32, "applied": 68}}, starts_at=timezone.now() + 2 * DAY)

    text = page("stranger")

    assert "18 over</strong> from" in text
    assert "What was promised holds, and nobody loses GPUs by it" in text


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
