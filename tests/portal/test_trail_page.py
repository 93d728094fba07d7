"""The trail as people read it: sentences, names, links, one row for many alike; nothing breaks on an unknown fact."""

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from allocations import pitches, splits
from inventory import trail
from inventory.models import Event
from portal.trail_rows import rows_of
from portal.trail_words import SENTENCES, sentence
from tests import factories


@pytest.fixture
def auditor(client, lab):
    client.force_login(lab.auditor)
    return client


def said(verb: str) -> str:
    return sentence(Event.objects.filter(verb=verb).latest("pk"))


def test_decisions_read_as_sentences_with_their_numbers(lab):
    factories.fleet(gpus=8)
    split = splits.propose_split(
        by=lab.ceo, starts_at=timezone.now(), percents={"": {"research": 57, "applied": 38}}, reason="Launch."
    )
    splits.sign_split(split=split, by=lab.ceo_apps)
    splits.sign_split(split=split, by=lab.ceo)
    pitch = factories.submitted(lab.project, lab.pitcher)
    pitches.sign_off(pitch=pitch, by=lab.chief, role=lab.role("chief-scientist"), verdict="approve", round=1)

    day = Event.objects.filter(verb="split.signed").latest("pk").facts["starts_at"][:4]
    assert said("split.signed").startswith("signed the split 57/38 from ")
    assert said("split.signed").endswith(f"{day} as ceo")
    assert said("sign_off.given") == f"approved {pitch.title} as chief-scientist: {pitch.offered_gpus} GPUs"


def test_a_verb_or_a_fact_that_nobody_knows_is_still_said(lab):
    node = factories.node("n1", cards=0)
    with transaction.atomic():
        trail.record("node.painted_blue", node, by=lab.ops)
        trail.record("node.silent", node, by="survey")

    assert said("node.painted_blue") == "node painted blue: n1"
    assert said("node.silent") == "node silent: n1"


def test_many_alike_are_one_row_that_opens_to_each(auditor, lab):
    nodes = [factories.node(f"n{number}", cards=0) for number in range(3)]
    with transaction.atomic():
        trail.record_many("node.answers", [(node, {"fault": "x"}) for node in nodes], by="survey")

    page = auditor.get("/trail/?verb=node.answers").content.decode()

    assert page.count('data-verb="node.answers"') == 1
    assert "and more, 3 in all" in page
    assert [reverse("node", args=[node.name]) in page for node in nodes] == [True] * 3


def test_a_row_names_the_person_and_links_to_the_page(auditor, lab):
    lab.pitcher.first_name, lab.pitcher.last_name = "Amir", "Farahani"
    lab.pitcher.save()
    pitch = factories.submitted(lab.project, lab.pitcher)
    with transaction.atomic():
        trail.record("pitch.submitted", pitch, by=lab.pitcher)

    page = auditor.get("/trail/?verb=pitch.submitted").content.decode()

    assert "Amir Farahani" in page
    assert f'href="{reverse("pitch", args=[pitch.public_id])}"' in page


@pytest.mark.parametrize("count", [1, 3])
def test_rows_cost_the_same_however_many(lab, django_assert_num_queries, count):
    with transaction.atomic():
        for number in range(count):
            pitch = factories.submitted(lab.project, lab.pitcher)
            trail.record("pitch.submitted", pitch, by=lab.pitcher)
            trail.record("node.changed", factories.node(f"n{number}", cards=0), by=lab.ops)
            trail.record("grant.issued", factories.grant(lab.project), by=lab.head)
    events = list(Event.objects.all())

    with django_assert_num_queries(5 if Event.objects.filter(subject_kind="project").exists() else 4):
        assert rows_of(events)


def test_every_sentence_fits_the_facts_that_its_service_writes(lab):
    """Each template is made of words that some event could have: no stray percent sign."""
    for verb, template in SENTENCES.items():
        event = Event(verb=verb, subject_label="x", facts={})
        assert sentence(event), (verb, template)
