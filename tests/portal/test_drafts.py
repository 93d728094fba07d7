"""A draft keeps itself while it is typed; two tabs never overwrite each other silently; nothing typed is lost."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import asks, pitches
from allocations.errors import Stale
from allocations.models import Pitch
from inventory.models import Event
from tests import factories
from tests.allocations import acts

HTMX = {"HX-Request": "true"}


@pytest.fixture
def writer(client, lab):
    factories.split()
    factories.fleet(gpus=32)
    client.force_login(lab.pitcher)
    return client


def typed(lab, **changes) -> dict:
    return {
        "project": lab.project.pk, "title": "A longer context", "model": factories.model().pk, "ideal_gpus": 16,
        "min_gpus": 8, "start_on": timezone.now().date().isoformat(), "days": 14, "why": "The short one is too short.",
        "expected_result": "", "check_on": "", "if_declined": "",
    } | changes  # fmt: skip


def held(page: str) -> dict[str, str]:
    """Which draft in which version the form of the page holds."""
    return dict(re.findall(r'<input type="hidden" name="(draft|version)" value="([^"]*)"', page))


def autosave(client, values):
    return client.post(reverse("pitch_autosave"), values, headers=HTMX)


def open_form(client, draft=None) -> dict[str, str]:
    url = reverse("pitch_edit", args=[draft.public_id]) if draft else reverse("pitch_new")
    return held(client.get(url).content.decode())


def test_what_is_typed_becomes_one_draft_and_every_later_save_goes_into_it(writer, lab):
    form = open_form(writer)

    first = autosave(writer, typed(lab, **form))
    second = autosave(writer, typed(lab, **held(first.content.decode()), title="A much longer context"))
    final = writer.post(reverse("pitch_new"), typed(lab, **held(second.content.decode()), title="Final", do="save"))

    draft = Pitch.objects.get()
    edit = reverse("pitch_edit", args=[draft.public_id])
    assert (first.status_code, first.headers["HX-Replace-Url"], second.status_code) == (200, edit, 200)
    assert "Draft saved" in second.content.decode()
    assert (draft.title, draft.state, final.url) == ("Final", "draft", edit)
    assert acts.verbs(draft) == ["pitch.drafted", "pitch.edited"]


def test_a_first_save_that_comes_twice_makes_one_draft(writer, lab):
    form = open_form(writer)

    answers = [autosave(writer, typed(lab, **form)) for _press in range(2)]

    assert ([answer.status_code for answer in answers], Pitch.objects.count()) == ([200, 200], 1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"title": ""}, "Title: This field is required."),
        ({"ideal_gpus": "many"}, "GPUs, ideally: Enter a whole number."),
        ({"min_gpus": "17"}, "The minimum is above the ideal of 16 GPUs."),
    ],
)
def test_what_cannot_be_kept_yet_says_what_is_missing_and_writes_nothing(writer, lab, changes, told):
    form = open_form(writer)

    answer = autosave(writer, typed(lab, **form, **changes))

    page = answer.content.decode()
    assert (answer.status_code, Pitch.objects.count(), held(page)) == (422, 0, form)
    assert f"Not saved yet. {told}" in page


def test_a_second_tab_does_not_overwrite_the_first_and_shows_both_versions(writer, lab):
    draft = acts.draft(lab, title="As it was")
    one, other = open_form(writer, draft), open_form(writer, draft)
    autosave(writer, typed(lab, **one, title="From the first tab"))

    late = autosave(writer, typed(lab, **other, title="From the second tab"))

    page = late.content.decode()
    assert (late.status_code, Pitch.objects.get().title) == (409, "From the first tab")
    assert re.findall(r'<th scope="row">Title</th><td>(.*?)</td><td>(.*?)</td>', page) == [
        ("From the first tab", "From the second tab")
    ]
    assert held(page) == other


@pytest.mark.parametrize("do", ["save", "submit"])
def test_the_button_of_the_second_tab_is_refused_too_and_keeps_what_was_typed(writer, lab, do):
    draft = acts.draft(lab, title="As it was")
    other = open_form(writer, draft)
    autosave(writer, typed(lab, **open_form(writer, draft), title="From the first tab"))

    late = writer.post(reverse("pitch_edit", args=[draft.public_id]), typed(lab, **other, title="Second", do=do))

    page = late.content.decode()
    draft.refresh_from_db()
    assert (late.status_code, draft.title, draft.state) == (409, "From the first tab", "draft")
    assert ('value="Second"' in page, page.count("Saved elsewhere since you opened it")) == (True, 1)


def test_a_person_who_has_seen_both_may_overwrite(writer, lab):
    draft = acts.draft(lab, title="As it was")
    other = open_form(writer, draft)
    autosave(writer, typed(lab, **open_form(writer, draft), title="From the first tab"))
    late = autosave(writer, typed(lab, **other, title="Second"))
    over = re.search(r'name="over" value="(\w+)"', late.content.decode())[1]

    writer.post(reverse("pitch_edit", args=[draft.public_id]), typed(lab, **other, title="Second", over=over))

    assert Pitch.objects.get().title == "Second"


def test_the_same_words_saved_twice_are_no_conflict(writer, lab):
    draft = acts.draft(lab)
    form = open_form(writer, draft)
    autosave(writer, typed(lab, **form))

    again = autosave(writer, typed(lab, **form))

    assert again.status_code == 200


def test_a_pitch_that_was_submitted_meanwhile_is_not_changed_any_more(writer, lab):
    draft = acts.draft(lab, gpus=8)
    form = open_form(writer, draft)
    pitches.submit_pitch(pitch=Pitch.objects.get(), by=lab.pitcher)

    answer = autosave(writer, typed(lab, **form))

    draft.refresh_from_db()
    assert (answer.status_code, draft.title, draft.state) == (409, "Fold larger proteins", "submitted")


def test_somebody_elses_draft_is_neither_found_nor_written(client, lab):
    factories.split()
    draft = acts.draft(lab)
    client.force_login(lab.team_mate)

    answer = autosave(client, typed(lab, draft=draft.public_id, version=asks.version_of(draft)))

    draft.refresh_from_db()
    assert (answer.status_code, Pitch.objects.count(), draft.title) == (409, 1, "Fold larger proteins")


def test_who_is_logged_out_is_told_and_keeps_the_form(client, lab):
    form = {"draft": str(uuid4()), "version": ""}

    answer = autosave(client, typed(lab, **form))

    page = answer.content.decode()
    assert (answer.status_code, held(page), Pitch.objects.count()) == (403, form, 0)
    assert "You are logged out" in page


def test_a_project_that_one_may_not_pitch_for_is_refused(client, lab):
    client.force_login(lab.stranger)

    answer = autosave(client, typed(lab, draft=str(uuid4()), version=""))

    assert (answer.status_code, Pitch.objects.count()) == (422, 0)


def test_an_id_that_is_taken_is_refused_and_leaves_no_event(lab):
    taken = acts.draft(lab).public_id
    before = Event.objects.count()

    with pytest.raises(Stale):
        acts.draft(lab, public_id=taken)

    assert (Pitch.objects.count(), Event.objects.count()) == (1, before)
