"""The minutes of a sitting: who decided what and why, as a page and a file."""

import re

import pytest

from allocations import pitches
from tests import factories
from tests.portal.desk import marks


@pytest.fixture
def fleet(lab):
    """32 H100 of which Research may promise 19."""
    factories.split()
    return factories.fleet(gpus=32)


@pytest.fixture
def three(lab, fleet):
    """Three pitches of 8, 8 and 8 for 14 days from today: two of them fit."""
    return [
        factories.submitted(lab.project, lab.pitcher, title=title, gpus=8, min_gpus=2)
        for title in ("First", "Second", "Third")
    ]


class TestMinutes:
    def test_the_minutes_say_who_decided_what_and_why(self, client, lab, three):
        client.force_login(lab.chief)
        client.post(
            "/desk/decide/",
            marks(three, taken=[0], declined=[2], gpus={0: 4}, reasons={0: "Four will do.", 2: "Not now.\nLater."}),
        )

        page = client.get("/desk/minutes/").content.decode()
        text = client.get("/desk/minutes.md").content.decode()

        assert re.findall(r"<h2><a[^>]*>(.*?)</a>", page) == ["First", "Third"]
        assert re.findall(r"<blockquote>(.*?)</blockquote>", page, re.S) == ["Four will do.", "Not now.\nLater."]
        assert [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("- ")] == [
            "approved 4 GPUs. Four will do.",
            "declined. Not now. Later.",
        ]

    @pytest.mark.parametrize(
        ("days", "status"),
        [
            ("from=2026-01-01&to=2026-01-05", 200),
            ("from=2026-01-05&to=2026-01-01", 422),
            ("from=yesterday", 422),
            ("from=2026-01-01&to=2027-01-01", 422),
            ("from=9999-12-31", 422),
        ],
    )
    def test_days_that_are_none_are_refused_in_words(self, client, lab, days, status):
        client.force_login(lab.chief)

        answers = [client.get(f"/desk/{page}?{days}") for page in ("minutes/", "minutes.md")]

        assert [answer.status_code for answer in answers] == [status, status]

    @pytest.mark.parametrize(
        ("verdict", "words"), [("changes", "asked for changes"), ("waitlist", "put on the waitlist")]
    )
    def test_the_minutes_call_no_other_answer_an_approval(self, client, lab, three, verdict, words):
        pitches.sign_off(
            pitch=three[0], by=lab.chief, role=lab.role("chief-scientist"), verdict=verdict, round=1, reason="Later."
        )
        client.force_login(lab.chief)

        for page in ("minutes/", "minutes.md"):
            text = client.get(f"/desk/{page}").content.decode()
            assert (words in text, "approved" in text) == (True, False)

    def test_minutes_of_another_day_are_empty(self, client, lab, three):
        client.force_login(lab.chief)
        client.post("/desk/decide/", marks(three, taken=[0]))

        page = client.get("/desk/minutes/?from=2026-01-01&to=2026-01-05").content.decode()

        assert "Nothing was decided on these days" in page
