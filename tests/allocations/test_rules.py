"""Every door tried by everybody: who may do what to which row."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import queries, rules
from allocations.errors import NotAllowed
from allocations.models import Deputy, GrantChange, Loan, Person, PitchRole, Project, Split, SplitException
from tests import factories

pytestmark = pytest.mark.django_db

DECIDERS = {"chief-scientist", "research-head", "ceo-applications", "ceo"}
EVERYONE = DECIDERS | {
    "ops", "auditor", "admin", "lead", "pitcher", "team-mate", "stranger", "applied-lead", "applied-pitcher",
}  # fmt: skip
RESEARCH = {"chief-scientist", "research-head", "ceo"}

# action -> the row it is tried on, and the logins that may
DOORS = {
    "see_pitch": ("pitch", RESEARCH | {"ops", "auditor", "lead", "pitcher", "team-mate"}),
    "edit_pitch": ("pitch", {"pitcher"}),
    "withdraw_pitch": ("pitch", {"pitcher", "lead"}),
    "answer_offer": ("pitch", {"pitcher", "lead"}),
    "hand_over_pitch": ("pitch", {"pitcher", "lead", "admin"}),
    "sign_pitch": ("pitch", {"chief-scientist", "research-head"}),
    "pitch_for": ("project", {"lead", "pitcher", "team-mate", "ops"}),
    "edit_members": ("project", {"lead", "admin"}),
    "set_lead": ("project", {"lead", "admin"}),
    "wind_down": ("project", {"lead", "ops"}),
    "end_project": ("project", {"lead", "ops"}),
    "set_terms": ("project", RESEARCH),
    "end_grant": ("grant", {"lead"}),
    "propose_split": ("", {"ceo", "ceo-applications"}),
    "sign_split": ("split", {"ceo", "ceo-applications"}),
    "withdraw_split": ("split", {"ceo", "ceo-applications"}),
    "ask_extension": ("grant", {"lead", "pitcher", "team-mate"}),
    "ask_change": ("grant", RESEARCH),
    "sign_change": ("change", {"chief-scientist", "research-head"}),
    "answer_change": ("change", {"lead"}),
    "withdraw_change": ("change", {"pitcher", "lead"}),
    "grant_emergency": ("pitch", RESEARCH),
    "answer_result": ("grant", {"lead"}),
    "propose_exception": ("division", RESEARCH),
    "sign_exception": ("exception", {"ceo", "ceo-applications"}),
    "withdraw_exception": ("exception", {"ceo", "ceo-applications", "chief-scientist"}),
    "propose_loans": ("", DECIDERS | {"ops", "lead", "applied-lead"}),
    "propose_loan": ("pair", DECIDERS | {"ops", "lead", "applied-lead"}),
    "answer_loan": ("loan", {"lead"}),
    "sign_loan": ("renewal", {"ceo", "ceo-applications"}),
    "withdraw_loan": ("loan", {"ops", "applied-lead"}),
    "return_loan": ("loan", {"ops", "applied-lead"}),
    "declare_conflict": ("chief", {"chief-scientist", "admin"}),
    "create_project": ("", {"ops", "admin"}),
    "back_date": ("", {"ops"}),
    "see_deputies": ("", DECIDERS | {"admin"}),
    "set_deputy": ("deputyship", {"chief-scientist", "admin"}),
    "use_desk": ("", DECIDERS),
    "propose_plan": ("", {"ops"}),
    "commit_plan": ("", {"ops"}),
    "cordon_node": ("", {"ops"}),
    "plan_arrivals": ("", {"ops"}),
    "enrol_node": ("", {"ops"}),
    "set_mode": ("", {"ops"}),
    "keep_idle": ("grant", {"lead", "pitcher", "team-mate"}),
    "declare_idle_phase": ("project", {"lead", "ops"}),
    "see_trail": ("", DECIDERS | {"ops", "auditor", "admin"}),
    "see_fleet": ("", EVERYONE),
    "administer": ("", {"admin"}),
}


@pytest.fixture
def rows(lab):
    split = factories.split(state=Split.State.PROPOSED, by=lab.ceo)
    split.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    now, grant = timezone.now(), factories.grant(lab.project)
    change = GrantChange.objects.create(
        grant=grant, kind="extend", days=9, reason="More.", asked_by=lab.pitcher, asked_at=now
    )
    change.roles.set([lab.role("chief-scientist"), lab.role("research-head")])
    terms = {"model": grant.model, "gpus": 8, "starts_at": now, "ends_at": now + timedelta(days=1), "proposed_at": now}
    exception = SplitException.objects.create(division=lab.research, proposed_by=lab.chief, **terms)
    exception.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    two = {"lender": lab.project, "borrower": lab.applied_project, "proposed_by": lab.ops}
    renewal = Loan.objects.create(**two, **terms)
    renewal.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    return {
        "": None,
        "pitch": factories.submitted(lab.project, lab.pitcher),
        "project": lab.project,
        "grant": grant,
        "change": change,
        "division": lab.research,
        "exception": exception,
        "chief": lab.chief,
        "pair": (lab.project, lab.applied_project),
        "loan": Loan.objects.create(**two, **terms),
        "renewal": renewal,
        "split": split,
        "deputyship": Deputy(principal=lab.chief, deputy=lab.stranger, role=lab.role("chief-scientist")),
    }


def test_every_door_is_tried():
    assert set(DOORS) == set(rules.RULES)


@pytest.mark.parametrize("action", DOORS)
def test_who_gets_through(lab, rows, action):
    row, allowed = rows[DOORS[action][0]], DOORS[action][1]

    assert set(lab.everyone) == EVERYONE
    assert {login for login, person in lab.everyone.items() if rules.can(person, action, row)} == allowed


def test_somebody_who_may_no_longer_log_in_gets_through_none(lab, rows):
    Person.objects.update(is_active=False)
    people = Person.objects.all()

    for action, (row, _allowed) in DOORS.items():
        assert [person.username for person in people if rules.can(person, action, rows[row])] == []


def test_a_superuser_without_a_role_administers_and_no_more(lab, rows):
    root = factories.person("root", is_superuser=True, is_staff=True)

    assert {action for action, (row, _allowed) in DOORS.items() if rules.can(root, action, rows[row])} == {
        "see_fleet",
        "administer",
        "hand_over_pitch",
        "see_deputies",
        "set_deputy",
        "declare_conflict",
    }


def test_who_is_turned_away_hears_who_may(lab, rows):
    for action in set(DOORS) - {"see_fleet"}:
        with pytest.raises(NotAllowed) as refused:
            rules.require(lab.stranger, action, rows[DOORS[action][0]])

        assert (refused.value.facts["action"], refused.value.facts["who"] != []) == (action, True)


class TestSight:
    def seen(self, lab, rows_for):
        return {login for login, person in lab.everyone.items() if rows_for(person).exists()}

    @pytest.mark.parametrize("state", ["draft", "withdrawn"])
    def test_a_draft_is_its_writers_alone_also_when_it_is_thrown_away(self, lab, state):
        withdrawn = {"withdrawn_at": timezone.now()} if state == "withdrawn" else {}
        factories.pitch(lab.project, lab.pitcher, state=state, **withdrawn)

        assert self.seen(lab, queries.pitches_visible_to) == {"pitcher"}

    def test_who_must_sign_sees_a_pitch_of_another_division(self, lab):
        pitch = factories.submitted(lab.project, lab.pitcher)
        PitchRole.objects.create(pitch=pitch, role=lab.role("ceo-applications"))

        assert self.seen(lab, queries.pitches_visible_to) == DOORS["see_pitch"][1] | {"ceo-applications"}

    def test_a_former_member_still_sees_the_own_pitch_and_nothing_else_there(self, lab):
        factories.submitted(lab.project, lab.stranger)
        factories.submitted(lab.project, lab.pitcher)
        factories.grant(lab.project)

        assert [pitch.pitcher for pitch in queries.pitches_visible_to(lab.stranger)] == [lab.stranger]
        assert queries.grants_visible_to(lab.stranger).count() == 0

    def test_grants_and_projects_are_seen_by_members_deciders_ops_and_auditors(self, lab):
        factories.grant(lab.project)
        sight = RESEARCH | {"ops", "auditor", "lead", "pitcher", "team-mate"}

        assert self.seen(lab, queries.grants_visible_to) == sight
        assert self.seen(lab, lambda person: queries.projects_visible_to(person).filter(pk=lab.project.pk)) == sight


class TestConstantQueries:
    """However many rows there are, a list takes the same queries."""

    @pytest.mark.parametrize("rows", [1, 3])
    @pytest.mark.parametrize(
        ("asked", "login", "queries_taken"),
        [
            ("queue_of", "chief-scientist", 2),
            ("pitches_visible_to", "pitcher", 2),
            ("pitches_visible_to", "chief-scientist", 2),
            ("grants_visible_to", "lead", 2),
            ("projects_visible_to", "auditor", 2),
            ("splits_waiting_for", "ceo", 4),
        ],
    )
    def test_lists(self, lab, rows, asked, login, queries_taken, django_assert_num_queries):
        person = lab.everyone[login]
        for _ in range(rows):
            factories.submitted(lab.project, lab.pitcher)
            factories.grant(lab.project)
            split = factories.split(state=Split.State.PROPOSED)
            split.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
        queries.projects_with(person, "view_project")  # content types are read once a process

        with django_assert_num_queries(queries_taken):
            found = list(getattr(queries, asked)(person))
            for row in found:
                assert self.division_of(row) in (None, "Research")

        assert len(found) == {"projects_visible_to": 2}.get(asked, rows)

    def division_of(self, row):
        project = row if isinstance(row, Project) else getattr(row, "project", None)
        return project.division.name if project and project.slug == "protein-folding" else None
