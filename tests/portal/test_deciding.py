"""Deciding through the pages: what is typed is kept, what is pressed has one effect, the next item is there at once."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations.days import start_of
from allocations.grants import site_zone
from allocations.models import Grant, Pitch, Project, SignOff, Split
from tests import factories

ANSWERS = r'<details class="disclose"( open)?><summary class="btn btn-\w+ btn-large'


@pytest.fixture
def fleet(lab):
    """32 H100 of which Research may promise 19."""
    factories.split()
    return factories.fleet(gpus=32)


def _typed(lab, **changes) -> dict:
    today = timezone.now().date()
    return {
        "project": lab.project.pk, "title": "A longer context", "model": factories.model().pk, "ideal_gpus": 16,
        "min_gpus": 8, "start_on": today.isoformat(), "days": 14, "why": "The short one is too short.",
        "expected_result": "Loss below 1.2", "check_on": (today + timedelta(days=20)).isoformat(),
        "if_declined": "We wait.", "one_island": "on", "do": "submit",
    } | changes  # fmt: skip


def _values(page: str) -> dict[str, str]:
    """What the form's inputs hold."""
    fields = dict(re.findall(r'<input type="\w+" name="(\w+)" value="([^"]*)"', page))
    return fields | {
        name: text.strip() for name, text in re.findall(r'<textarea name="(\w+)"[^>]*>(.*?)</textarea>', page, re.S)
    }


class TestPitching:
    def test_a_submitted_pitch_waits_for_its_roles(self, client, lab, fleet):
        client.force_login(lab.pitcher)

        answer = client.post("/pitches/new/", _typed(lab), follow=True)

        pitch = Pitch.objects.get(title="A longer context")
        assert (pitch.state, pitch.one_island, pitch.ideal_gpus, pitch.min_gpus) == ("submitted", True, 16, 8)
        assert answer.redirect_chain == [(reverse("pitch", args=[pitch.public_id]), 302)]
        assert "It now waits for: Chief scientist, Research head." in answer.content.decode()

    def test_a_draft_is_saved_and_opens_again_as_it_was(self, client, lab, fleet):
        client.force_login(lab.pitcher)

        answer = client.post("/pitches/new/", _typed(lab, do="save", why=""), follow=True)

        pitch = Pitch.objects.get(title="A longer context")
        assert pitch.state == Pitch.State.DRAFT
        assert answer.redirect_chain == [(reverse("pitch_edit", args=[pitch.public_id]), 302)]
        assert _values(answer.content.decode())["expected_result"] == "Loss below 1.2"

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"days": "0"}, "greater than or equal to 1"),
            ({"why": ""}, "This field is required."),
            ({"min_gpus": "17"}, "The minimum is above the ideal of 16 GPUs."),
            ({"start_on": "2020-01-01"}, "The first day has passed"),
            ({"ideal_gpus": "many"}, "Enter a whole number."),
            ({"ideal_gpus": "20"}, "Research has 19 of 19 H100 left"),
        ],
    )
    def test_a_refused_pitch_keeps_all_that_was_typed(self, client, lab, fleet, changes, sentence):
        client.force_login(lab.pitcher)
        typed = _typed(lab, **changes)

        answer = client.post("/pitches/new/", typed)

        page = answer.content.decode()
        kept = _values(page)
        names = (
            "title",
            "ideal_gpus",
            "min_gpus",
            "start_on",
            "days",
            "why",
            "expected_result",
            "check_on",
            "if_declined",
        )
        assert answer.status_code in (422, 409)
        assert {name: kept[name] for name in names} == {name: str(typed[name]) for name in names}
        assert sentence in page
        assert not Pitch.objects.filter(state=Pitch.State.SUBMITTED).exists()

    def test_a_submission_refused_twice_makes_one_draft(self, client, lab, fleet):
        client.force_login(lab.pitcher)

        first = client.post("/pitches/new/", _typed(lab, ideal_gpus="20"))
        action = re.search(r'<form id="pitch-form"[^>]*action="([^"]*)"', first.content.decode()).group(1)
        second = client.post(action, _typed(lab, ideal_gpus="21"))

        assert [answer.status_code for answer in (first, second)] == [409, 409]
        assert list(Pitch.objects.values_list("state", "ideal_gpus")) == [("draft", 21)]

    def test_the_outlook_says_what_fits_who_signs_and_what_it_costs(self, client, lab, fleet):
        client.force_login(lab.pitcher)
        numbers = {
            name: _typed(lab)[name] for name in ("project", "model", "ideal_gpus", "min_gpus", "start_on", "days")
        }

        fits = client.get("/pitches/outlook/", numbers).content.decode()
        too_many = client.get("/pitches/outlook/", numbers | {"ideal_gpus": 20}).content.decode()
        more_than_all = client.get("/pitches/outlook/", numbers | {"ideal_gpus": 90}).content.decode()
        upside_down = client.get("/pitches/outlook/", numbers | {"min_gpus": 17}).content.decode()
        nonsense = client.get("/pitches/outlook/", numbers | {"days": "x"})

        assert "At the tightest moment 19 are free; 3 would be left." in fits
        assert "5.4 k GPU-h" in fits
        assert re.findall(r"<div>(Chief scientist|Research head)", fits) == ["Chief scientist", "Research head"]
        assert "It does not fit as asked." in too_many
        assert "1 short" in too_many
        assert "Research has only 19 H100." in more_than_all
        assert ("It fits." in upside_down, "At least 17 is more than the 16 asked for." in upside_down) == (False, True)
        assert re.findall(r'id="verdict-line"[^>]*><strong>(.*?)</strong>', too_many) == ["It does not fit: 1 short."]
        assert (nonsense.status_code, '<svg class="chart"' in nonsense.content.decode()) == (200, False)

    def test_a_withdrawn_pitch_leaves_the_queue(self, client, lab, fleet):
        pitch = factories.submitted(lab.project, lab.pitcher)
        client.force_login(lab.pitcher)

        client.post(reverse("pitch_withdraw", args=[pitch.public_id]), {"reason": "Found another way."})
        client.force_login(lab.chief)

        assert "Nothing waits for your signature" in client.get("/queue/").content.decode()

    def test_a_declined_pitch_shows_its_reason_before_all_else(self, client, lab, fleet):
        pitch = factories.submitted(lab.project, lab.pitcher)
        client.force_login(lab.head)
        client.post(
            reverse("pitch_sign", args=[pitch.public_id]),
            {"answer": "decline", "round": 1, "role": "research-head", "reason": "The other run comes first."},
        )
        client.force_login(lab.pitcher)

        page = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()

        content = page[page.index("<main") :]
        assert content.index("The other run comes first.") < content.index('class="stepper"')
        assert content.index("Declined by the Research head") < content.index("The other run comes first.")


class TestSigning:
    @pytest.fixture
    def pitch(self, lab, fleet):
        return factories.submitted(lab.project, lab.pitcher, gpus=16, min_gpus=8, title="First in line")

    @staticmethod
    def _sign(client, pitch, **typed):
        return client.post(reverse("pitch_sign", args=[pitch.public_id]), {"answer": "approve", "round": 1} | typed)

    def test_after_both_signatures_the_pitch_is_granted(self, client, lab, pitch):
        for person, role in ((lab.head, "research-head"), (lab.chief, "chief-scientist")):
            client.force_login(person)
            answer = self._sign(client, pitch, role=role)

        pitch.refresh_from_db()
        assert (answer.status_code, pitch.state) == (302, Pitch.State.GRANTED)
        assert list(Grant.objects.values_list("pitch", "gpus")) == [(pitch.pk, 16)]

    def test_the_next_item_is_there_at_once(self, client, lab, pitch):
        factories.submitted(lab.project, lab.pitcher, title="Second in line")
        client.force_login(lab.head)

        answer = client.post(
            reverse("pitch_sign", args=[pitch.public_id]),
            {"answer": "approve", "round": 1, "role": "research-head"},
            headers={"HX-Request": "true"},
        )

        part = answer.content.decode()
        assert answer.status_code == 200
        assert answer.headers["HX-Push-Url"] == "/queue/"
        assert re.findall(r'id="item-title"[^>]*><a[^>]*>(.*?)</a>', part) == ["Second in line"]
        assert "Signed for 16 H100: First in line. It waits for the other signatures." in part

    def test_the_last_signature_is_told_once_beside_its_undo(self, client, lab, pitch):
        factories.sign_off(pitch, lab.chief, "chief-scientist")
        client.force_login(lab.head)

        self._sign(client, pitch, role="research-head", answer="approve")
        page = client.get(f"/queue/?undo={SignOff.objects.get(person=lab.head).pk}").content.decode()

        assert page.count("Granted: 16 H100 for First in line.") == 1
        assert "Nobody is told yet." in page
        assert 'class="toast-line' not in page.split('<template id="toast-template"')[0]

    @pytest.mark.parametrize(("signed", "disabled"), [(False, []), (True, ["disabled"])])
    def test_who_signs_last_is_not_offered_what_can_only_fail(self, client, lab, pitch, signed, disabled):
        factories.grant(lab.project, gpus=14)
        if signed:
            factories.sign_off(pitch, lab.chief, "chief-scientist")
        client.force_login(lab.head)

        page = client.get("/queue/").content.decode()

        assert re.findall(r'data-key="a"[^>]* (disabled)', page) == disabled
        assert ("Yours is the last signature, and 16 do not fit: approve them from" in page) == signed
        assert re.findall(r'data-key="f"[^>]* (disabled)', page) == []

    def test_fewer_open_the_next_round(self, client, lab, pitch):
        client.force_login(lab.head)

        self._sign(client, pitch, role="research-head", answer="less", gpus="10", reason="Ten will do.")

        pitch.refresh_from_db()
        assert (pitch.round, pitch.offered_gpus, pitch.state) == (2, 10, Pitch.State.SUBMITTED)
        assert list(SignOff.objects.values_list("round", "gpus", "reason")) == [(2, 10, "Ten will do.")]

    @pytest.mark.parametrize(
        ("typed", "sentence"),
        [
            ({"answer": "less", "gpus": "", "reason": "Ten will do."}, "This field is required."),
            ({"answer": "less", "gpus": "17", "reason": "Ten will do."}, "Approve from 1 to 16"),
            ({"answer": "less", "gpus": "many", "reason": "Ten will do."}, "Enter a whole number."),
            ({"answer": "less", "gpus": "16", "reason": "Ten will do."}, "16 on these days are on the table already"),
        ],
    )
    def test_a_refused_answer_keeps_what_was_typed_with_its_form_open(self, client, lab, pitch, typed, sentence):
        client.force_login(lab.head)

        answer = self._sign(client, pitch, role="research-head", **typed)

        page = answer.content.decode()
        assert answer.status_code == 422
        assert sentence in page
        assert re.findall(ANSWERS, page) == [" open", ""]
        assert f'name="gpus" type="number" inputmode="numeric" min="1" value="{typed["gpus"]}"' in page
        assert re.findall(r'id="less-reason"[^>]*>(.*?)</textarea>', page) == ["Ten will do."]
        assert SignOff.objects.count() == 0

    def test_what_fits_only_later_is_approved_from_that_day_with_one_press(self, client, lab, pitch):
        ends_at = timezone.now() + timedelta(days=9)
        factories.grant(lab.project, gpus=19, ends_at=ends_at)
        client.force_login(lab.head)
        page = client.get(reverse("queue")).content.decode()
        day = re.findall(r'name="start_on" value="([0-9-]+)"', page)

        self._sign(client, pitch, role="research-head", answer="less", gpus="16", start_on=day)

        pitch.refresh_from_db()
        assert [str(pitch.terms.start_on)] == day
        assert ends_at < start_of(pitch.terms.start_on, site_zone()) <= ends_at + timedelta(days=1)
        assert "16 short" in page
        assert page.count("btn-primary btn-large") == 0

    @pytest.mark.parametrize(("promised", "typed"), [(0, "8"), (9, "10"), (14, "5"), (30, "8")])
    def test_approving_less_begins_with_what_fits_else_with_the_minimum(self, client, lab, pitch, promised, typed):
        if promised:
            factories.grant(lab.project, gpus=promised)
        client.force_login(lab.head)

        page = client.get(reverse("queue")).content.decode()

        assert re.findall(r'id="less-gpus"[^>]* value="(\d*)"', page) == [typed]

    def test_where_the_minimum_is_the_ask_nothing_is_typed_beforehand(self, client, lab, pitch):
        Pitch.objects.update(min_gpus=16)
        client.force_login(lab.head)

        page = client.get(reverse("queue")).content.decode()

        assert re.findall(r'id="less-gpus"[^>]* value="(\d*)"', page) == [""]
        assert "Fewer than 16 would not do" in page

    def test_new_terms_that_do_not_fit_are_told_at_once(self, client, lab, pitch):
        factories.grant(lab.project, gpus=14)
        client.force_login(lab.head)

        self._sign(client, pitch, role="research-head", answer="less", gpus="15")

        assert "15 do not fit on those days as things stand; up to 5 do." in client.get("/queue/").content.decode()

    def test_the_pitch_page_says_whether_what_lies_on_the_table_fits(self, client, lab, pitch):
        client.force_login(lab.pitcher)
        fits = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()
        factories.grant(lab.project, gpus=14)
        short = client.get(reverse("pitch", args=[pitch.public_id])).content.decode()

        assert ("It fits." in fits, "It does not fit as asked." in fits) == (True, False)
        assert ("It fits." in short, "11 short" in short) == (False, True)

    def test_a_promise_above_the_share_is_never_a_negative_number(self, client, lab, pitch):
        factories.grant(lab.project, gpus=30)
        client.force_login(lab.head)

        assert "11 promised too many" in client.get(reverse("queue")).content.decode()

    def test_what_comes_before_an_answer_names_who_else_wants_these(self, client, lab, pitch):
        other = factories.submitted(lab.project, lab.pitcher, gpus=8, title="Half signed already")
        client.force_login(lab.head)
        address = reverse("queue_history", args=[pitch.public_id])
        beside = client.get(address, headers={"HX-Request": "true"}).content.decode()
        Pitch.objects.filter(pk=other.pk).update(ideal_gpus=3, offered_gpus=3, min_gpus=3)
        fits = client.get(address, headers={"HX-Request": "true"}).content.decode()

        assert ("Also want these H100" in beside, "Also want these H100" in fits) == (True, False)
        assert "Half signed already" in beside

    def test_a_decline_needs_its_reason(self, client, lab, pitch):
        client.force_login(lab.head)

        answer = self._sign(client, pitch, role="research-head", answer="decline", reason="  ")

        assert answer.status_code == 422
        assert re.findall(ANSWERS, answer.content.decode()) == ["", " open"]
        assert Pitch.objects.get(pk=pitch.pk).state == Pitch.State.SUBMITTED

    def test_terms_that_changed_under_the_signer_are_shown_anew(self, client, lab, pitch):
        client.force_login(lab.head)
        self._sign(client, pitch, role="research-head", answer="less", gpus="10")
        client.force_login(lab.chief)

        answer = self._sign(client, pitch, role="chief-scientist")

        page = answer.content.decode()
        assert answer.status_code == 409
        assert 'name="round" value="2"' in page
        assert "Approve 10" in page
        assert SignOff.objects.filter(person=lab.chief).count() == 0

    def test_who_comes_second_is_told_and_nothing_happens_twice(self, client, lab, pitch):
        client.force_login(lab.head)
        self._sign(client, pitch, role="research-head", answer="decline", reason="Not now.")
        client.force_login(lab.chief)

        answer = self._sign(client, pitch, role="chief-scientist")

        assert answer.status_code in (403, 409)
        assert SignOff.objects.count() == 1

    def test_what_no_longer_fits_says_so_with_the_numbers(self, client, lab, pitch):
        client.force_login(lab.head)
        self._sign(client, pitch, role="research-head")
        factories.grant(lab.project, gpus=8)
        client.force_login(lab.chief)

        answer = self._sign(client, pitch, role="chief-scientist")

        page = answer.content.decode()
        assert answer.status_code == 409
        assert "Research has 11 of 19 H100 left" in page
        assert (Pitch.objects.get(pk=pitch.pk).state, SignOff.objects.count()) == (Pitch.State.SUBMITTED, 1)


class TestSplits:
    @staticmethod
    def _typed(research: str, applied: str, **changes) -> dict:
        tomorrow = timezone.now().date() + timedelta(days=1)
        shares = {"p-all-research": research, "p-all-applied": applied}
        return {**shares, "starts_on": tomorrow.isoformat(), "reason": "Winter.", "do": "propose"} | changes

    def test_a_split_holds_once_both_have_signed(self, client, lab, fleet):
        client.force_login(lab.ceo)
        client.post("/split/propose/", self._typed("50", "45"))
        split = Split.objects.get(state=Split.State.PROPOSED)

        for person, role in ((lab.ceo, "ceo"), (lab.ceo_apps, "ceo-applications")):
            client.force_login(person)
            client.post(reverse("split_sign", args=[split.public_id]), {"role": role})

        split.refresh_from_db()
        assert split.state == Split.State.SIGNED
        assert {line.division.slug: int(line.percent) for line in split.lines.all()} == {"research": 50, "applied": 45}

    @pytest.mark.parametrize(
        "typed",
        [("70", "40"), ("-1", "40"), ("x", "40"), ("", "40")],
        ids=["over 100", "negative", "no number", "empty"],
    )
    def test_a_refused_proposal_keeps_what_was_typed(self, client, lab, fleet, typed):
        client.force_login(lab.ceo)

        answer = client.post("/split/propose/", self._typed(*typed))

        page = answer.content.decode()
        kept = [
            re.search(rf'name="p-all-{slug}"(?: value="([^"]*)")?', page).group(1) for slug in ("research", "applied")
        ]
        assert answer.status_code == 422
        assert [value or "" for value in kept] == list(typed)
        assert re.findall(r'<textarea name="reason"[^>]*>\s*(.*?)</textarea>', page) == ["Winter."]
        assert Split.objects.filter(state=Split.State.PROPOSED).count() == 0

    def test_the_preview_shows_the_debt_before_anything_is_signed(self, client, lab, fleet):
        factories.grant(lab.project, gpus=16)
        client.force_login(lab.ceo)

        page = client.get("/split/preview/", self._typed("25", "40")).content.decode()

        assert "Research stands 8 H100 over its share." in page
        assert Split.objects.filter(state=Split.State.PROPOSED).count() == 0

    def test_a_model_takes_all_its_percents_or_none(self, client, lab, fleet):
        model = factories.model()
        client.force_login(lab.ceo)

        answer = client.post("/split/propose/", self._typed("50", "45", **{f"p-{model.pk}-research": "80"}))

        assert answer.status_code == 422
        assert "H100: give a percent for each division or for none." in answer.content.decode()

    def test_a_withdrawn_proposal_is_gone(self, client, lab, fleet):
        client.force_login(lab.ceo)
        client.post("/split/propose/", self._typed("50", "45"))
        split = Split.objects.get(state=Split.State.PROPOSED)

        client.post(reverse("split_withdraw", args=[split.public_id]), {"reason": "A slip."})

        split.refresh_from_db()
        assert split.state == Split.State.WITHDRAWN


class TestProjectsAndGrants:
    def test_the_release_day_is_inclusive_in_the_sites_zone(self, client, lab, settings):
        settings.SITE_TIME_ZONE = "Europe/Oslo"
        client.force_login(lab.lead)

        client.post(
            reverse("project_wind_down", args=[lab.project.slug]),
            {"wind-releases_on": "2090-03-31", "wind-reason": "Trained."},
        )

        lab.project.refresh_from_db()
        assert lab.project.state == Project.State.WINDING_DOWN
        assert lab.project.releases_at.isoformat() == "2090-03-31T22:00:00+00:00"
        assert "31 Mar 2090" in client.get(reverse("project", args=[lab.project.slug])).content.decode()

    def test_a_project_goes_on_after_all_and_ends_at_last(self, client, lab):
        client.force_login(lab.lead)
        url = [
            reverse(name, args=[lab.project.slug]) for name in ("project_wind_down", "project_resume", "project_end")
        ]
        states = []

        for address, typed in zip(
            url,
            (
                {"wind-releases_on": "2090-03-31", "wind-reason": "Trained."},
                {"resume-reason": "One more run."},
                {"end-reason": "Written up."},
            ),
            strict=True,
        ):
            client.post(address, typed)
            lab.project.refresh_from_db()
            states.append(lab.project.state)

        assert states == ["winding_down", "active", "ended"]

    @pytest.mark.parametrize("day", ["", "yesterday", "2020-01-01"])
    def test_a_refused_wind_down_keeps_its_reason(self, client, lab, day):
        client.force_login(lab.lead)

        answer = client.post(
            reverse("project_wind_down", args=[lab.project.slug]),
            {"wind-releases_on": day, "wind-reason": "The final checkpoint is trained."},
        )

        assert answer.status_code in (422, 409)
        page = answer.content.decode()
        assert re.findall(r'<textarea name="wind-reason"[^>]*>\s*(.*?)</textarea>', page) == [
            "The final checkpoint is trained."
        ]
        assert Project.objects.get(pk=lab.project.pk).state == Project.State.ACTIVE

    def test_a_grant_ends_early_for_a_reason(self, client, lab):
        grant = factories.grant(lab.project)
        client.force_login(lab.lead)

        without = client.post(reverse("grant_end", args=[grant.public_id]), {"reason": ""})
        ended = client.post(reverse("grant_end", args=[grant.public_id]), {"reason": "Done sooner."})
        again = client.post(reverse("grant_end", args=[grant.public_id]), {"reason": "Done sooner."})

        grant.refresh_from_db()
        assert [answer.status_code for answer in (without, ended, again)] == [422, 302, 409]
        assert grant.ended_by == lab.lead
