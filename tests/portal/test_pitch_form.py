"""The pitch form: other models, labels, questions, links and a start window are typed, kept and shown; the panel."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import asks
from allocations.models import Pitch, Policy, PolicyRole, Question
from tests import factories
from tests.allocations import acts
from tests.portal.test_drafts import autosave, held, open_form, typed

NOTHING = timedelta()


@pytest.fixture
def writer(client, lab):
    """Research may promise 60 of 100 H100, and 4 of 8 A100 in Oslo."""
    factories.split()
    factories.fleet(gpus=96)
    factories.node(gpus=4, site="turin")
    factories.node(gpus=8, model=factories.model("A100"), site="oslo", labels={"storage": "nvme"})
    client.force_login(lab.pitcher)
    return client


def panel(client, lab, **changes) -> str:
    page = client.get(reverse("pitch_outlook"), typed(lab, **changes)).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def in_form(page: str, name: str) -> str:
    return re.search(rf'<(input|select)[^>]*name="{name}"(?:[^>]*>|.*?</select>)', page, re.S)[0]


class TestTyped:
    def test_all_of_it_is_kept_and_comes_back_into_the_form(self, writer, lab):
        question = Question.objects.create(text="Which data?", kind="choice", choices=["Public", "Licensed"])
        day = (timezone.now() + timedelta(days=7)).date().isoformat()
        a100 = factories.model("A100")
        answer = autosave(
            writer,
            typed(
                lab, **open_form(writer), alternative_model_1=a100.pk, alternative_gpus_1=12, label_site="oslo",
                label_storage="nvme", start_until=day, links="The paper https://papers.example/1\n\nhttps://b.example",
                **{f"question_{question.pk}": "Licensed"},
            ),
        )  # fmt: skip

        draft = Pitch.objects.get()
        page = writer.get(reverse("pitch_edit", args=[draft.public_id])).content.decode()
        details = asks.details_of(draft)
        assert (answer.status_code, draft.required_labels) == (200, {"site": "oslo", "storage": "nvme"})
        assert (details.alternatives, details.answers) == (((a100, 12),), {question: "Licensed"})
        assert details.links == (("The paper", "https://papers.example/1"), ("", "https://b.example"))
        assert 'value="12"' in in_form(page, "alternative_gpus_1")
        assert f'value="{day}"' in in_form(page, "start_until")
        assert '<option value="Licensed" selected>' in page
        assert "The paper https://papers.example/1\nhttps://b.example</textarea>" in page
        assert '<details class="disclose" open><summary class="btn btn-plain btn-sm">Other models' in page

    def test_a_new_form_keeps_the_details_folded_and_offers_only_labels_that_nodes_have(self, writer):
        page = writer.get(reverse("pitch_new")).content.decode()

        assert '<details class="disclose"><summary class="btn btn-plain btn-sm">Other models' in page
        assert ('name="label_storage"' in page, 'name="label_network"' in page) == (True, False)
        assert re.findall(r'<option value="([^"]*)"', page.split('name="label_site"')[1].split("</select>")[0]) == [
            "",
            "oslo",
            "turin",
        ]

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"alternative_gpus_1": "8"}, "Model: Choose the model."),
            ({"links": "http://plain.example"}, "“http://plain.example” is no https address."),
            ({"start_until": "2020-01-01"}, "The latest first day is before the first day."),
            ({"label_site": "paris"}, "Site: Select a valid choice."),
        ],
    )
    def test_what_cannot_be_kept_says_why(self, writer, lab, changes, told):
        answer = autosave(writer, typed(lab, **open_form(writer), **changes))

        assert (answer.status_code, Pitch.objects.count()) == (422, 0)
        assert told in answer.content.decode()

    def test_a_second_tab_sees_what_the_first_one_added(self, writer, lab):
        draft = acts.draft(lab)
        one, other = open_form(writer, draft), open_form(writer, draft)
        autosave(writer, typed(lab, **one, links="https://a.example"))

        late = autosave(writer, typed(lab, **other, links="https://b.example"))

        assert late.status_code == 409
        assert re.findall(r'<th scope="row">Links</th><td>(.*?)</td><td>(.*?)</td>', late.content.decode()) == [
            ("https://a.example", "https://b.example")
        ]

    def test_a_label_that_nodes_lost_meanwhile_can_still_be_saved_and_is_refused_when_submitted(self, writer, lab):
        draft = acts.draft(lab, required_labels={"site": "bergen"})
        form = open_form(writer, draft)

        kept = autosave(writer, typed(lab, **form, label_site="bergen"))
        form = held(kept.content.decode())
        url = reverse("pitch_edit", args=[draft.public_id])
        page = writer.post(url, typed(lab, **form, label_site="bergen", do="submit"))

        assert (kept.status_code, page.status_code, Pitch.objects.get().state) == (200, 422, "draft")
        assert "No node has the site bergen; there are: oslo, turin." in page.content.decode()


def test_the_form_costs_the_same_queries_with_one_and_with_three_of_each(writer, lab, django_assert_max_num_queries):
    def counted(draft) -> tuple[int, int]:
        found = []
        for url in (reverse("pitch_new"), reverse("pitch_edit", args=[draft.public_id])):
            with django_assert_max_num_queries(15) as counting:
                writer.get(url)
            found.append(len(counting))
        return tuple(found)

    one = counted(acts.draft(lab, details=asks.Details((asks.Alternative(factories.model("A100"), 2),))))
    for n in range(2):
        factories.project(f"more-{n}", division=lab.research, members=[lab.pitcher])
        Question.objects.create(text=f"Which {n}?")
        factories.node(model=factories.model(f"M{n}"), site=f"site-{n}")
        factories.submitted(lab.project, gpus=50)
    models = [asks.Alternative(factories.model(name), 2) for name in ("A100", "M0", "M1")]

    assert counted(acts.draft(lab, details=asks.Details(tuple(models)))) == one


class TestQuestions:
    def test_another_project_brings_its_divisions_questions_and_keeps_what_was_answered(self, writer, lab):
        everybody = Question.objects.create(text="Which data?")
        Question.objects.create(text="Which product?", division=lab.applied)
        factories.member(lab.applied_project, lab.pitcher)
        answers = {f"question_{everybody.pk}": "Public"}

        here = writer.get(reverse("pitch_new"), {"project": lab.project.slug}).content.decode()
        there = writer.post(reverse("pitch_questions"), typed(lab, project=lab.applied_project.pk, **answers))

        part = there.content.decode()
        assert ("Which data?" in here, "Which product?" in here) == (True, False)
        assert ("Which product?" in part, 'value="Public"' in part, "<form" in part) == (True, True, False)

    def test_a_required_one_that_is_open_is_told_at_its_field(self, writer, lab):
        question = Question.objects.create(text="Which data?", is_required=True)

        page = writer.post(reverse("pitch_new"), typed(lab, **open_form(writer), do="submit")).content.decode()

        assert f'id="id_question_{question.pk}_error"' in page
        assert "Your division asks: “Which data?”" in page


class TestPanel:
    def test_money_stands_there_only_where_the_model_has_a_price(self, writer, lab):
        without = panel(writer, lab)
        factories.model().__class__.objects.filter(name="H100").update(price_per_gpu_hour=Decimal("2.50"))

        assert "€" not in without.replace("Cost 5.4 k GPU-h", "") and "Cost 5.4 k GPU-h" in without
        assert "Cost 5.4 k GPU-h · 13.4 k" in panel(writer, lab)

    def test_the_waiting_pitches_that_it_pushes_out_are_named_where_the_person_sees_them(self, writer, lab):
        mine = factories.submitted(lab.project, gpus=50, title="Fold all of them")
        other = factories.project("secret-work", division=lab.research)
        factories.submitted(other, gpus=45, title="Nobody may know")
        factories.submitted(other, gpus=44, title="This one still fits")
        factories.submitted(other, gpus=61, title="This one never did")
        later = timezone.now().date() + timedelta(days=30)
        factories.submitted(lab.project, gpus=50, title="This one comes later", start_on=later)

        said = panel(writer, lab)

        assert "Pushes out Fold all of them 50 H100 1 more waiting pitch You will need" in said
        assert ("Nobody may know" in said, "never did" in said, "comes later" in said) == (False, False, False)
        assert mine.title in said

    def test_alternatives_stand_in_one_line_each_with_when_they_fit(self, writer, lab):
        a100 = factories.model("A100")
        now = timezone.now()
        factories.grant(lab.project, model=a100, gpus=4, starts_at=now, ends_at=now + timedelta(days=3))

        said = panel(
            writer, lab, alternative_model_1=a100.pk, alternative_gpus_1=4,
            alternative_model_2=factories.model("L4").pk, alternative_gpus_2=1,
        )  # fmt: skip

        assert re.search(r"Or 4 A100 : fits from \d+ \w+ \d+ 1 L4 : nothing says when it fits", said), said

    def test_a_start_window_that_reaches_the_day_on_which_it_fits_is_told(self, writer, lab):
        now = timezone.now()
        factories.grant(lab.project, gpus=50, starts_at=now, ends_at=now + timedelta(days=3))
        days = [(now + timedelta(days=n)).date().isoformat() for n in (1, 9)]

        near, far = (panel(writer, lab, start_until=day) for day in days)

        assert "Your start window reaches that far: submitted now, it begins then." in far
        assert ("All of it would fit from" in near, "Your start window" in near) == (True, False)

    def test_who_signs_and_why(self, writer, lab):
        Policy.objects.filter(min_gpus=1024).update(min_gpus=40)

        small, large = panel(writer, lab), panel(writer, lab, ideal_gpus=40)

        assert "because" not in small
        assert "CEO (ceo) because from 40 GPUs on" in large
        assert "Chief scientist (chief-scientist) Research head (research-head)" in large

    def test_a_fast_lane_is_told_with_what_is_left_of_it(self, writer, lab):
        lane = Policy.objects.create(
            subject="pitch", is_fast_lane=True, cap_gpu_hours=6_000, during=(factories.LONG_AGO, None)
        )
        PolicyRole.objects.create(policy=lane, role=lab.role("research-head"))

        fits, beyond = panel(writer, lab), panel(writer, lab, ideal_gpus=18)

        assert "A small ask: these sign alone. 624 GPU-hours of this month are left" in fits
        assert ("Chief scientist" in fits, "A small ask" in beyond) == (False, False)

    def test_above_the_share_it_says_whether_it_may_be_submitted(self, writer, lab):
        refused = panel(writer, lab, ideal_gpus=70)
        row = Policy.objects.create(subject="pitch", over_share=True, during=(factories.LONG_AGO, None))
        PolicyRole.objects.create(policy=row, role=lab.role("ceo"))

        open_to = panel(writer, lab, ideal_gpus=70)

        assert ("above the share" in refused, "because above the share" in open_to) == (False, True)
        assert "It stands above the share: it may be submitted, and more roles sign." in open_to

    def test_the_panel_costs_the_same_queries_with_one_and_with_three_of_each(
        self, writer, lab, django_assert_max_num_queries
    ):
        def counted() -> int:
            with django_assert_max_num_queries(30) as counting:
                panel(writer, lab, alternative_model_1=factories.model("A100").pk, alternative_gpus_1=4)
            return len(counting)

        factories.submitted(lab.project, gpus=50)
        one = counted()
        for _more in range(2):
            factories.submitted(lab.project, gpus=50)
            row = Policy.objects.create(subject="pitch", during=(factories.LONG_AGO, None))
            PolicyRole.objects.create(policy=row, role=lab.role("ceo"))
            factories.grant(lab.project, gpus=1)

        assert counted() == one <= 24


def test_the_page_of_a_pitch_shows_all_of_it(writer, lab):
    question = Question.objects.create(text="Which data?")
    details = asks.Details(
        (asks.Alternative(factories.model("A100"), 12),),
        (asks.Link("The paper", "https://papers.example/1"),),
        {question: "Public"},
    )
    draft = acts.draft(lab, details=details, required_labels={"site": "oslo"}, start_until=timezone.now().date())

    page = writer.get(reverse("pitch", args=[draft.public_id])).content.decode()

    for said in ("12", "A100", "site oslo", "Which data?", "Public", 'href="https://papers.example/1"'):
        assert said in page


def test_the_page_and_the_queue_say_since_when_it_is_overdue_and_who_was_told(writer, lab):
    now = timezone.now()
    pitch = factories.submitted(lab.project, lab.pitcher)
    late = {"due_at": now - timedelta(days=2), "escalates_to": lab.role("ceo"), "escalated_at": now}
    pitch.needed_roles.filter(role__slug="research-head").update(**late)
    pitch.needed_roles.filter(role__slug="chief-scientist").update(due_at=now + timedelta(days=2))

    page = writer.get(reverse("pitch", args=[pitch.public_id])).content.decode()
    writer.force_login(lab.head)
    queue = writer.get(reverse("queue_item", args=[pitch.public_id])).content.decode()

    for seen in (page, queue):
        assert "Research head: overdue since" in seen
        assert "The CEO was told on" in seen
        assert "Chief scientist: overdue" not in seen
