"""Trying again on the pages and over the API: both pitches name each other, signers read what changed."""

import re

import pytest
from django.urls import reverse

from allocations import pitches
from allocations.models import Pitch
from tests import factories
from tests.allocations import acts


@pytest.fixture
def declined(lab) -> Pitch:
    factories.split()
    factories.fleet(gpus=80)
    pitch = acts.submit(lab, title="First try", gpus=16)
    acts.decline(lab, pitch, lab.chief, "chief-scientist", reason="No baseline.")
    return pitch


def page(client, name, row) -> str:
    return client.get(reverse(name, args=[row.public_id])).content.decode()


def changes(text: str) -> list[tuple[str, str, str]]:
    row = r'<th scope="row">(.*?)</th><td class="prose">(.*?)</td><td class="prose">(.*?)</td>'
    return re.findall(row, text)


def test_the_button_opens_one_draft_however_often_it_is_pressed(client, lab, declined):
    client.force_login(lab.pitcher)
    url = reverse("pitch_resubmit", args=[declined.public_id])

    answers = [client.post(url) for _press in range(2)]

    draft = Pitch.objects.get(resubmits=declined)
    assert [answer.url for answer in answers] == [reverse("pitch_edit", args=[draft.public_id])] * 2
    assert (page(client, "pitch", declined).count(url), page(client, "pitch", draft).count("resubmit/")) == (1, 0)
    assert "No baseline." in page(client, "pitch_edit", draft)


def test_both_pages_name_each_other_and_the_signers_read_what_changed(client, lab, declined):
    draft = pitches.resubmit_pitch(pitch=declined, by=lab.pitcher)
    acts.draft(lab, pitch=draft, title="Second try", gpus=8, one_island=True)
    pitches.submit_pitch(pitch=draft, by=lab.pitcher)
    client.force_login(lab.chief)

    before, after, queue = (
        page(client, "pitch", declined),
        page(client, "pitch", draft),
        page(client, "queue_item", draft),
    )

    told = [("Title", "First try", "Second try"), ("GPUs, ideally", "16", "8")]
    told.append(("All on one island (fast links between all GPUs)", "no", "yes"))
    assert (changes(after), changes(queue)) == (told, told)
    assert f'Followed by <a class="inline" href="/pitches/{draft.public_id}/">' in before
    for text in (after, queue):
        assert f'Follows <a class="inline" href="/pitches/{declined.public_id}/">First try</a>' in text
        assert "No baseline." in text


def test_a_draft_that_follows_is_its_writers_alone(client, lab, declined):
    pitches.resubmit_pitch(pitch=declined, by=lab.pitcher)
    client.force_login(lab.chief)

    assert "Followed by" not in page(client, "pitch", declined)


def test_who_may_not_pitch_gets_no_button_and_no_draft(client, lab, declined):
    client.force_login(lab.chief)
    url = reverse("pitch_resubmit", args=[declined.public_id])

    assert (url in page(client, "pitch", declined), client.post(url).status_code) == (False, 403)
    assert (client.get(url).status_code, Pitch.objects.count()) == (405, 1)


def test_the_api_does_the_same(client, lab, declined):
    client.force_login(lab.pitcher)
    url = f"/api/pitches/{declined.public_id}/resubmit/"

    one, other = client.post(url), client.post(url)

    assert (one.status_code, one.json()["follows"], one.json()["state"]) == (201, str(declined.public_id), "draft")
    assert (other.json()["id"], Pitch.objects.count()) == (one.json()["id"], 2)
    assert client.get(f"/api/pitches/{declined.public_id}/").json()["follows"] is None
