"""A leaver: everything handed over in one act or nothing, access ends at once, history stays."""

from datetime import timedelta

import pytest
from django.utils import timezone
from knox.models import get_token_model

from allocations import deputies, leavers, pitches, queries, rules
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.models import Pitch, Project, SignOff
from inventory.models import Event
from tests import factories

pytestmark = pytest.mark.django_db


def go(lab, person, **changes):
    said = {"by": lab.admin, "reason": "Left for a university.", "leads_to": {}, **changes}
    return leavers.let_go(person=person, **said)


def test_what_is_theirs_is_shown(lab):
    waiting, draft = factories.submitted(lab.project, lab.lead), factories.pitch(lab.project, lab.lead)
    decided = factories.pitch(lab.project, lab.lead)
    Pitch.objects.filter(pk=decided.pk).update(state="withdrawn")
    grant = factories.grant(lab.project)

    theirs = queries.theirs(lab.lead)

    assert (theirs.pitches, theirs.leads, theirs.grants) == ([draft, waiting], [lab.project], [grant])
    assert (theirs.roles, theirs.projects, theirs.is_nothing) == ([], [lab.project], False)
    assert queries.theirs(lab.chief).alone == [lab.role("chief-scientist")]
    assert queries.theirs(lab.chief).due == 1
    assert queries.theirs(lab.stranger).is_nothing


def test_a_lead_goes_and_everything_has_somebody(lab):
    """superset-sh/superset PR#7457: before removal, show what is theirs and hand it over."""
    waiting, draft = factories.submitted(lab.project, lab.lead), factories.pitch(lab.project, lab.lead)

    go(lab, lab.lead, leads_to={lab.project: lab.team_mate})

    lab.project.refresh_from_db(), waiting.refresh_from_db(), draft.refresh_from_db()
    assert (lab.project.lead, waiting.pitcher, draft.pitcher) == (lab.team_mate,) * 3
    assert not queries.projects_with(lab.lead, "view_project").exists()
    assert rules.can(lab.team_mate, "wind_down", lab.project)
    facts = Event.objects.get(verb="person.left").facts
    assert (facts["leads"], len(facts["pitches"])) == ({"protein-folding": "team-mate"}, 2)


def test_access_ends_at_once_also_by_token(client, lab):
    """apache/airavata-custos#540: a leaver's access ends within one sync."""
    _row, token = get_token_model().objects.create(lab.pitcher)
    client.force_login(lab.pitcher)
    assert client.get("/").status_code == 200

    go(lab, lab.pitcher)

    assert client.get("/").status_code == 302
    client.logout()
    assert client.get("/api/projects/", headers={"Authorization": f"Token {token}"}).status_code == 401


def test_what_was_signed_stays_under_the_name(lab):
    pitch = factories.submitted(lab.project, lab.pitcher)
    pitches.sign_off(pitch=pitch, by=lab.chief, role=lab.role("chief-scientist"), verdict="approve", round=1)

    go(lab, lab.chief, roles_to={lab.role("chief-scientist"): lab.stranger})

    assert SignOff.objects.get().person == lab.chief
    assert queries.holders_of([lab.role("chief-scientist")])[lab.role("chief-scientist")] == [lab.stranger]


def test_the_last_holder_of_a_role_leaves_and_the_alarm_rings(lab):
    """MCKRUZ/microsoft-agentic-harness#393: alarm, items held, nothing decided."""
    pitch = factories.submitted(lab.project, lab.pitcher)

    go(lab, lab.chief)

    pitch.refresh_from_db()
    assert pitch.state == Pitch.State.SUBMITTED
    assert lab.admin.notices.filter(subject="Nobody holds the role Chief scientist").count() == 1
    assert [vacancy.role.slug for vacancy in queries.roles_without_holder()] == ["chief-scientist"]


def test_deputyships_end_both_ways(lab):
    now = timezone.now()
    for principal, deputy in ((lab.chief, lab.stranger), (lab.head, lab.chief)):
        role = queries.roles_of(principal)[0]
        deputies.set_deputy(
            principal=principal, deputy=deputy, role=role, starts_at=now, until=now + timedelta(days=7),
            by=principal, reason="",
        )  # fmt: skip

    go(lab, lab.chief)

    assert not queries.deputies_now_and_later().exists()


def test_a_lead_who_has_signed_leaves_the_pitch_to_another_member(lab):
    own = factories.project("own", division=lab.research, lead=lab.chief, members=[lab.pitcher, lab.team_mate])
    pitch = factories.submitted(own, lab.pitcher)
    pitches.sign_off(pitch=pitch, by=lab.chief, role=lab.role("chief-scientist"), verdict="approve", round=1)

    go(lab, lab.pitcher)

    pitch.refresh_from_db()
    assert pitch.pitcher == lab.team_mate


@pytest.mark.parametrize("missing", ["lead", "heir", "closed", "reason"])
def test_what_cannot_be_handed_over_changes_nothing(lab, missing):
    waiting = factories.submitted(lab.project, lab.lead)
    heir, reason = lab.team_mate, "Left."
    if missing == "heir":
        heir = lab.lead
    if missing == "closed":
        heir.is_active = False
        heir.save()
    if missing == "reason":
        reason = " "
    leads = {} if missing == "lead" else {lab.project: heir}

    with pytest.raises(BadTerms):
        go(lab, lab.lead, leads_to=leads, reason=reason)

    lab.lead.refresh_from_db(), waiting.refresh_from_db()
    assert (lab.lead.is_active, lab.lead.left_at, waiting.pitcher) == (True, None, lab.lead)
    assert Project.objects.get(pk=lab.project.pk).lead == lab.lead
    assert not Event.objects.filter(verb="person.left").exists()


def test_only_another_admin_lets_somebody_go_and_only_once(lab):
    with pytest.raises(NotAllowed):
        go(lab, lab.pitcher, by=lab.ceo)
    with pytest.raises(BadTerms):
        go(lab, lab.admin)
    go(lab, lab.pitcher)
    with pytest.raises(WrongState):
        go(lab, lab.pitcher)


class TestHandOver:
    def test_the_next_pitcher_is_told_and_may_not_sign(self, lab):
        pitch = factories.submitted(lab.project, lab.pitcher)

        pitches.hand_over_pitch(pitch=pitch, to=lab.lead, by=lab.pitcher)

        assert pitch.pitcher == lab.lead
        assert lab.lead.notices.get().subject == "You answer for a pitch of pitcher now"
        assert Event.objects.get(verb="pitch.handed_over").facts["before"] == "pitcher"

    def test_nobody_outside_the_project_takes_it(self, lab):
        pitch = factories.submitted(lab.project, lab.pitcher)
        with pytest.raises(BadTerms):
            pitches.hand_over_pitch(pitch=pitch, to=lab.stranger, by=lab.pitcher)
        with pytest.raises(NotAllowed):
            pitches.hand_over_pitch(pitch=pitch, to=lab.lead, by=lab.team_mate)
