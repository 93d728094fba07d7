"""Small lists of rows in one query, and what is asked once while one answer is made."""

from allocations import queries
from allocations.models import Person, Pitch, PitchRole, Recusal, SignOff
from allocations.queries.together import Wanted, load_together, together
from tests import factories


def test_the_rows_are_as_if_each_list_had_been_asked_for(lab, django_assert_num_queries):
    factories.submitted(lab.project, lab.pitcher)
    with django_assert_num_queries(1):
        needed, people, none = together(
            Wanted(PitchRole.objects.order_by("pk"), related=["role", "escalates_to"]),
            Wanted(Person.objects.order_by("username")),
            Wanted(SignOff.objects.none()),
        )

    assert needed == list(PitchRole.objects.order_by("pk"))
    assert [row.due_at for row in needed] == [row.due_at for row in PitchRole.objects.order_by("pk")]
    assert [row.role.name for row in needed] == [row.role.name for row in PitchRole.objects.order_by("pk")]
    assert [person.name for person in people] == [person.name for person in Person.objects.order_by("username")]
    assert none == []


def test_each_parent_has_its_own_rows_at_hand(lab, django_assert_num_queries):
    rows = [factories.submitted(lab.project, lab.pitcher) for _number in range(2)]
    pitches = list(Pitch.objects.order_by("pk"))
    load_together(pitches, needed_roles=Wanted(PitchRole.objects.all()), recusals=Wanted(Recusal.objects.all()))

    with django_assert_num_queries(0):
        found = [[each.pitch_id for each in pitch.needed_roles.all()] for pitch in pitches]
        found += [list(pitch.recusals.all()) for pitch in pitches]

    assert found == [[rows[0].pk] * 2, [rows[1].pk] * 2, [], []]


def test_a_look_within_a_look_may_begin_anew(lab):
    with queries.one_look():
        before = [role.slug for role in queries.roles_of(lab.chief)]
        lab.chief.roles.all().delete()
        same = [role.slug for role in queries.roles_of(lab.chief)]
        with queries.one_look(anew=True):
            now = queries.roles_of(lab.chief)

    assert (before, same, now) == (["chief-scientist"], ["chief-scientist"], [])
