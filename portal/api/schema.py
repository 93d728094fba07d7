"""What the OpenAPI document says about refusals: each operation may answer a problem."""

from typing import Any

PROBLEM = "application/problem+json"
REFUSALS = {
    "4XX": "A refusal: not logged in, not yours, wrong input, or a state that is past.",
    "5XX": "The portal or a node could not do it now.",
}


def tell_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Every operation of the document names what a refusal looks like."""
    result["components"].setdefault("schemas", {})["Problem"] = SHAPE
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, words in REFUSALS.items():
                operation["responses"].setdefault(status, {"description": words, "content": content})
    return result


SHAPE = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Never changes; for programs."},
        "detail": {"type": "string", "description": "For people."},
        "errors": {"type": "object", "additionalProperties": {}, "description": "Field: what is wrong with it."},
    },
    "additionalProperties": {},
}
