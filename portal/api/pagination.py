"""Lists of the API by key: `before` names the last row seen, `next` the address to go on from. No offsets."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

LARGEST_KEY = 2**63 - 1  # of a bigint
PAGE_ROWS = 50
MOST_ROWS = 500  # a whole fleet in a dozen answers; one answer stays below a second
BEFORE, SIZE = "before", "page_size"


class NewestFirst(BasePagination):
    """`results` by descending key and `next`, null on the last page."""

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: APIView | None = None) -> list[Any]:
        """The rows of the page that the request asks for; one query."""
        before, size = _number(request, BEFORE, LARGEST_KEY), _number(request, SIZE, MOST_ROWS) or PAGE_ROWS
        rows = queryset if before is None else queryset.filter(pk__lt=before)
        found = list(rows.order_by("-pk")[: size + 1])
        shown = found[:size]
        self.next = None
        if len(found) > size:
            self.next = replace_query_param(request.build_absolute_uri(), BEFORE, shown[-1].pk)
        return shown

    def get_paginated_response(self, data: Sequence[Any]) -> Response:
        """The page as the API answers it."""
        return Response({"next": self.next, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The same for the OpenAPI document."""
        following = {"type": "string", "format": "uri", "nullable": True}
        properties = {"next": following, "results": schema}
        return {"type": "object", "required": ["next", "results"], "properties": properties}

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """The two query parameters for the OpenAPI document."""
        said = {BEFORE: "Only rows older than this key.", SIZE: "Rows on a page."}
        most = {BEFORE: LARGEST_KEY, SIZE: MOST_ROWS}
        return [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": words,
                "schema": {"type": "integer", "minimum": 1, "maximum": most[name]},
            }
            for name, words in said.items()
        ]


def _number(request: Request, name: str, most: int) -> int | None:
    text = request.query_params.get(name)
    if not text:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_KEY))
    if not (is_number and 1 <= int(text) <= most):
        raise ValidationError({name: [_("A whole number from 1 to %(most)d.") % {"most": most}]})
    return int(text)
