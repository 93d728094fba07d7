"""An emergency on the pitch page keeps what was typed when it is refused."""

import pytest
from django.urls import reverse

from allocations.models import Grant
from tests import factories


@pytest.fixture
def pitch(lab):
    factories.fleet(gpus=16)
    factories.split()
    return factories.submitted(lab.project, lab.pitcher, gpus=8)


def test_without_a_reason_the_page_comes_back_and_nothing_is_granted(client, lab, pitch):
    client.force_login(lab.chief)

    answer = client.post(reverse("pitch_emergency", args=[pitch.public_id]), {"emergency-reason": " "})

    assert (answer.status_code, Grant.objects.count()) == (422, 0)
    assert "What cannot wait" in answer.content.decode()


def test_a_refusal_keeps_the_reason(client, lab, pitch):
    type(pitch).objects.update(ideal_gpus=64, offered_gpus=64)
    client.force_login(lab.chief)

    answer = client.post(
        reverse("pitch_emergency", args=[pitch.public_id]), {"emergency-reason": "The review is tomorrow."}
    )

    assert (answer.status_code, Grant.objects.count()) == (409, 0)
    assert "The review is tomorrow." in answer.content.decode()


def test_with_one_it_is_granted_by_a_decider_only(client, lab, pitch):
    address, typed = reverse("pitch_emergency", args=[pitch.public_id]), {"emergency-reason": "The review is tomorrow."}
    found = []
    for person in (lab.pitcher, lab.admin, lab.chief):
        client.force_login(person)
        found.append(client.post(address, typed).status_code)

    assert (found, Grant.objects.get().is_emergency) == ([403, 404, 302], True)
