"""A project's terms where they bind: the quota bounds its promises, guarantees are held against the share."""

from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import emergencies, grants, pitches, projects, queries
from allocations.errors import BadTerms, OverQuota
from allocations.models import Grant
from tests import factories
from tests.allocations.acts import approve, draft, submit
from tests.races import Window, at_once, kinds

DAY = timedelta(days=1)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


def room(world, gpus, start, end, **more):
    grants.require_room(
        project=world.project, gpus=gpus, starts_at=start, ends_at=end, **{"model": factories.model(), **more}
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestQuota:
    @pytest.fixture(autouse=True)
    def quota(self, world, noon):
        factories.terms(world.project, quota_gpus=20, since=noon + DAY, until=noon + 5 * DAY)

    def test_it_bounds_promises_while_it_holds(self, world, noon):
        factories.grant(world.project, gpus=8, ends_at=noon + 3 * DAY)
        room(world, 30, noon, noon + DAY)
        room(world, 30, noon + 5 * DAY, noon + 9 * DAY)
        room(world, 20, noon + 3 * DAY, noon + 9 * DAY)

        with pytest.raises(OverQuota) as refused:
            room(world, 13, noon, noon + 9 * DAY)

        assert refused.value.message == (
            "Protein folding has a quota of 20 GPUs; 8 are promised on 2 March, the ask is for 13."
        )

    def test_it_counts_all_models_together(self, world, noon):
        factories.grant(world.project, gpus=8, model=factories.model("A100"), ends_at=noon + 9 * DAY)

        with pytest.raises(OverQuota):
            room(world, 13, noon, noon + 9 * DAY)

    def test_a_pitch_says_so_when_it_is_submitted(self, world):
        with pytest.raises(OverQuota):
            pitches.submit_pitch(pitch=draft(world, gpus=21), by=world.pitcher)
        submit(world, gpus=20)

    def test_an_emergency_is_bound_by_it_too(self, world):
        pitch = factories.submitted(world.project, world.pitcher, gpus=21)

        with pytest.raises(OverQuota):
            emergencies.grant_emergency(pitch=pitch, by=world.chief, reason="Now.")

    def test_another_project_has_its_own(self, world, noon):
        grants.require_room(
            project=world.applied_project, model=factories.model(), gpus=40, starts_at=noon, ends_at=noon + 9 * DAY
        )


@pytest.mark.django_db
@pytest.mark.usefixtures("noon")
class TestTerms:
    def set_terms(self, world, **more):
        said = {"guarantee_gpus": 8, "protected": False, "quota_gpus": None, "priority": 0, "reason": "Spring."}
        return projects.set_terms(project=world.project, by=world.chief, **{**said, **more})

    def test_they_hold_until_their_last_day(self, world, noon):
        terms = self.set_terms(world, starts_at=noon, until=noon + 5 * DAY)

        assert (terms.during.lower, terms.during.upper) == (noon, noon + 5 * DAY)
        with pytest.raises(BadTerms):
            self.set_terms(world, starts_at=noon + 6 * DAY, until=noon + 6 * DAY)

    def test_guarantees_are_summed_against_the_share(self, world, noon):
        factories.terms(world.project, guarantee_gpus=50)
        factories.terms(factories.project(division=world.research), guarantee_gpus=20)
        factories.terms(factories.project(division=world.research, state="ended", ended_at=noon), guarantee_gpus=99)

        found = queries.guarantees_of(world.research, queries.capacities_of(at=noon), at=noon)

        assert (found.gpus, found.share_gpus, found.is_over) == (70, 60, True)


@pytest.mark.django_db(transaction=True)
def test_two_promises_of_two_models_at_once_do_not_pass_the_quota(world, monkeypatch):
    factories.fleet(factories.model("A100"), gpus=40)
    factories.terms(world.project, quota_gpus=20)
    asked = [submit(world, gpus=12), submit(world, gpus=12, model=factories.model("A100"))]
    for pitch in asked:
        approve(world, pitch, world.chief, "chief-scientist")
    monkeypatch.setattr(grants, "require_room", Window().after(grants.require_room))

    rows = [fresh(pitch) for pitch in asked]
    outcomes = at_once(*(lambda row=row: approve(world, row, world.head, "research-head") for row in rows))

    assert kinds(outcomes) == ["OverQuota", "SignOff"]
    assert Grant.objects.count() == 1
    assert timezone.now() > Grant.objects.get().issued_at
