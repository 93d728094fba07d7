"""Emergencies, exceptions, loans, longer, smaller and ended grants in any order: promises stay within what is there."""

import random
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from allocations import changes, emergencies, exceptions, grants, loans, queries
from allocations.errors import AllocationsError
from allocations.models import Grant
from tests import factories
from tests.allocations.acts import approve, submit
from tests.allocations.changes.acts import both_sign

DAY = timedelta(days=1)
STEPS = 40


class Acts:
    """One random decision each, signed by all whom it needs; a refusal is an answer, too."""

    def __init__(self, world, dice: random.Random) -> None:
        self.world, self.dice = world, dice

    def a_pitch(self):
        pitch = submit(self.world, gpus=self.dice.randint(10, 60), days=self.dice.randint(10, 30))
        approve(self.world, pitch, self.world.chief, "chief-scientist")
        approve(self.world, pitch, self.world.head, "research-head")

    def an_emergency(self):
        terms = {"gpus": self.dice.randint(10, 60), "days": self.dice.randint(10, 30)}
        pitch = factories.submitted(self.world.project, self.world.pitcher, **terms)
        by = self.dice.choice([self.world.chief, self.world.ceo, self.world.ceo])
        grant = emergencies.grant_emergency(pitch=pitch, by=by, reason="Due on Friday.")
        for signer in self.dice.choice([[], [self.world.head], [self.world.ceo_apps]]):
            changes.sign_change(change=grant.changes.get(), by=signer)

    def an_exception(self):
        start = timezone.now() + self.dice.randint(0, 20) * DAY
        row = exceptions.propose_exception(
            division=self.dice.choice([self.world.research, self.world.applied]), model=factories.model(),
            gpus=self.dice.randint(1, 40), starts_at=start, ends_at=start + self.dice.randint(1, 20) * DAY,
            by=self.world.ceo, reason="The run is due.",
        )  # fmt: skip
        for by in (self.world.ceo, self.world.ceo_apps):
            exceptions.sign_exception(exception=row, by=by)

    def a_loan(self):
        start = timezone.now() + self.dice.randint(0, 10) * DAY
        row = loans.propose_loan(
            lender=self.world.project, borrower=self.world.applied_project, model=factories.model(),
            gpus=self.dice.randint(1, 30), starts_at=start, ends_at=start + self.dice.randint(1, 20) * DAY,
            by=self.world.ceo, reason="Your run starts later.",
        )  # fmt: skip
        for by in (self.world.ceo, self.world.ceo_apps) if row.renews else ():
            loans.sign_loan(loan=row, by=by)
        loans.answer_loan(loan=row, by=self.world.lead, agrees=True)

    def a_longer_time(self):
        change = changes.ask_extension(
            grant=self._one(), by=self.world.lead, days=self.dice.randint(1, 30), reason="One run more."
        )
        for by in (self.world.chief, self.world.head, self.world.ceo, self.world.ceo_apps):
            with suppress(AllocationsError):
                changes.sign_change(change=change, by=by)

    def fewer_or_none(self):
        grant = self._one()
        gpus = self.dice.choice([None, max(1, grant.gpus // 2)])
        at = timezone.now() + self.dice.randint(0, 10) * DAY
        change = changes.ask_change(
            grant=grant, by=self.world.chief, gpus=gpus, takes_effect_at=at, reason="The others wait."
        )
        both_sign(self.world, change)

    def an_end(self):
        grants.end_grant(grant=self._one(), by=self.world.lead, reason="It is done.")

    def _one(self):
        rows = list(Grant.objects.filter(project=self.world.project, loan=None))
        if not rows:
            raise AllocationsError("there is none yet")
        return self.dice.choice(rows)


ACTS = [*(name for name in vars(Acts) if not name.startswith("_")), "a_pitch", "an_emergency", "an_emergency"]


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(2))
def test_promises_never_exceed_what_is_there(world, noon, time_machine, seed):
    dice = random.Random(seed)
    acts, done, now = Acts(world, dice), set(), noon
    for _step in range(STEPS):
        name = dice.choice(ACTS)
        with suppress(AllocationsError):
            getattr(acts, name)()
            done.add(name)
        now += dice.choice([0, 0, 1, 20]) * timedelta(hours=1)
        time_machine.move_to(now, tick=False)
        for clock in (emergencies, changes, loans):
            clock.tend()

        room = queries.capacity_of(factories.model(), at=now)
        for days in range(45):
            at = now + days * DAY
            assert room.promised.at(at) <= room.healthy.at(at), (seed, name, days)
    assert len(done) >= 5, "most of them were possible"
