"""Nothing is promised for ever."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from allocations import changes, emergencies, exceptions, loans
from allocations.errors import BadTerms
from allocations.models import Grant
from tests import factories
from tests.allocations.acts import draft, submit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

DAY = timedelta(days=1)


class TestEveryGrantHasAnEnd:
    """Bartzi/LabShare#92: a reservation without an end was there for ever."""

    @pytest.mark.parametrize("days", [0, 731, 100_000])
    def test_no_pitch_asks_for_one_without(self, world, days):
        with pytest.raises(BadTerms):
            draft(world, days=days)

    @pytest.mark.parametrize("ends_at", [None, "before"])
    def test_the_database_knows_none_without(self, world, noon, ends_at):
        grant = factories.grant(world.project)

        with pytest.raises(IntegrityError), transaction.atomic():
            Grant.objects.filter(pk=grant.pk).update(ends_at=ends_at and noon - DAY)

    @pytest.mark.parametrize("days", [0, 731])
    def test_no_extension_is_for_ever(self, world, days):
        with pytest.raises(BadTerms):
            changes.ask_extension(grant=factories.grant(world.project), by=world.lead, days=days, reason="More.")

    def test_neither_an_exception_nor_a_loan_is_open(self, world, noon):
        said = {"model": factories.model(), "gpus": 8, "starts_at": noon, "ends_at": noon, "reason": "For ever."}
        factories.grant(world.project, gpus=16)

        with pytest.raises(BadTerms):
            exceptions.propose_exception(division=world.research, by=world.chief, **said)
        with pytest.raises(BadTerms):
            loans.propose_loan(lender=world.project, borrower=world.applied_project, by=world.applied_lead, **said)

    def test_an_emergency_ends_twice_over(self, world, noon):
        grant = emergencies.grant_emergency(pitch=submit(world), by=world.chief, reason="The paper.")

        assert (grant.ends_at, grant.ratify_by) == (noon + 14 * DAY, noon + 3 * DAY)
