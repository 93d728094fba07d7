"""Projects, pitches, splits, grants and needs; the actions are the services that the pages call."""

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from allocations import (
    asks,
    changes,
    emergencies,
    grants,
    pitches,
    plans,
    projects,
    queries,
    recusals,
    results,
    splits,
)
from allocations.models import (
    Answer,
    Grant,
    GrantChange,
    Pitch,
    PitchAlternative,
    PitchRole,
    Project,
    ResultCheck,
    Split,
)
from allocations.queries.standing import with_gpus
from portal.api import filters, serializers
from portal.api.viewsets.base import Nouns
from portal.api.viewsets.plans import plan_answer
from portal.api.viewsets.verdicts import Answers


class Projects(Nouns):
    """Projects that you see."""

    queryset = Project.objects.none()
    serializer_class = serializers.ProjectOut
    filterset_class = filters.ProjectFilter
    lookup_field = "slug"

    def get_queryset(self) -> QuerySet[Any]:
        """Own ones, those of divisions you decide for; all for ops and auditors."""
        return queries.projects_visible_to(self.request.user).select_related("division", "lead")

    @extend_schema(responses=serializers.QuestionOut(many=True))
    @action(detail=True, methods=["get"], pagination_class=None, filter_backends=[])
    def questions(self, request: Request, slug: str) -> Response:
        """What the project's division asks of each pitch."""
        rows = asks.questions_for(self.get_object().division)
        return Response(serializers.QuestionOut(rows, many=True).data)

    @extend_schema(request=None, responses={201: serializers.PlanWithStepsOut})
    @action(detail=True, methods=["post"])
    def propose_release(self, request: Request, slug: str) -> Response:
        """A plan that takes back what the project has no right to any more."""
        return plan_answer(plans.propose_release(project=self.get_object(), by=request.user))

    @extend_schema(request=serializers.TermsIn, responses={201: serializers.TermsOut})
    @action(detail=True, methods=["post"])
    def terms(self, request: Request, slug: str) -> Response:
        """Guarantee, quota, priority and protection from an instant on."""
        row, said = self.get_object(), self.told(serializers.TermsIn)
        terms = projects.set_terms(project=row, by=request.user, **said)
        return Response(serializers.TermsOut(terms).data, status=status.HTTP_201_CREATED)


class Pitches(Answers, Nouns):
    """Pitches that you see."""

    queryset = Pitch.objects.none()
    serializer_class = serializers.PitchOut
    filterset_class = filters.PitchFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """With their roles and sign-offs in a constant number of queries."""
        rows = queries.pitches_visible_to(self.request.user).select_related("project", "pitcher", "model")
        return rows.select_related("resubmits").prefetch_related(
            "roles", "sign_offs__role", "sign_offs__person", "sign_offs__model", "sign_offs__deputy_for", "links",
            Prefetch("alternatives", PitchAlternative.objects.select_related("model")),
            Prefetch("answers", Answer.objects.select_related("question")),
            Prefetch("needed_roles", PitchRole.objects.select_related("role", "escalates_to").order_by("pk")),
        )  # fmt: skip

    @extend_schema(request=serializers.PitchIn, responses={201: serializers.PitchOut})
    def create(self, request: Request) -> Response:
        """A draft of yours."""
        row = pitches.save_draft(pitch=None, by=request.user, **self._draft())
        return self.answer(row.pk, created=True)

    @extend_schema(request=serializers.PitchIn, responses=serializers.PitchOut)
    def update(self, request: Request, id: str) -> Response:  # noqa: A002 - the address's own name for it
        """The draft says this now."""
        row = pitches.save_draft(pitch=self.get_object(), by=request.user, **self._draft())
        return self.answer(row.pk)

    @extend_schema(request=None, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, id: str) -> Response:  # noqa: A002
        """The pitch waits for its signatures."""
        return self.answer(pitches.submit_pitch(pitch=self.get_object(), by=request.user).pk)

    @extend_schema(request=None, responses={201: serializers.PitchOut})
    @action(detail=True, methods=["post"])
    def resubmit(self, request: Request, id: str) -> Response:  # noqa: A002
        """A draft of yours that follows a declined or withdrawn pitch; pressed again, the same one."""
        return self.answer(pitches.resubmit_pitch(pitch=self.get_object(), by=request.user).pk, created=True)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, id: str) -> Response:  # noqa: A002
        """Nobody needs to decide on it any more."""
        row = self.get_object()
        return self.answer(pitches.withdraw_pitch(pitch=row, by=request.user, **self.told(serializers.ReasonIn)).pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.PitchOut)
    @action(detail=True, methods=["post"])
    def recuse(self, request: Request, id: str) -> Response:  # noqa: A002
        """You step aside from signing it, and say why; somebody else signs."""
        row = self.get_object()
        recusals.recuse(pitch=row, by=request.user, **self.told(serializers.ReasonIn))
        return self.answer(row.pk)

    @extend_schema(request=serializers.EndGrantIn, responses={201: serializers.GrantOut})
    @action(detail=True, methods=["post"])
    def emergency(self, request: Request, id: str) -> Response:  # noqa: A002
        """You grant it at once; others ratify it in time, or it ends by itself."""
        said = self.told(serializers.EndGrantIn)
        grant = emergencies.grant_emergency(pitch=self.get_object(), by=request.user, **said)
        row = with_gpus(Grant.objects.filter(pk=grant.pk)).select_related("pitch", "project", "model").get()
        return Response(serializers.GrantOut(row).data, status=status.HTTP_201_CREATED)

    def _draft(self) -> dict[str, Any]:
        said = self.told(serializers.PitchIn)
        visible = queries.projects_visible_to(self.request.user)
        if not visible.filter(pk=said["project"].pk).exists():
            raise ValidationError({"project": ["There is no such project that you see."]})
        said["details"] = asks.Details(
            tuple(asks.Alternative(**each) for each in said.pop("alternatives")),
            tuple(asks.Link(**each) for each in said.pop("links")),
            {each["question"]: each["value"] for each in said.pop("answers")},
        )
        return said


class Splits(Nouns):
    """Splits, newest first."""

    queryset = Split.objects.none()
    serializer_class = serializers.SplitOut
    filterset_class = filters.SplitFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """With lines and signatures in a constant number of queries."""
        rows = queries.splits_visible().select_related("proposed_by")
        return rows.prefetch_related(
            "roles", "lines__division", "lines__model", "signatures__role", "signatures__person"
        )

    @extend_schema(request=serializers.SplitIn, responses={201: serializers.SplitOut})
    def create(self, request: Request) -> Response:
        """A split that waits for its signatures."""
        row = splits.propose_split(by=request.user, **self.told(serializers.SplitIn))
        return self.answer(row.pk, created=True)

    @extend_schema(request=serializers.SignIn, responses=serializers.SplitOut)
    @action(detail=True, methods=["post"])
    def sign(self, request: Request, id: str) -> Response:  # noqa: A002
        """Your signature; the last one makes it hold."""
        row, role = self.get_object(), self.told_role()
        return self.answer(splits.sign_split(split=row, by=request.user, role=role).pk)

    @extend_schema(request=serializers.ReasonIn, responses=serializers.SplitOut)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, id: str) -> Response:  # noqa: A002
        """Nobody needs to sign it any more."""
        row = self.get_object()
        return self.answer(splits.withdraw_split(split=row, by=request.user, **self.told(serializers.ReasonIn)).pk)


class Grants(Nouns):
    """Grants that you see."""

    queryset = Grant.objects.none()
    serializer_class = serializers.GrantOut
    filterset_class = filters.GrantFilter
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """With what is assigned and held; one query."""
        visible = queries.grants_visible_to(self.request.user)
        return with_gpus(visible).select_related("pitch", "project", "model")

    @extend_schema(request=serializers.EndGrantIn, responses=serializers.GrantOut)
    @action(detail=True, methods=["post"])
    def end(self, request: Request, id: str) -> Response:  # noqa: A002
        """The promise ends now."""
        row = self.get_object()
        return self.answer(grants.end_grant(grant=row, by=request.user, **self.told(serializers.EndGrantIn)).pk)

    @extend_schema(request=serializers.ExtensionIn, responses={201: serializers.ChangeOut})
    @action(detail=True, methods=["post"])
    def extend(self, request: Request, id: str) -> Response:  # noqa: A002
        """The grant is asked to go on; it holds once all have signed."""
        row, said = self.get_object(), self.told(serializers.ExtensionIn)
        return _created(changes.ask_extension(grant=row, by=request.user, **said))

    @extend_schema(request=serializers.ChangeIn, responses={201: serializers.ChangeOut})
    @action(detail=True, methods=["post"])
    def change(self, request: Request, id: str) -> Response:  # noqa: A002
        """The grant is to become smaller or to end; it holds once all have signed."""
        row, said = self.get_object(), self.told(serializers.ChangeIn)
        return _created(changes.ask_change(grant=row, by=request.user, **said))

    @extend_schema(request=serializers.ResultIn, responses=serializers.GrantOut)
    @action(detail=True, methods=["post"])
    def result(self, request: Request, id: str) -> Response:  # noqa: A002
        """What came of it, once it was asked for."""
        row = self.get_object()
        check = get_object_or_404(ResultCheck.objects.select_related("grant__project", "grant__pitch"), grant=row)
        results.answer_result(check=check, by=request.user, **self.told(serializers.ResultIn))
        return self.answer(row.pk)


def _created(change: GrantChange) -> Response:
    return Response(serializers.ChangeOut(change).data, status=status.HTTP_201_CREATED)


class Needs(Nouns):
    """Grants that lack GPUs, the oldest first; not in pages, since there are only so many."""

    queryset = Grant.objects.none()
    serializer_class = serializers.NeedOut
    pagination_class = None
    filter_backends: list[Any] = []
    lookup_field = "public_id"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> QuerySet[Any]:
        """Those of grants that you see."""
        visible = queries.grants_visible_to(self.request.user)
        return queries.needs().filter(pk__in=visible.order_by().values("pk"))

    @extend_schema(request=None, responses={201: serializers.PlanWithStepsOut})
    @action(detail=True, methods=["post"])
    def propose(self, request: Request, id: str) -> Response:  # noqa: A002
        """A plan that meets the need, or as much of it as can be met; it moves nothing before it is committed."""
        return plan_answer(plans.propose_plan(grant=self.get_object(), by=request.user))
