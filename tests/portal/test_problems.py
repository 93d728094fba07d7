"""Every domain error has a status, and pages and API tell it with the same sentence and code."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions

from allocations import errors as refused
from inventory import errors as machines
from portal import problems
from portal.forms import SignOffForm

EXPECTED = {
    "AllocationsError": (409, "allocations_error"),
    "NotAllowed": (403, "not_allowed"),
    "BadTerms": (422, "bad_terms"),
    "WrongState": (409, "wrong_state"),
    "Stale": (409, "stale"),
    "OverQuota": (409, "over_quota"),
    "OverShare": (409, "over_share"),
    "OverCapacity": (409, "over_capacity"),
    "Uncovered": (409, "uncovered"),
    "NothingToPlan": (409, "nothing_to_plan"),
    "NobodyToSign": (409, "nobody_to_sign"),
    "InventoryError": (409, "inventory_error"),
    "BadFleetFile": (422, "bad_fleet_file"),
    "WrongCordon": (409, "wrong_cordon"),
    "BadJoinCode": (403, "bad_join_code"),
    "WrongEnrolment": (409, "wrong_enrolment"),
    "WrongMode": (409, "wrong_mode"),
    "WrongArrival": (409, "wrong_arrival"),
    "NodeError": (502, "node_error"),
    "NodeUnreachable": (503, "node_unreachable"),
    "NodeRefused": (502, "node_refused"),
    "BadAnswer": (502, "bad_answer"),
    "BadToken": (502, "bad_token"),
    "CertificateMismatch": (502, "certificate_mismatch"),
    "UnknownDriver": (502, "unknown_driver"),
}
ARGUMENTS = {
    "BadFleetFile": (3, "gpus", "not a number"),
    "InventoryError": ("it broke",),
    "NodeRefused": ("node-1", "no", "older", 3),
}


def _classes() -> list[type[Exception]]:
    modules = (refused, machines)
    return [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)
            and issubclass(kind, problems.DOMAIN_ERRORS) and kind.__module__ == module.__name__]  # fmt: skip


def _raised(kind: type[Exception]) -> Exception:
    is_of_node = issubclass(kind, machines.NodeError)
    return kind(*ARGUMENTS.get(kind.__name__, ("node-1", "no answer") if is_of_node else ("No.",)))


def test_every_class_of_both_apps_has_its_status_and_code():
    told = {}

    for kind in _classes():
        problem = problems.problem_of(_raised(kind))
        told[kind.__name__] = (problem.status, problem.code)

    assert told == {name: EXPECTED.get(name, "not in the table of this test") for name in told}
    assert set(EXPECTED) <= set(told)


@pytest.mark.parametrize("kind", _classes())
def test_the_api_tells_every_class_as_problem_json_with_its_sentence(kind):
    error = _raised(kind)

    response = problems.api_exception_handler(error, {})

    assert response.content_type == "application/problem+json"
    assert response.status_code == response.data["status"]
    assert response.data["code"] == error.code
    assert response.data["detail"] == (getattr(error, "message", "") or str(error))


def test_a_refusal_names_its_numbers_beside_the_fixed_fields():
    error = refused.OverShare("Research has 4 of 8 left.", left_gpus=4, code="an attempt to overwrite")

    response = problems.api_exception_handler(error, {})

    assert response.data == {
        "type": "about:blank",
        "title": "Over the share",
        "status": 409,
        "code": "over_share",
        "detail": "Research has 4 of 8 left.",
        "left_gpus": 4,
    }


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (exceptions.ValidationError({"gpus": ["Too many."]}), 400, "invalid"),
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 403, "permission_denied"),
        (exceptions.NotAuthenticated(), 401, "not_authenticated"),
        (exceptions.Throttled(wait=3), 429, "throttled"),
        (exceptions.ParseError(), 400, "parse_error"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
    ],
)
def test_what_the_api_itself_refuses_has_the_same_shape(error, status, code):
    response = problems.api_exception_handler(error, {})

    assert (response.status_code, response.data["status"], response.data["code"]) == (status, status, code)
    assert response.content_type == "application/problem+json"


def test_validation_errors_name_their_fields():
    response = problems.api_exception_handler(exceptions.ValidationError({"gpus": ["Too many."]}), {})

    assert response.data["errors"] == {"gpus": ["Too many."]}


def test_an_error_that_is_no_refusal_is_left_to_the_server():
    assert problems.api_exception_handler(RuntimeError("a bug"), {}) is None


def test_a_refusal_stands_at_the_field_that_it_names():
    form = SignOffForm({"answer": "less", "round": "1", "role": "ceo", "gpus": "4"})

    status = problems.refuse(form, refused.BadTerms("At least 8.", field="gpus"))

    assert status == 422
    assert form.errors == {"gpus": ["At least 8."]}


def test_a_refusal_without_a_field_stands_above_the_form():
    form = SignOffForm({"answer": "approve", "round": "1", "role": "ceo"})

    status = problems.refuse(form, refused.Stale("Somebody was first."))

    assert status == 409
    assert form.non_field_errors() == ["Somebody was first."]
