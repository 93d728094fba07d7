"""Who signs, over the API: deputies are named with whom they stood in for, and whoever has a conflict steps aside."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import deputies
from tests import factories

JSON = "application/json"


@pytest.fixture
def pitch(lab):
    factories.fleet(gpus=8)
    factories.split()
    return factories.submitted(lab.project, lab.pitcher)


def test_a_deputys_signature_names_both(client, lab, pitch):
    now = timezone.now()
    deputies.set_deputy(
        principal=lab.chief, deputy=lab.stranger, role=lab.role("chief-scientist"), starts_at=now,
        until=now + timedelta(days=7), by=lab.chief, reason="On leave.",
    )  # fmt: skip
    client.force_login(lab.stranger)

    answer = {"role": "chief-scientist", "verdict": "approve", "round": 1}
    told = client.post(f"/api/pitches/{pitch.public_id}/sign/", answer, JSON).json()

    [signed] = told["sign_offs"]
    assert (signed["person"], signed["deputy_for"]) == ("stranger", "chief-scientist")


def test_an_own_signature_stands_in_for_nobody(client, lab, pitch):
    client.force_login(lab.chief)

    answer = {"role": "chief-scientist", "verdict": "approve", "round": 1}
    told = client.post(f"/api/pitches/{pitch.public_id}/sign/", answer, JSON).json()

    assert told["sign_offs"][0]["deputy_for"] is None


def test_a_signer_steps_aside_with_a_reason_and_signs_no_more(client, lab, pitch):
    client.force_login(lab.chief)
    address = f"/api/pitches/{pitch.public_id}/"

    silent = client.post(f"{address}recuse/", {}, JSON)
    aside = client.post(f"{address}recuse/", {"reason": "My own former group."}, JSON)
    answer = {"role": "chief-scientist", "verdict": "approve", "round": 1}
    signed = client.post(f"{address}sign/", answer, JSON)

    assert (silent.status_code, silent.json()["code"]) == (422, "bad_terms")
    assert (aside.status_code, signed.status_code, signed.json()["code"]) == (200, 403, "not_allowed")
    assert pitch.recusals.get().person == lab.chief


def test_whose_turn_it_is_not_steps_aside_from_nothing(client, lab, pitch):
    client.force_login(lab.ceo)
    assert client.post(f"/api/pitches/{pitch.public_id}/recuse/", {"reason": "x"}, JSON).status_code == 403
