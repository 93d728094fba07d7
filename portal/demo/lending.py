"""What stands beside grants and split in the demo lab: an extension, a smaller grant, loans, an exception, a result."""

from datetime import time, timedelta

from django.utils import timezone

from allocations import changes, exceptions, loans, results
from allocations.models import Division, Grant, Person, Project, ResultCheck
from inventory.models import GpuModel


def ask_extension() -> None:
    """The second proof run needs more time; one of two has signed."""
    change = changes.ask_extension(
        grant=_grant("Reinforcement on verifiable proofs"),
        by=_person("sofia"),
        days=30,
        reason="The curriculum reaches the hard half of the set only now.",
        so_far="Solved proofs went from 31 to 58 %; two of three seeds are done.",
    )
    changes.sign_change(change=change, by=_person("research-head"), reason="Worth seeing to its end.")


def ask_smaller() -> None:
    """The atlas holds GPUs and does nothing; its lead objects."""
    change = changes.ask_change(
        grant=_grant("Dictionary of features for the small model"),
        by=_person("chief-scientist"),
        gpus=8,
        reason="It has stood idle for a week, and others wait for A100.",
    )
    changes.answer_change(
        change=change, by=_person("hugo"), answer="objects", reason="The new activations arrive on Monday."
    )


def lend_by_night() -> None:
    """Serving needs less by night; agreed once for all nights."""
    now = timezone.now()
    loan = loans.propose_loan(
        lender=_project("long-context"), borrower=_project("reasoning-rl"), model=_model("H100"), gpus=8,
        starts_at=now, ends_at=now + timedelta(days=30), by=_person("sofia"), daily_from=time(22), daily_until=time(7),
        reason="Your evaluation jobs rest at night; our rollouts do not.",
    )  # fmt: skip
    loans.answer_loan(loan=loan, by=_person("lead"), agrees=True)


def propose_loan() -> None:
    """Robots' H200 for a demo week, waiting for the lender's lead."""
    now = timezone.now()
    loans.propose_loan(
        lender=_project("world-models"), borrower=_project("assistant"), model=_model("H200"), gpus=8, starts_at=now,
        ends_at=now + timedelta(days=7), by=_person("lena"), reason="One launch week of double load.",
    )  # fmt: skip


def propose_exception() -> None:
    """Research asks for more than its share for three weeks; one signature is there."""
    now = timezone.now()
    exception = exceptions.propose_exception(
        division=Division.objects.get(slug="research"), model=_model("H100"), gpus=16, starts_at=now,
        ends_at=now + timedelta(days=21), by=_person("chief-scientist"),
        reason="The long-context run must end before the review.",
    )  # fmt: skip
    exceptions.sign_exception(exception=exception, by=_person("ceo"))


def say_result() -> None:
    """What came of grants is asked where the day has come, and one has been answered."""
    results.tend()
    check = ResultCheck.objects.filter(outcome="").order_by("pk").first()
    if check is not None:
        results.answer_result(
            check=check, by=check.grant.project.lead, outcome="partly", said="The curve holds for three of five sizes."
        )


def _person(login: str) -> Person:
    return Person.objects.get(username=login)


def _project(slug: str) -> Project:
    return Project.objects.get(slug=slug)


def _model(name: str) -> GpuModel:
    return GpuModel.objects.get(name=name)


def _grant(title: str) -> Grant:
    return Grant.objects.get(pitch__title=title)
