"""Look-alike pitches: most alike first, only what the person may see, from the index."""

import pytest
from django.db import connection
from django.utils import timezone

from allocations import queries
from allocations.models import Pitch
from allocations.queries.alike import MOST_ALIKE
from tests import factories
from tests.allocations import acts

TITLE = "Fold larger proteins"


def alike(title, person, **changes):
    terms = {"why": "", "project": None} | changes
    return [each.pitch.title for each in queries.look_alikes(title=title, person=person, **terms)]


def test_the_most_alike_comes_first_and_what_is_not_alike_does_not_come(lab):
    for title in (
        "Fold much larger proteins again",
        "Robotics simulation batch",
        TITLE,
        "Fold larger proteins, part 2",
    ):
        factories.submitted(lab.project, lab.team_mate, title=title)

    found = alike(TITLE, lab.pitcher)

    assert found == [TITLE, "Fold larger proteins, part 2", "Fold much larger proteins again"]


@pytest.mark.parametrize(
    ("typed", "there"),
    [
        ("Größere Proteine falten", "Größere Proteine falten, zweiter Lauf"),
        ("Überwachung der Straßenbeläge", "Überwachung von Straßenbelägen"),
        ("fold LARGER proteins", TITLE),
        ("Fold larger protiens", TITLE),
    ],
)
def test_umlauts_capitals_and_slips_of_the_keyboard_are_found(lab, typed, there):
    factories.submitted(lab.project, lab.team_mate, title=there)
    factories.submitted(lab.project, lab.team_mate, title="Öffentliche Übertragung der Höhepunkte")

    assert alike(typed, lab.pitcher) == [there]


@pytest.mark.parametrize("title", ["", "   ", "\x00", "?!", "%", "'; DROP TABLE allocations_pitch; --"])
def test_a_title_without_words_is_like_none(lab, title):
    factories.submitted(lab.project, lab.pitcher, title=TITLE)

    assert alike(title, lab.pitcher) == []


def test_nobody_is_shown_what_that_person_may_not_see(lab):
    factories.pitch(lab.project, lab.team_mate, title=TITLE)
    factories.submitted(lab.project, lab.lead, title=f"{TITLE} of the project")
    factories.submitted(lab.applied_project, title=f"{TITLE} of Applied", roles=["ceo-applications"])
    factories.pitch(lab.project, lab.team_mate, title=f"{TITLE} thrown away", state="withdrawn")

    found = {name: sorted(alike(TITLE, person)) for name, person in lab.everyone.items()}

    both, research = [f"{TITLE} of Applied", f"{TITLE} of the project"], [f"{TITLE} of the project"]
    assert found == {
        "team-mate": [TITLE, f"{TITLE} of the project", f"{TITLE} thrown away"],
        **dict.fromkeys(("ceo", "ops", "auditor"), both),
        **dict.fromkeys(("pitcher", "lead", "chief-scientist", "research-head"), research),
        **{name: [f"{TITLE} of Applied"] for name in ("ceo-applications", "applied-lead", "applied-pitcher")},
        **{name: [] for name in ("admin", "stranger")},
    }


def test_a_declined_one_says_why_and_since_when(world):
    declined = acts.submit(world, title=TITLE)
    acts.decline(world, declined, world.chief, "chief-scientist", reason="No baseline yet.")
    declined.refresh_from_db()

    [found] = queries.look_alikes(title=TITLE, why="", project=None, person=world.pitcher)

    assert (found.pitch.state, found.declined_because, found.stands_since) == (
        Pitch.State.DECLINED, "No baseline yet.", declined.decided_at,
    )  # fmt: skip


def test_the_own_project_and_the_reasons_order_equal_titles_and_the_pitch_itself_is_left_out(lab):
    elsewhere = factories.project("catalysis", division=lab.research, members=[lab.pitcher])
    own = factories.submitted(lab.project, lab.pitcher, title=TITLE, why="Nothing else fits.")
    for project, why in ((elsewhere, "Other words."), (lab.project, "Other words."), (elsewhere, "Nothing else fits.")):
        factories.submitted(project, lab.pitcher, title=TITLE, why=why)

    found = queries.look_alikes(title=TITLE, why="Nothing else fits.", project=lab.project, person=lab.pitcher, but=own)

    assert [(each.pitch.project.slug, each.pitch.why) for each in found] == [
        ("catalysis", "Nothing else fits."), ("protein-folding", "Other words."), ("catalysis", "Other words."),
    ]  # fmt: skip


def test_no_more_than_a_handful_from_one_query_that_the_index_answers(lab, django_assert_num_queries):
    now = timezone.now()
    Pitch.objects.bulk_create(
        Pitch(
            project=lab.project, pitcher=lab.lead, title=f"Study {number} of subject {number % 97}", why="",
            model=factories.model(), ideal_gpus=8, min_gpus=8, offered_gpus=8, days=14, start_on=now.date(),
            state=Pitch.State.SUBMITTED, submitted_at=now,
        )
        for number in range(10_000)
    )  # fmt: skip
    for _number in range(MOST_ALIKE + 2):
        factories.submitted(lab.project, lab.lead, title=TITLE)
    with connection.cursor() as cursor:
        # What autovacuum does in time: rows just written lie beside the index.
        cursor.execute("SELECT gin_clean_pending_list('pitch_title_alike')")
        cursor.execute("ANALYZE allocations_pitch")
    roles_of_the_person = 1

    with django_assert_num_queries(roles_of_the_person + 1) as asked:
        found = alike(TITLE, lab.pitcher, project=lab.project)

    assert found == [TITLE] * MOST_ALIKE
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked.captured_queries[-1]['sql']}")
        assert "pitch_title_alike" in "\n".join(line for (line,) in cursor.fetchall())
