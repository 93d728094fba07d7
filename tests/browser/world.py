"""A lab with a row of each kind, so that every page has something to show to the browser."""

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from allocations import exceptions, loans, pitches, recusals
from allocations.models import Grant, Loan, Pitch, Split
from inventory.models import Node
from tests import factories
from tests.people import Lab


@dataclass(frozen=True)
class World:
    """The rows whose pages are looked at."""

    waiting: Pitch
    declined: Pitch
    granted: Pitch
    draft: Pitch
    grant: Grant
    split: Split
    node: Node


def fill(lab: Lab) -> World:
    """64 H100 and 8 A100, a split in force and one proposed, pitches in every state, a grant that is half held."""
    now = timezone.now()
    factories.split()
    h100 = factories.fleet(gpus=64, island="oslo-a")
    factories.fleet(factories.model("A100"), gpus=8, island="turin-a")
    proposed = factories.split(
        {"": {"research": 20, "applied": 40}, "A100": {"research": 50, "applied": 50}},
        state=Split.State.PROPOSED, starts_at=now + timedelta(days=9), by=lab.ceo, reason="Winter.",
    )  # fmt: skip
    proposed.roles.set([lab.role("ceo"), lab.role("ceo-applications")])
    granted = factories.submitted(lab.project, lab.team_mate, gpus=16, min_gpus=8, title="Pretrain the next one")
    declined = factories.submitted(lab.project, lab.pitcher, gpus=4, title="An atlas for every checkpoint")
    for person, role in ((lab.head, "research-head"), (lab.chief, "chief-scientist")):
        pitches.sign_off(pitch=granted, by=person, role=lab.role(role), verdict="approve", round=1)
    pitches.sign_off(
        pitch=declined, by=lab.head, role=lab.role("research-head"), verdict="decline", round=1, reason="Not this year."
    )
    grant = Grant.objects.get(pitch=granted)
    for gpu in h100[:8]:
        factories.assignment(gpu, lab.project, grant=grant, since=now)
        factories.holding(gpu, lab.project, grant=grant, since=now)
        factories.reading(gpu, lab.project.slug, util_pct=80.0, running=1)
    for gpu in h100[8:]:
        factories.reading(gpu, "")
    factories.terms(lab.project, protected=True, guarantee_gpus=8, reason="Others build on it.")
    return World(
        waiting=factories.submitted(
            lab.project, lab.pitcher, gpus=30, min_gpus=4, title="Longer chains", expected_result="Sixty per cent.",
            if_declined="We wait a quarter.", why="They pay off in the small model.",
        ),
        declined=declined,
        granted=granted,
        draft=factories.pitch(lab.project, lab.pitcher, title="Ten million tokens"),
        grant=grant,
        split=proposed,
        node=h100[0].node,
    )  # fmt: skip


def fill_beside(lab: Lab) -> Loan:
    """A conflict of interest, an exception and a loan that wait; the loan."""
    now = timezone.now()
    other = factories.project(division=lab.research, lead=lab.team_mate, members=[lab.head])
    recusals.declare_conflict(person=lab.chief, project=other, by=lab.chief, reason="My sister leads the group.")
    exceptions.propose_exception(
        division=lab.research, model=factories.model(), gpus=4, starts_at=now, ends_at=now + timedelta(days=9),
        by=lab.chief, reason="The deadline is in May.",
    )  # fmt: skip
    return loans.propose_loan(
        lender=lab.project, borrower=other, model=factories.model(), gpus=4, starts_at=now,
        ends_at=now + timedelta(days=7), by=lab.ops, reason="One week of double load.",
    )  # fmt: skip
