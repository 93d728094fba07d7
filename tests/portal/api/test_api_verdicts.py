"""Answers to pitches over the API: other terms, an offer accepted or declined, the waitlist, undo."""

import pytest

from allocations.models import Grant
from tests import factories

JSON = "application/json"


@pytest.fixture
def pitch(lab):
    factories.split()
    factories.fleet(gpus=64)
    return factories.submitted(lab.project, lab.pitcher, gpus=16, min_gpus=8)


@pytest.fixture
def act(client, pitch):
    """Somebody posts to an action of the pitch."""

    def post(person, action, **said):
        client.force_login(person)
        return client.post(f"/api/pitches/{pitch.public_id}/{action}/", said, JSON)

    return post


@pytest.fixture
def offered(lab, act):
    """Both have signed 4 GPUs for 20 days, which nobody asked for."""
    act(lab.chief, "sign", role="chief-scientist", verdict="approve", round=1, gpus=4, days=20)
    return act(lab.head, "sign", role="research-head", verdict="approve", round=2)


def test_terms_that_nobody_asked_for_are_offered_and_accepted(lab, act, offered):
    told = offered.json()
    assert (told["state"], told["offered_gpus"], told["offered_days"]) == ("offered", 4, 20)
    assert told["answer_due_at"] is not None

    answer = act(lab.pitcher, "accept", round=2)

    assert (answer.status_code, answer.json()["state"], Grant.objects.get().gpus) == (200, "granted", 4)


def test_a_declined_offer_is_open_again(lab, act, offered):
    without_reason = act(lab.pitcher, "decline_offer", round=2)
    answer = act(lab.pitcher, "decline_offer", round=2, reason="Four are no use.")

    assert (without_reason.status_code, without_reason.json()["code"]) == (422, "bad_terms")
    assert (answer.json()["state"], answer.json()["round"], answer.json()["offered_gpus"]) == ("submitted", 3, 16)


def test_an_offer_is_accepted_by_its_askers_only_and_as_it_was_seen(lab, act, offered):
    assert [act(who, "accept", round=2).status_code for who in (lab.chief, lab.team_mate, lab.stranger)] == [
        403,
        403,
        404,
    ]
    stale = act(lab.pitcher, "accept", round=1)
    assert (stale.status_code, stale.json()["code"], Grant.objects.count()) == (409, "stale", 0)


def test_the_waitlist_and_its_ranks(lab, act, pitch):
    other = factories.pitch(lab.project, lab.pitcher, state="waitlisted", waitlist_rank=1)

    listed = act(lab.chief, "sign", role="chief-scientist", verdict="waitlist", round=1).json()
    moved = act(lab.head, "rank", rank=1).json()

    other.refresh_from_db()
    assert (listed["state"], listed["waitlist_rank"], moved["waitlist_rank"], other.waitlist_rank) == (
        "waitlisted", 2, 1, 2,
    )  # fmt: skip


def test_an_answer_is_undone(lab, act, pitch):
    act(lab.chief, "sign", role="chief-scientist", verdict="decline", round=1, reason="A slip.")

    answer = act(lab.chief, "undo")
    again = act(lab.chief, "undo")

    assert (answer.json()["state"], answer.json()["sign_offs"]) == ("submitted", [])
    assert (again.status_code, again.json()["code"]) == (409, "wrong_state")


@pytest.mark.parametrize(
    "terms", [{"gpus": 17}, {"start_on": "2020-01-01"}, {"days": 0}, {"model": "none such"}, {"rank": 0}]
)
def test_terms_that_make_no_sense_are_refused_whole(lab, act, terms):
    answer = act(lab.chief, "sign", role="chief-scientist", verdict="approve", round=1, **terms)

    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"
