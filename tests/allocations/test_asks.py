"""What a pitch says beside its numbers: other models, links, answers to questions, a start window, labels of nodes."""

from datetime import UTC, date, datetime, timedelta

import pytest

from allocations import asks, pitches, queries
from allocations.asks import Alternative, Details, Link
from allocations.errors import BadTerms, OverShare, Stale
from allocations.models import Grant, Pitch, Question
from inventory.models import Event
from tests import factories
from tests.allocations import acts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

PAPER = Link("The paper", "https://papers.example/1")


def ask(lab, **changes):
    return Question.objects.create(**{"text": "Which data?", "division": lab.research, **changes})


def others(*pairs) -> Details:
    return Details(alternatives=tuple(Alternative(factories.model(name), gpus) for name, gpus in pairs))


def test_all_of_it_is_kept_shown_and_carried_into_the_next_try(world):
    question = ask(world)
    details = Details(others(("A100", 64), ("V100", 128)).alternatives, (PAPER,), {question: "Public web text"})
    pitch = acts.draft(world, details=details, start_until=date(2027, 3, 8), required_labels={"site": "oslo"})
    Pitch.objects.filter(pk=pitch.pk).update(state="withdrawn")

    again = pitches.resubmit_pitch(pitch=Pitch.objects.get(), by=world.pitcher)

    for row in (pitch, again):
        row.refresh_from_db()
        assert asks.details_of(row) == details
        assert (row.start_until, row.required_labels) == (date(2027, 3, 8), {"site": "oslo"})
    assert asks.changes_between(pitch, again) == {}
    said = asks.said_by(pitch)
    assert (said["alternatives"], said["links"]) == ("64 x A100, 128 x V100", "The paper https://papers.example/1")
    assert (said["answers"], said["required_labels"]) == ("Which data? Public web text", "site=oslo")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("alternatives", {"details": "others"}),
        ("links", {"details": Details(links=(PAPER,))}),
        ("answers", {"details": "answer"}),
        ("required_labels", {"required_labels": {"site": "turin"}}),
        ("start_until", {"start_until": date(2027, 3, 9)}),
    ],
)
def test_each_of_them_makes_another_version_a_difference_and_a_conflict_of_two_tabs(world, field, changes):
    question = ask(world)
    made = {"others": others(("A100", 64)), "answer": Details(answers={question: "All of it"})}
    if isinstance(changes.get("details"), str):
        changes = {"details": made[changes["details"]]}
    before, pitch = acts.draft(world), acts.draft(world)
    seen = asks.version_of(pitch)

    acts.draft(world, pitch=pitch, version=seen, **changes)

    assert set(asks.changes_between(before, pitch)) == {field}
    assert asks.version_of(pitch) not in (seen, "")
    assert asks.version_of(Pitch.objects.get(pk=pitch.pk)) == asks.version_of(pitch)
    assert Event.objects.get(verb="pitch.edited").facts["changed"] == [field]
    with pytest.raises(Stale):
        acts.draft(world, pitch=pitch, version=seen, title="Mine")


def test_a_draft_without_them_any_more_has_none(world):
    pitch = acts.draft(world, details=Details(others(("A100", 64)).alternatives, (PAPER,), {ask(world): "x"}))

    acts.draft(world, pitch=pitch)

    assert asks.details_of(Pitch.objects.get()) == Details()


def test_the_version_does_not_depend_on_the_order_in_which_labels_were_typed(world):
    pitch = acts.draft(world, required_labels={"storage": "nvme", "site": "oslo"})

    assert asks.version_of(pitch) == asks.version_of(Pitch.objects.get())


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("alternatives", lambda: {"details": others(("H100", 8))}),
        ("alternatives", lambda: {"details": others(("A100", 8), ("A100", 16))}),
        ("alternatives", lambda: {"details": others(("A100", 0))}),
        ("alternatives", lambda: {"details": others(("A", 8), ("B", 8), ("C", 8), ("D", 8))}),
        ("links", lambda: {"details": Details(links=(Link("", "http://papers.example/1"),))}),
        ("links", lambda: {"details": Details(links=(Link("", "javascript:alert(1)"),))}),
        ("links", lambda: {"details": Details(links=(Link("", "https://"),))}),
        ("links", lambda: {"details": Details(links=(Link("", "https://a.example/ b"),))}),
        ("links", lambda: {"details": Details(links=(PAPER, PAPER))}),
        ("links", lambda: {"details": Details(links=tuple(Link("", f"https://a.example/{n}") for n in range(11)))}),
        ("required_labels", lambda: {"required_labels": {"cpu_milli": "96000"}}),
        ("start_until", lambda: {"start_until": date(2027, 2, 28)}),
    ],
)
def test_what_no_pitch_can_say_is_refused_with_its_field_and_nothing_is_written(world, field, changes):
    with pytest.raises(BadTerms) as refused:
        acts.draft(world, **changes())

    assert (refused.value.facts["field"], Pitch.objects.count()) == (field, 0)


class TestQuestions:
    @pytest.mark.parametrize(
        ("kind", "good", "bad"),
        [
            ("number", "12.5", "many"),
            ("number", "-3", "nan"),
            ("choice", "two", "three"),
            ("date", "2027-03-31", "soon"),
        ],
    )
    def test_an_answer_is_of_the_kind_that_the_question_names(self, world, kind, good, bad):
        question = ask(world, kind=kind, choices=["one", "two"] if kind == "choice" else [])

        pitch = acts.draft(world, details=Details(answers={question: good}))

        with pytest.raises(BadTerms) as refused:
            acts.draft(world, pitch=pitch, details=Details(answers={question: bad}))
        assert refused.value.message.startswith("“Which data?” is answered with")
        assert (refused.value.facts["field"], pitch.answers.get().value) == (f"question_{question.pk}", good)

    def test_a_required_one_is_asked_for_at_submission_and_not_before(self, world):
        question = ask(world, is_required=True)
        pitch = acts.draft(world)

        with pytest.raises(BadTerms) as refused:
            pitches.submit_pitch(pitch=pitch, by=world.pitcher)

        assert refused.value.message == "Your division asks: “Which data?”"
        acts.draft(world, pitch=pitch, details=Details(answers={question: "Public web text"}))
        assert pitches.submit_pitch(pitch=pitch, by=world.pitcher).state == "submitted"

    def test_another_division_and_one_that_is_asked_no_more_ask_nothing(self, world, noon):
        ask(world, is_required=True, division=world.applied)
        ask(world, is_required=True, ended_at=noon)

        assert acts.submit(world).state == "submitted"

    def test_one_of_no_division_is_asked_by_every_division(self, world):
        ask(world, is_required=True, division=None)

        with pytest.raises(BadTerms):
            acts.submit(world)


class TestPlaces:
    @pytest.fixture
    def oslo(self, world):
        return factories.node(gpus=8, site="oslo", labels={"storage": "nvme", "driver": 550})

    def test_a_label_that_no_node_has_is_refused_with_the_values_that_there_are(self, world, oslo):
        with pytest.raises(BadTerms) as refused:
            acts.submit(world, required_labels={"site": "paris"})
        with pytest.raises(BadTerms) as unknown:
            acts.submit(world, required_labels={"network": "ib"})

        assert refused.value.message == "No node has the site paris; there are: oslo."
        assert (refused.value.facts["field"], refused.value.facts["values"]) == ("required_labels", ["oslo"])
        assert unknown.value.message == "No node says anything of its network."

    def test_more_than_stands_on_such_nodes_is_refused_with_the_number(self, world, oslo):
        with pytest.raises(BadTerms) as refused:
            acts.submit(world, gpus=9, required_labels={"site": "oslo", "storage": "nvme"})

        message = "Nodes with site oslo, storage nvme have 8 H100 in all; you ask for 9."
        assert (refused.value.message, refused.value.facts["gpus"]) == (message, 8)

    def test_a_number_among_the_labels_counts_as_its_text(self, world, oslo):
        assert acts.submit(world, gpus=8, required_labels={"driver": "550"}).state == "submitted"

    def test_the_grant_carries_them_and_its_need_takes_only_such_gpus(self, world, oslo):
        pitch = acts.submit(world, gpus=8, required_labels={"site": "oslo", "driver": "550"})
        acts.approve(world, pitch, world.chief, "chief-scientist")
        acts.approve(world, pitch, world.head, "research-head")

        grant = Grant.objects.get()
        need, units = queries.need_of(grant), queries.build_snapshot().units

        assert grant.required_labels == {"site": "oslo", "driver": "550"}
        assert {unit.node for unit in units if need.labels <= unit.labels} == {oslo.name}


def test_a_start_window_that_ends_too_late_is_refused_at_its_field(world, noon):
    pitch = acts.draft(world, start_until=noon.date() + timedelta(days=731))

    with pytest.raises(BadTerms) as refused:
        pitches.submit_pitch(pitch=pitch, by=world.pitcher)

    assert refused.value.facts["field"] == "start_until"


class TestStartWindow:
    """60 H100 may be promised; 40 of them are taken until the fourth day, noon."""

    @pytest.fixture
    def taken(self, world, noon):
        return factories.grant(world.project, gpus=40, starts_at=noon, ends_at=noon + timedelta(days=3))

    def test_without_one_what_does_not_fit_on_its_first_day_is_refused(self, world, taken):
        with pytest.raises(OverShare):
            acts.submit(world, gpus=32)

    def test_it_begins_on_the_first_day_of_the_window_on_which_all_of_it_fits(self, world, noon, taken):
        pitch = acts.submit(world, gpus=32, start_until=date(2027, 3, 9))
        pitch.refresh_from_db()

        acts.approve(world, pitch, world.chief, "chief-scientist")
        acts.approve(world, pitch, world.head, "research-head")

        grant = Grant.objects.get(pitch=pitch)
        assert (pitch.start_on, pitch.terms.start_on) == (noon.date(), date(2027, 3, 5))
        assert (grant.starts_at, grant.ends_at - grant.starts_at) == (
            datetime(2027, 3, 5, tzinfo=UTC),
            timedelta(days=14),
        )

    def test_a_window_that_ends_before_that_day_helps_nothing(self, world, taken):
        with pytest.raises(OverShare):
            acts.submit(world, gpus=32, start_until=date(2027, 3, 4))

    def test_what_fits_at_once_begins_at_once(self, world, taken):
        assert acts.submit(world, gpus=20, start_until=date(2027, 3, 9)).offered_start_on is None
