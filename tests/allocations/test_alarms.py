"""Who hears, once, that GPUs which somebody holds or is promised do not work."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import alarms
from allocations.models import Notice
from inventory.models import Finding
from tests import factories, races

pytestmark = pytest.mark.django_db


def broken(gpu, code="lost", *, severity="out", **fields):
    now = timezone.now()
    given = {"since": now, "seen_at": now, "evidence": "its node does not show it"} | fields
    return Finding.objects.create(gpu=gpu, node=gpu.node, code=code, severity=severity, **given)


def held(project, *, gpus=4, name="gpu-1.lab", **fields):
    """GPUs of a node, all of them the project's."""
    found = list(factories.node(name, gpus=gpus, **fields).gpus.all())
    for gpu in found:
        factories.assignment(gpu, project)
    return found


def told() -> dict[str, list[str]]:
    heard: dict[str, list[str]] = {}
    for notice in Notice.objects.select_related("person").order_by("pk"):
        heard.setdefault(notice.person.username, []).append(notice.subject)
    return heard


def test_ops_and_the_lead_hear_once_of_one_cause_however_many_gpus(lab):
    for gpu in held(lab.project)[:3]:
        broken(gpu)

    assert [alarms.tell_troubles(), alarms.tell_troubles()] == [1, 0]
    assert told() == {"ops": ["3 GPUs, gpu-1.lab: lost"], "lead": ["3 GPUs, gpu-1.lab: lost"]}
    lead = Notice.objects.get(person=lab.lead)
    assert "3 GPUs of Protein folding do not work: lost (gpu-1.lab). Operations see it too" in lead.body
    assert Notice.objects.get(person=lab.ops).path == "/health/"


def test_an_island_that_falls_silent_is_one_letter_with_all_its_projects(lab):
    for number, project in enumerate((lab.project, lab.applied_project)):
        node = held(project, name=f"gpu-{number}.lab", island="pod-1")[0].node
        now = timezone.now()
        Finding.objects.create(node=node, code="silent", severity="out", since=now, seen_at=now)

    alarms.tell_troubles()

    assert told() == {name: ["8 GPUs, pod-1: does not answer"] for name in ("ops", "lead", "applied-lead")}
    assert "4 GPUs of Protein folding" in Notice.objects.get(person=lab.lead).body
    assert "Held or promised: Protein folding 4, Assistant 4." in Notice.objects.get(person=lab.ops).body


@pytest.mark.parametrize("severity", ["warn", "note"])
def test_what_still_works_wakes_nobody(lab, severity):
    broken(held(lab.project)[0], "throttled", severity=severity)

    assert (alarms.tell_troubles(), told()) == (0, {})


def test_a_gpu_that_is_nobodys_wakes_nobody_until_it_is_somebodys(lab):
    gpu = factories.node("gpu-1.lab", gpus=1).gpus.get()
    broken(gpu)
    before = alarms.tell_troubles()
    factories.assignment(gpu, lab.project)

    assert (before, alarms.tell_troubles(), told()["lead"]) == (0, 1, ["1 GPU, gpu-1.lab: lost"])


def test_a_card_that_comes_and_goes_is_told_once_and_again_only_hours_later(lab, monkeypatch):
    [gpu] = held(lab.project, gpus=1)
    first = broken(gpu)
    alarms.tell_troubles()
    Finding.objects.filter(pk=first.pk).update(ended_at=timezone.now())
    broken(gpu)
    soon = alarms.tell_troubles()
    # The trail is append-only: instead of the hours that pass, none are asked for.
    monkeypatch.setattr(alarms, "AGAIN_AFTER", timedelta(0))
    later = alarms.tell_troubles()

    assert (soon, later) == (0, 1)


def test_what_stays_broken_is_not_told_again_however_long(lab, monkeypatch):
    broken(held(lab.project)[0])
    alarms.tell_troubles()
    monkeypatch.setattr(alarms, "AGAIN_AFTER", timedelta(0))

    assert alarms.tell_troubles() == 0


def test_later_news_of_a_cause_names_only_what_is_new(lab):
    gpus = held(lab.project)
    broken(gpus[0])
    alarms.tell_troubles()
    broken(gpus[1])
    broken(gpus[2])

    alarms.tell_troubles()

    assert told()["ops"] == ["1 GPU, gpu-1.lab: lost", "2 GPUs, gpu-1.lab: lost"]


def test_who_is_seen_on_a_gpu_that_was_not_promised_hears_too(lab):
    gpu = factories.node("gpu-1.lab", gpus=1).gpus.get()
    factories.reading(gpu, lab.project.slug)
    broken(gpu)

    alarms.tell_troubles()

    assert told()["lead"] == ["1 GPU, gpu-1.lab: lost"]


@pytest.mark.django_db(transaction=True)
def test_two_clocks_at_once_tell_once(lab, monkeypatch):
    broken(held(lab.project)[0])
    window = races.Window()
    monkeypatch.setattr(alarms.trail, "record_many", window.before(alarms.trail.record_many))

    races.at_once(alarms.tell_troubles, alarms.tell_troubles)

    assert told() == {"ops": ["1 GPU, gpu-1.lab: lost"], "lead": ["1 GPU, gpu-1.lab: lost"]}


@pytest.mark.parametrize("count", [1, 3])
def test_it_takes_the_same_statements_for_one_cause_and_for_three(lab, django_assert_num_queries, count):
    for number in range(count):
        broken(held(lab.project, name=f"gpu-{number}.lab")[0])

    with django_assert_num_queries(13):
        alarms.tell_troubles()
