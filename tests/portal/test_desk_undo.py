"""Answers given at the desk are taken back together while nothing has left."""

import pytest
from django.urls import reverse

from allocations.models import Grant, OutboxMessage, Pitch, SignOff
from tests import factories


@pytest.fixture
def pitches(lab):
    factories.fleet(gpus=64)
    factories.split()
    return [factories.submitted(lab.project, lab.pitcher, gpus=8) for _ in range(2)]


def decide(client, pitches, role):
    marks = {f"gpus-{row.public_id}": "8" for row in pitches}
    taken = [f"{row.public_id}:1:{role}" for row in pitches]
    return client.post(reverse("desk_decide"), {"take": taken, **marks})


def undo(client, rows):
    return client.post(reverse("desk_undo"), {"signed": [row.pk for row in rows]})


def test_all_answers_of_an_act_are_taken_back_and_nobody_hears(client, lab, pitches):
    client.force_login(lab.chief)
    decide(client, pitches, "chief-scientist")
    client.force_login(lab.head)
    page = decide(client, pitches, "research-head").content.decode()
    signed = list(SignOff.objects.filter(person=lab.head))
    assert [f'name="signed" value="{row.pk}"' in page for row in signed] == [True, True]
    assert Grant.objects.filter(pitch__isnull=False).count() == 2

    answer = undo(client, signed)

    assert (answer.status_code, answer.content.decode().count("Taken back. Nobody was told.")) == (200, 2)
    assert set(Pitch.objects.values_list("state", flat=True)) == {"submitted"}
    assert not Grant.objects.filter(pitch__isnull=False).exists()
    assert not OutboxMessage.objects.filter(subject__startswith="Granted").exists()


def test_too_late_is_said_and_what_stands_stands(client, lab, pitches, settings):
    client.force_login(lab.chief)
    decide(client, pitches, "chief-scientist")
    settings.UNDO_S = 0

    page = undo(client, SignOff.objects.all()).content.decode()

    assert page.count("Not decided") == 2
    assert SignOff.objects.count() == 2


def test_nobody_takes_back_what_somebody_else_answered(client, lab, pitches):
    client.force_login(lab.chief)
    decide(client, pitches, "chief-scientist")
    client.force_login(lab.head)

    undo(client, SignOff.objects.all())
    rubbish = client.post(reverse("desk_undo"), {"signed": ["x", "9" * 40, "-1", ""]})

    assert (SignOff.objects.count(), rubbish.status_code) == (2, 200)
