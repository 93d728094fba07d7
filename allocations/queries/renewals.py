"""What a loan or an exception renews: a held one that lies so near that the two are one thing with a longer time.

Whoever signs the split signs a renewal, the first one already. It goes by what is held, not by what a proposal calls
itself, nor by the day on which it begins: one beside another from its first day on is more of the same.
"""

from datetime import datetime, timedelta

from django.db.models import F

from allocations.models import Division, Loan, Project, SplitException
from inventory.models import GpuModel

RENEWS_WITHIN_DAYS = 30
_NEAR = timedelta(days=RENEWS_WITHIN_DAYS)


def loan_renewed(
    lender: Project, borrower: Project, model: GpuModel, starts_at: datetime, ends_at: datetime
) -> Loan | None:
    """The loan between the two, agreed or returned, that one of that time renews; not one returned before it began."""
    held = Loan.objects.filter(
        lender=lender, borrower=borrower, model=model, state__in=[Loan.State.AGREED, Loan.State.RETURNED],
        starts_at__lt=ends_at + _NEAR, ends_at__gt=starts_at - _NEAR,
    )  # fmt: skip
    return held.exclude(returned_at__isnull=False, returned_at__lte=F("starts_at")).order_by("-ends_at").first()


def exception_renewed(
    division: Division, model: GpuModel, starts_at: datetime, ends_at: datetime
) -> SplitException | None:
    """The signed exception of the division that one of that time renews."""
    near = SplitException.objects.filter(
        division=division, model=model, state=SplitException.State.SIGNED, starts_at__lt=ends_at + _NEAR,
        ends_at__gt=starts_at - _NEAR,
    )  # fmt: skip
    return near.order_by("-ends_at").first()
