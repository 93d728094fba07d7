"""Look-alikes on the pages: beside the form, on the pitch, in the queue, never more than one may see."""

import re

import pytest
from django.urls import reverse

from allocations.models import Pitch
from tests import factories
from tests.allocations import acts

TITLE = "Fold larger proteins"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def declined(lab) -> Pitch:
    factories.split()
    factories.fleet(gpus=80)
    pitch = acts.submit(lab, by=lab.team_mate, title=TITLE)
    acts.decline(lab, pitch, lab.chief, "chief-scientist", reason="No baseline <yet>.")
    return pitch


def shown(page: str) -> list[str]:
    found = re.search(r'<ul class="plain small alike">(.*?)</ul>', page, re.S)
    return re.findall(r'<a href="([^"]+)"', found[1]) if found else []


def reasons(page: str) -> list[str]:
    found = re.search(r'<ul class="plain small alike">(.*?)</ul>', page, re.S)
    return re.findall(r"<blockquote>(.*?)</blockquote>", found[1])


def typed(lab, **changes) -> dict:
    return {"title": TITLE, "project": lab.project.pk, "model": "", "ideal_gpus": ""} | changes


def test_beside_the_form_it_shows_while_the_numbers_still_make_no_sense(client, lab, declined):
    client.force_login(lab.pitcher)

    page = client.get(reverse("pitch_outlook"), typed(lab), headers=HTMX).content.decode()

    assert shown(page) == [reverse("pitch", args=[declined.public_id])]
    assert reasons(page) == ["No baseline &lt;yet&gt;."]


@pytest.mark.parametrize("changes", [{"title": ""}, {"title": "x" * 9999}, {"title": "ß", "project": "none"}])
def test_whatever_is_typed_the_panel_answers(client, lab, declined, changes):
    client.force_login(lab.pitcher)

    answer = client.get(reverse("pitch_outlook"), typed(lab, **changes), headers=HTMX)

    assert (answer.status_code, shown(answer.content.decode())) == (200, [])


@pytest.mark.parametrize("but", ["nonsense", "", "00000000-0000-0000-0000-000000000000"])
def test_a_draft_that_is_none_leaves_nothing_out(client, lab, declined, but):
    client.force_login(lab.pitcher)

    page = client.get(reverse("pitch_outlook"), typed(lab, but=but), headers=HTMX).content.decode()

    assert shown(page) == [reverse("pitch", args=[declined.public_id])]


def test_the_draft_itself_is_not_its_own_look_alike(client, lab, declined):
    draft = acts.draft(lab, title=TITLE)
    client.force_login(lab.pitcher)
    pages = [
        client.get(reverse("pitch_outlook"), typed(lab, but=draft.public_id), headers=HTMX),
        client.post(reverse("pitch_edit", args=[draft.public_id]), typed(lab, title=TITLE, do="look")),
        client.get(reverse("pitch", args=[draft.public_id])),
    ]

    assert [shown(page.content.decode()) for page in pages] == [[reverse("pitch", args=[declined.public_id])]] * 3


def test_those_who_sign_see_it_in_their_queue_and_a_stranger_sees_nothing(client, lab, declined):
    waiting = acts.submit(lab, title=TITLE)
    client.force_login(lab.head)
    queue = client.get(reverse("queue_history", args=[waiting.public_id]), headers=HTMX).content.decode()
    client.force_login(lab.applied_pitcher)
    elsewhere = client.get(reverse("pitch_outlook"), typed(lab), headers=HTMX).content.decode()

    assert (shown(queue), reasons(queue)) == (
        [reverse("pitch", args=[declined.public_id])], ["No baseline &lt;yet&gt;."]
    )  # fmt: skip
    assert shown(elsewhere) == []
