"""Changes of grants, loans and exceptions above the split; the actions are the services that the pages call."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import changes, exceptions, loans, queries
from allocations.models import GrantChange, Loan, SplitException
from portal.api import serializers
from portal.api.viewsets.base import Nouns, role_of


class Changes(Nouns):
    """Changes of grants that you see: extensions, smaller grants, ends, ratifications; newest first."""

    queryset = GrantChange.objects.none()
    serializer_class = serializers.ChangeOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """With roles and sign-offs in a constant number of queries."""
        seen = queries.grants_visible_to(self.request.user).order_by().values("pk")
        rows = GrantChange.objects.filter(grant__in=seen).select_related("grant__project", "asked_by")
        return rows.prefetch_related("roles", "sign_offs__role", "sign_offs__person", "sign_offs__deputy_for")

    @extend_schema(request=serializers.SignChangeIn, responses=serializers.ChangeOut)
    @action(detail=True, methods=["post"])
    def sign(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """Your answer; the last approval makes it hold, one decline decides."""
        row, said = self.get_object(), self.told(serializers.SignChangeIn)
        changes.sign_change(
            change=row, by=request.user, **{**said, "role": role_of(said["role"]) if said["role"] else None}
        )
        return self.answer(row.pk)

    @extend_schema(request=serializers.AnswerChangeIn, responses=serializers.ChangeOut)
    @action(detail=True, methods=["post"], url_path="answer")
    def lead_answer(self, request: Request, id: str) -> Response:  # noqa: A002
        """What you say as the project's lead; it decides nothing."""
        row = self.get_object()
        changes.answer_change(change=row, by=request.user, **self.told(serializers.AnswerChangeIn))
        return self.answer(row.pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.ChangeOut)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, id: str) -> Response:  # noqa: A002
        """Nobody needs to sign it any more."""
        row = self.get_object()
        return self.answer(changes.withdraw_change(change=row, by=request.user, **self.told(serializers.ReasonIn)).pk)


class Loans(Nouns):
    """Loans to and from projects that you see, newest first."""

    queryset = Loan.objects.none()
    serializer_class = serializers.LoanOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """With roles and signatures in a constant number of queries."""
        return queries.with_signatures(queries.loans_visible_to(self.request.user).select_related("renews"))

    @extend_schema(request=serializers.LoanIn, responses={201: serializers.LoanOut})
    def create(self, request: Request) -> Response:
        """A loan that waits for the lender's lead."""
        row = loans.propose_loan(by=request.user, **self.told(serializers.LoanIn))
        return self.answer(row.pk, created=True)

    @extend_schema(request=serializers.AnswerLoanIn, responses=serializers.LoanOut)
    @action(detail=True, methods=["post"], url_path="answer")
    def lender_answer(self, request: Request, id: str) -> Response:  # noqa: A002
        """What you say as the lender's lead."""
        row = self.get_object()
        return self.answer(loans.answer_loan(loan=row, by=request.user, **self.told(serializers.AnswerLoanIn)).pk)

    @extend_schema(request=serializers.SignIn, responses=serializers.LoanOut)
    @action(detail=True, methods=["post"])
    def sign(self, request: Request, id: str) -> Response:  # noqa: A002
        """Your signature under a renewal."""
        row, role = self.get_object(), self.told_role()
        return self.answer(loans.sign_loan(loan=row, by=request.user, role=role).pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.LoanOut)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, id: str) -> Response:  # noqa: A002
        """Nobody needs to answer or sign it any more."""
        row = self.get_object()
        return self.answer(loans.withdraw_loan(loan=row, by=request.user, **self.told(serializers.ReasonIn)).pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.LoanOut)
    @action(detail=True, methods=["post"], url_path="return")
    def give_back(self, request: Request, id: str) -> Response:  # noqa: A002
        """The borrower gives it back before its day."""
        row = self.get_object()
        return self.answer(loans.return_loan(loan=row, by=request.user, **self.told(serializers.ReasonIn)).pk)


class Exceptions(Nouns):
    """Exceptions above the split, newest first: how the fleet is shared is no secret in the lab."""

    serializer_class = serializers.ExceptionOut
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    queryset = queries.with_signatures(
        SplitException.objects.select_related("division", "model", "proposed_by", "renews").order_by("-pk")
    )

    @extend_schema(request=serializers.ExceptionIn, responses={201: serializers.ExceptionOut})
    def create(self, request: Request) -> Response:
        """An exception that waits for its signatures."""
        row = exceptions.propose_exception(by=request.user, **self.told(serializers.ExceptionIn))
        return self.answer(row.pk, created=True)

    @extend_schema(request=serializers.SignIn, responses=serializers.ExceptionOut)
    @action(detail=True, methods=["post"])
    def sign(self, request: Request, id: str) -> Response:  # noqa: A002
        """Your signature; the last one makes it hold."""
        row, role = self.get_object(), self.told_role()
        return self.answer(exceptions.sign_exception(exception=row, by=request.user, role=role).pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.ExceptionOut)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, id: str) -> Response:  # noqa: A002
        """Nobody needs to sign it any more."""
        row, said = self.get_object(), self.told(serializers.ReasonIn)
        return self.answer(exceptions.withdraw_exception(exception=row, by=request.user, **said).pk)
