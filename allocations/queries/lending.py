"""Loans as they stand at an instant: which grants do without how many GPUs that are lent just then."""

from collections import defaultdict
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, QuerySet, Value, When
from django.utils import timezone

from allocations.days import daily_hours
from allocations.models import Grant, Loan, Person, Project
from allocations.queries.look import once_a_look
from allocations.queries.people import mandates_of
from allocations.queries.sight import projects_visible_to

DAY = timedelta(days=1)


def loan_of(grant: Grant) -> Loan | None:
    """The loan whose grant it is; None for a promise of its own."""
    return Loan.objects.filter(grant=grant).select_related("lender__division", "borrower", "model").first()


def loans_visible_to(person: Person) -> QuerySet[Loan]:
    """Loans to or from projects that the person sees, and those that it was asked to sign, newest first."""
    seen = projects_visible_to(person).order_by().values("pk")
    roles = {mandate.role for mandate in mandates_of(person)}
    asked = Loan.roles.through.objects.filter(loan=OuterRef("pk"), role__in=roles)
    rows = Loan.objects.filter(Q(lender__in=seen) | Q(borrower__in=seen) | Exists(asked))
    return rows.select_related(
        "lender__division", "lender__lead", "borrower__division", "borrower__lead", "model", "proposed_by",
        "answered_by", "grant",
    )  # fmt: skip


def is_lent(loan: Loan, at: datetime) -> bool:
    """Whether the borrower has the right to the GPUs at that instant."""
    if loan.state != Loan.State.AGREED or not loan.starts_at <= at < loan.ends_at:
        return False
    if loan.daily_from is None or loan.daily_until is None:
        return True
    zone = ZoneInfo(settings.SITE_TIME_ZONE)
    hours = daily_hours(loan.daily_from, loan.daily_until, zone, start=at - DAY, end=at + DAY)
    return any(begins <= at < ends for begins, ends in hours)


@once_a_look
def done_without(at: datetime | None = None) -> dict[int, int]:
    """Grant pk -> GPUs of it that are not its project's at that instant (now); one query, two where there are loans.

    A lender's grants do without what is lent, the one that lasts longest first. The grant of a nightly loan does
    without all of it by day.
    """
    at = at or timezone.now()
    agreed = [loan for loan in open_loans() if loan.state == Loan.State.AGREED and loan.starts_at <= at < loan.ends_at]
    loans = [loan for loan in agreed if loan.grant and loan.grant.ends_at > at]
    without: dict[int, int] = defaultdict(int)
    lent: dict[tuple[int, int], int] = defaultdict(int)
    for loan in loans:
        if is_lent(loan, at):
            lent[loan.lender_id, loan.model_id] += loan.gpus
        else:
            without[loan.grant_id or 0] += loan.gpus
    if not lent:
        return dict(without)
    running = Grant.objects.filter(
        project__in={lender for lender, _ in lent}, model__in={model for _, model in lent}, starts_at__lte=at,
        ends_at__gt=at, loan=None,
    )  # fmt: skip
    columns = ("pk", "project_id", "model_id", "gpus")
    for pk, project_id, model_id, gpus in running.order_by("-ends_at", "pk").values_list(*columns):
        taken = min(gpus, lent[project_id, model_id])
        if taken:
            without[pk] += taken
            lent[project_id, model_id] -= taken
    return dict(without)


def with_due_gpus(grants: QuerySet[Grant], at: datetime | None = None) -> QuerySet[Grant]:
    """The grants annotated `due_gpus`: what the project has a right to at that instant (now), loans counted."""
    without = done_without(at)
    if not without:
        return grants.annotate(due_gpus=F("gpus"))
    less = Case(
        *(When(pk=pk, then=Value(gpus)) for pk, gpus in without.items()), default=Value(0), output_field=IntegerField()
    )
    return grants.annotate(due_gpus=F("gpus") - less)


def lent_by_project(at: datetime | None = None) -> dict[tuple[int, int], int]:
    """(project pk, model pk) -> GPUs that its promises count less at that instant (now)."""
    without = done_without(at)
    rows = (
        Grant.objects.filter(pk__in=without).order_by().values_list("pk", "project_id", "model_id") if without else []
    )
    lent: dict[tuple[int, int], int] = defaultdict(int)
    for pk, project_id, model_id in rows:
        lent[project_id, model_id] += without[pk]
    return dict(lent)


def loans_of(project: Project) -> list[Loan]:
    """Open and agreed loans of the project, in either direction, soonest first."""
    return [loan for loan in open_loans() if project.pk in (loan.lender_id, loan.borrower_id)]


@once_a_look
def open_loans() -> list[Loan]:
    """All loans that wait for their lender or are agreed and not returned, soonest first; a lab has tens of them."""
    rows = Loan.objects.filter(state__in=[Loan.State.PROPOSED, Loan.State.AGREED]).order_by("starts_at", "pk")
    return list(rows.select_related("lender", "borrower", "model", "grant"))
