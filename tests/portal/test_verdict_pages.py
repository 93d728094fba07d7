"""Verdicts on the pages: other terms, offers, changes asked for, the waitlist, undo; what was typed stays."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import pitches
from allocations.models import Grant, Pitch, SignOff
from tests import factories

HTMX = {"HX-Request": "true"}


@pytest.fixture
def fleet(lab):
    factories.split()
    return factories.fleet(gpus=64)


@pytest.fixture
def pitch(lab, fleet):
    return factories.submitted(lab.project, lab.pitcher, gpus=16, min_gpus=8, title="First in line")


def sign(client, pitch, answer="approve", *, role="research-head", headers=None, **typed):
    typed = {"answer": answer, "round": pitch.round, "role": role, **typed}
    return client.post(reverse("pitch_sign", args=[pitch.public_id]), typed, headers=headers)


@pytest.fixture
def offered(client, lab, pitch):
    """Both have signed 4 GPUs for 20 days."""
    client.force_login(lab.head)
    sign(client, pitch, "less", gpus="4", days="20", reason="Four for longer.")
    pitch.refresh_from_db()
    client.force_login(lab.chief)
    sign(client, pitch, role="chief-scientist")
    pitch.refresh_from_db()
    return pitch


def answer(client, pitch, said, **typed):
    return client.post(reverse("pitch_answer", args=[pitch.public_id]), {"answer": said, "round": pitch.round, **typed})


class TestOtherTerms:
    def test_what_stays_empty_is_as_on_the_table(self, client, lab, pitch):
        client.force_login(lab.head)

        sign(client, pitch, "less", gpus="10", model="", start_on="", days="")

        pitch.refresh_from_db()
        assert (pitch.terms, pitch.round) == (pitch.asked._replace(gpus=10), 2)

    def test_the_rest_of_the_terms_comes_when_it_is_asked_for(self, client, lab, pitch):
        factories.model("A100")
        pitch.alternatives.create(model=factories.model("B200"), gpus=6)
        client.force_login(lab.head)
        address = reverse("queue_terms", args=[pitch.public_id])

        part, page = (client.get(address, headers=headers).content.decode() for headers in (HTMX, {}))

        for text in (part, page):
            assert re.findall(r"<option value=\"\d+\">(.*?)</option>", text) == ["A100", "B200, 6 would do"]
            assert f'name="start_on" type="date" value="{pitch.start_on}"' in text
        assert ("<html" in part, "<html" in page) == (False, True)

    def test_a_refused_day_keeps_what_was_typed_in_its_open_field(self, client, lab, pitch):
        client.force_login(lab.head)
        typed = {"gpus": "10", "start_on": "2020-01-01", "days": "9", "reason": "Later."}

        page = sign(client, pitch, "less", **typed).content.decode()

        assert "The first day lies from today" in page
        assert 'name="start_on" type="date" value="2020-01-01"' in page
        assert 'name="days" type="number" inputmode="numeric" min="1" value="9"' in page

    def test_the_next_signer_sees_asked_and_on_the_table_side_by_side(self, client, lab, pitch):
        client.force_login(lab.head)
        sign(client, pitch, "less", gpus="10", days="20")
        client.force_login(lab.chief)

        page = client.get("/queue/").content.decode()

        assert "On the table" in page
        assert re.findall(r"<td>(\d+ days)</td><td><strong>(\d+ days)", page) == [("14 days", "20 days")]


class TestOffer:
    def test_the_pitcher_accepts_it_on_the_page(self, client, lab, offered):
        client.force_login(lab.pitcher)
        page = client.get(reverse("pitch", args=[offered.public_id])).content.decode()
        assert "Your answer is needed" in page
        assert "Four for longer." in page

        done = answer(client, offered, "accept")

        offered.refresh_from_db()
        assert (done.status_code, offered.state, Grant.objects.get().gpus) == (302, "granted", 4)

    def test_signers_see_who_answers_and_no_buttons(self, client, lab, offered):
        client.force_login(lab.chief)

        page = client.get(reverse("pitch", args=[offered.public_id])).content.decode()

        assert "pitcher answers this offer" in page
        assert reverse("pitch_answer", args=[offered.public_id]) not in page

    def test_a_decline_without_a_reason_keeps_the_form_open(self, client, lab, offered):
        client.force_login(lab.pitcher)

        refused = answer(client, offered, "decline", reason=" ")
        done = answer(client, offered, "decline", reason="No use.")

        offered.refresh_from_db()
        assert (refused.status_code, done.status_code, offered.state) == (422, 302, "submitted")
        assert '<details class="disclose" open>' in refused.content.decode()

    def test_what_no_longer_fits_says_so_and_the_offer_stands(self, client, lab, offered):
        factories.grant(lab.project, gpus=38)
        client.force_login(lab.pitcher)

        refused = answer(client, offered, "accept")

        assert refused.status_code == 409
        assert "Research has 0 of 38 H100 left" in refused.content.decode()
        assert Pitch.objects.get(pk=offered.pk).state == "offered"


class TestChanges:
    def test_a_round_of_changes_from_asking_to_the_difference(self, client, lab, pitch):
        client.force_login(lab.head)
        sign(client, pitch, "changes", reason="Which baseline?")
        client.force_login(lab.pitcher)
        form = client.get(reverse("pitch_edit", args=[pitch.public_id])).content.decode()
        assert "Which baseline?" in form

        typed = dict(re.findall(r'name="(draft|version)" value="([^"]*)"', form))
        typed |= {
            "project": lab.project.pk, "title": pitch.title, "model": pitch.model.pk, "ideal_gpus": 12, "min_gpus": 8,
            "start_on": pitch.start_on.isoformat(), "days": 14, "why": "Against 41 %.", "do": "submit",
        }  # fmt: skip
        client.post(reverse("pitch_edit", args=[pitch.public_id]), typed)
        client.force_login(lab.chief)
        queue = client.get("/queue/").content.decode()

        pitch.refresh_from_db()
        assert (pitch.state, pitch.round) == ("submitted", 2)
        assert "2 changes since version 1" in queue
        assert "Against 41 %." in queue
        assert pitch.why == "Against 41 %."

    def test_the_page_offers_to_edit_and_to_submit_again(self, client, lab, pitch):
        client.force_login(lab.head)
        sign(client, pitch, "changes", reason="Which baseline?")
        client.force_login(lab.pitcher)

        page = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()

        assert "Submit again" in page
        assert reverse("pitch_edit", args=[pitch.public_id]) in page


class TestWaitlist:
    def test_it_has_a_group_of_its_own_in_the_queue(self, client, lab, pitch):
        factories.submitted(lab.project, lab.pitcher, title="Second in line")
        client.force_login(lab.head)

        page = sign(client, pitch, "waitlist", rank="", headers=HTMX).content.decode()

        group = page[page.index("Waitlist <span") :]
        assert re.findall(r'class="queue-title">(.*?)</span>', page) == ["Second in line", "First in line"]
        assert "rank 1 in Research" in group

    def test_a_decider_moves_it(self, client, lab, pitch):
        other = factories.pitch(lab.project, lab.pitcher, state="waitlisted", waitlist_rank=1)
        client.force_login(lab.head)
        sign(client, pitch, "waitlist", rank="2")

        moved = client.post(reverse("pitch_rank", args=[pitch.public_id]), {"rank": "1"})
        refused = client.post(reverse("pitch_rank", args=[pitch.public_id]), {"rank": "none"})

        other.refresh_from_db()
        assert (moved.status_code, refused.status_code, other.waitlist_rank) == (302, 422, 2)

    def test_it_is_signed_from_the_list(self, client, lab, pitch):
        client.force_login(lab.head)
        sign(client, pitch, "waitlist")
        pitch.refresh_from_db()

        for who, role in ((lab.head, "research-head"), (lab.chief, "chief-scientist")):
            client.force_login(who)
            sign(client, pitch, role=role)

        pitch.refresh_from_db()
        assert (pitch.state, pitch.waitlist_rank) == ("granted", None)


class TestUndo:
    @pytest.mark.parametrize("headers", [HTMX, {}], ids=["with script", "without"])
    def test_the_queue_offers_it_and_shows_the_pitch_again(self, client, lab, pitch, headers):
        client.force_login(lab.head)
        said = sign(client, pitch, "decline", reason="A slip.", headers=headers)
        page = (said if headers else client.get(said.url)).content.decode()
        address = re.search(r'<form class="undo" method="post" action="([^"]*)"', page).group(1)

        undone = client.post(address, headers=headers)

        pitch.refresh_from_db()
        assert (pitch.state, SignOff.objects.count()) == ("submitted", 0)
        if headers:
            assert undone.headers["HX-Push-Url"] == reverse("queue_item", args=[pitch.public_id])
            assert "Undone: First in line. Nobody was told." in undone.content.decode()
        else:
            assert undone.url == reverse("queue_item", args=[pitch.public_id])

    def test_too_late_it_says_what_helps(self, client, lab, pitch):
        client.force_login(lab.head)
        sign(client, pitch, "decline", reason="No.")
        signed = SignOff.objects.get()
        SignOff.objects.update(at=timezone.now() - timedelta(seconds=11))

        page = client.get(f"/queue/?undo={signed.pk}").content.decode()
        late = client.post(reverse("sign_off_undo", args=[signed.pk]))

        assert 'class="undo"' not in page
        assert late.status_code == 409
        assert "The pitcher can pitch it again from its page." in late.content.decode()

    def test_nobody_undoes_what_somebody_else_signed(self, client, lab, pitch):
        signed = pitches.sign_off(pitch=pitch, by=lab.head, role=lab.role("research-head"), verdict="approve", round=1)
        for who in (lab.chief, lab.pitcher, lab.admin):
            client.force_login(who)
            assert client.post(reverse("sign_off_undo", args=[signed.pk])).status_code == 404

        assert SignOff.objects.count() == 1

    @pytest.mark.parametrize("named", ["0", "999999999999999999999999", "x", "-1", "1e3", "%00"])
    def test_an_address_that_names_no_answer_is_the_plain_queue(self, client, lab, pitch, named):
        client.force_login(lab.head)

        assert client.get(f"/queue/?undo={named}").status_code in (200, 400)


def test_the_end_of_the_queue_opens_nothing_of_the_waitlist(client, lab, pitch):
    """A key pressed once too often must not sign what waits for nobody."""
    client.force_login(lab.head)
    sign(client, pitch, "waitlist")

    page = client.get("/queue/").content.decode()

    assert "Nothing waits for your signature" in page
    assert reverse("queue_item", args=[pitch.public_id]) in page
    assert 'class="answers"' not in page
