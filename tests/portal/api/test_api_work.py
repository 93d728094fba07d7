"""The job over the API: a pitch to a grant to a plan to its moves; past rounds and generations are refused with 409."""

import json
from datetime import timedelta

import pytest
import yaml
from django.core.management import call_command
from django.utils import timezone

from allocations.models import Grant, Move, Pitch, Question, Split
from tests import factories

JSON = "application/json"


@pytest.fixture
def lab(lab):
    """With 8 free GPUs and a split."""
    factories.split()
    for gpu in factories.node("gpu-1.lab").gpus.all():
        factories.reading(gpu, "")
    return lab


def _ask(**changes) -> dict:
    return {
        "project": "protein-folding", "title": "Fold them all", "why": "It works on the small ones.", "model": "H100",
        "ideal_gpus": 4, "min_gpus": 2, "start_on": timezone.now().date().isoformat(), "days": 14,
    } | changes  # fmt: skip


def _as(client, person):
    client.force_login(person)
    return client


def test_the_whole_job(client, lab):
    pitch = _as(client, lab.pitcher).post("/api/pitches/", _ask(), JSON).json()
    client.post(f"/api/pitches/{pitch['id']}/submit/")
    for person, role in ((lab.chief, "chief-scientist"), (lab.head, "research-head")):
        answer = {"role": role, "verdict": "approve", "round": 1}
        signed = _as(client, person).post(f"/api/pitches/{pitch['id']}/sign/", answer, JSON).json()
    grant = Grant.objects.get()
    need = _as(client, lab.ops).get("/api/needs/").json()[0]
    plan = client.post(f"/api/needs/{need['grant']}/propose/").json()
    committed = client.post(f"/api/plans/{plan['id']}/commit/", {"generation": plan["target_generation"]}, JSON).json()
    moves = client.get(f"/api/moves/?plan={plan['id']}&open=true").json()["results"]

    assert (signed["state"], [row["role"] for row in signed["sign_offs"]]) == (
        "granted",
        ["chief-scientist", "research-head"],
    )
    assert (need["grant"], need["missing_gpus"]) == (str(grant.public_id), 4)
    assert (plan["moving_gpus"], plan["generation"], committed["generation"], committed["open_gpus"]) == (4, None, 1, 4)
    assert {(move["to"], move["state"], move["node"]) for move in moves} == {
        ("protein-folding", "proposed", "gpu-1.lab")
    }


def test_a_draft_is_changed_and_withdrawn_by_its_writer_only(client, lab):
    made = _as(client, lab.pitcher).post("/api/pitches/", _ask(), JSON)
    address = f"/api/pitches/{made.json()['id']}/"

    changed = client.put(address, _ask(title="Fold some", days=7), JSON)
    foreign = _as(client, lab.team_mate).put(address, _ask(title="Mine now"), JSON)
    withdrawn = _as(client, lab.pitcher).post(f"{address}withdraw/", {"reason": "too early"}, JSON)

    assert (made.status_code, made.json()["state"], changed.json()["title"], changed.json()["days"]) == (
        201, "draft", "Fold some", 7,
    )  # fmt: skip
    assert foreign.status_code in (403, 404)
    assert (withdrawn.json()["state"], Pitch.objects.get().title) == ("withdrawn", "Fold some")


def test_a_draft_says_all_that_the_form_says(client, lab):
    factories.node(site="oslo")
    question = Question.objects.create(text="Which data?", division=lab.research)
    more = {
        "alternatives": [{"model": factories.model("A100").name, "gpus": 9}],
        "links": [{"name": "The paper", "url": "https://papers.example/1"}],
        "answers": [{"question": question.pk, "value": "Public"}],
        "required_labels": {"site": "oslo"},
        "start_until": (timezone.now() + timedelta(days=9)).date().isoformat(),
    }

    asked = _as(client, lab.pitcher).get("/api/projects/protein-folding/questions/").json()
    made = client.post("/api/pitches/", _ask(**more), JSON).json()
    waits = client.post(f"/api/pitches/{made['id']}/submit/").json()
    refused = client.post("/api/pitches/", _ask(links=[{"url": "http://plain.example"}]), JSON)

    assert [(row["question"], row["text"], row["kind"]) for row in asked] == [(question.pk, "Which data?", "text")]
    assert {name: made[name] for name in more} == more | {
        "answers": [{"question": question.pk, "text": "Which data?", "value": "Public"}]
    }
    due = {row["role"]: (row["position"], row["escalates_to"]) for row in waits["needed"]}
    assert due == {"chief-scientist": (0, "ceo"), "research-head": (0, "ceo")}
    assert (waits["is_fast_lane"], waits["is_over_share"], waits["counts_from"]) == (False, False, "start")
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (422, "bad_terms", "links")


def test_a_project_that_one_does_not_see_cannot_be_pitched_for(client, lab):
    answer = _as(client, lab.stranger).post("/api/pitches/", _ask(), JSON)

    assert (answer.status_code, answer.json()["errors"]["project"], Pitch.objects.count()) == (
        400, ["There is no such project that you see."], 0,
    )  # fmt: skip


def test_a_signature_to_a_past_round_is_refused_with_409(client, lab):
    pitch = factories.submitted(lab.project, lab.pitcher, ideal_gpus=4, min_gpus=2)
    address = f"/api/pitches/{pitch.public_id}/sign/"
    fewer = {"role": "chief-scientist", "verdict": "approve", "round": 1, "gpus": 2}
    opened = _as(client, lab.chief).post(address, fewer, JSON).json()

    past = _as(client, lab.head).post(address, {"role": "research-head", "verdict": "approve", "round": 1}, JSON)
    now = client.post(address, {"role": "research-head", "verdict": "approve", "round": 2}, JSON)

    assert (opened["round"], opened["offered_gpus"]) == (2, 2)
    assert (past.status_code, past.json()["code"]) == (409, "stale")
    assert (now.json()["state"], Grant.objects.get().gpus) == ("granted", 2)


def test_ones_own_pitch_and_a_role_that_one_does_not_hold_are_refused(client, lab):
    own = factories.submitted(lab.project, lab.chief)
    answer = {"role": "chief-scientist", "verdict": "approve", "round": 1}

    mine = _as(client, lab.chief).post(f"/api/pitches/{own.public_id}/sign/", answer, JSON)
    others = _as(client, lab.head).post(f"/api/pitches/{own.public_id}/sign/", answer, JSON)
    unknown = client.post(f"/api/pitches/{own.public_id}/sign/", {**answer, "role": "emperor"}, JSON)

    assert [row.json()["code"] for row in (mine, others, unknown)] == ["not_allowed", "not_allowed", "bad_terms"]
    assert own.sign_offs.count() == 0


def test_a_split_is_proposed_and_signed_by_two(client, lab):
    terms = {"starts_at": timezone.now().isoformat(), "percents": {"": {"research": "55.5", "applied": "40"}}}
    made = _as(client, lab.ceo).post("/api/splits/", terms, JSON)
    address = f"/api/splits/{made.json()['id']}/sign/"

    states = [_as(client, person).post(address, {}, JSON).json()["state"] for person in (lab.ceo, lab.ceo_apps)]

    assert (made.status_code, made.json()["percents"]) == (201, {"": {"research": "55.50", "applied": "40.00"}})
    assert states == ["proposed", "signed"]
    assert Split.objects.filter(state="signed").count() == 2


def test_too_much_is_refused_with_the_numbers(client, lab):
    pitch = factories.pitch(lab.project, lab.pitcher, gpus=800)

    answer = _as(client, lab.pitcher).post(f"/api/pitches/{pitch.public_id}/submit/")

    told = answer.json()
    assert (answer.status_code, told["code"], Pitch.objects.get().state) == (409, "over_share", "draft")
    assert told["detail"].count("800") == 1


def test_a_grant_ends_early_with_a_reason(client, lab):
    grant = factories.grant(lab.project)
    address = f"/api/grants/{grant.public_id}/end/"

    without = _as(client, lab.lead).post(address, {}, JSON)
    with_one = client.post(address, {"reason": "done early"}, JSON)

    assert (without.status_code, without.json()["errors"]) == (400, {"reason": ["This field is required."]})
    assert (with_one.status_code, with_one.json()["ended_at"] is None) == (200, False)


def test_a_commit_of_a_past_generation_is_refused_with_409(client, lab):
    _as(client, lab.ops)
    needs = [factories.grant(lab.project, gpus=4), factories.grant(lab.project, gpus=4)]
    first, second = (client.post(f"/api/needs/{need.public_id}/propose/").json() for need in needs)
    client.post(f"/api/plans/{first['id']}/commit/", {"generation": 0}, JSON)

    answer = client.post(f"/api/plans/{second['id']}/commit/", {"generation": 0}, JSON)
    ahead = client.post(f"/api/plans/{second['id']}/commit/", {"generation": 7}, JSON)

    assert (answer.status_code, answer.json()["code"], ahead.json()["code"]) == (409, "stale", "stale")
    assert Move.objects.count() == 4


def test_an_undo_is_a_plan_of_its_own(client, lab):
    _as(client, lab.ops)
    plan = client.post(f"/api/needs/{factories.grant(lab.project, gpus=4).public_id}/propose/").json()
    early = client.post(f"/api/plans/{plan['id']}/undo/")
    client.post(f"/api/plans/{plan['id']}/commit/", {"generation": 0}, JSON)

    undo = client.post(f"/api/plans/{plan['id']}/undo/").json()

    assert (early.status_code, early.json()["code"]) == (409, "wrong_state")
    assert (undo["purpose"], undo["inverse_of"], {step["to"] for step in undo["steps"]}) == ("undo", plan["id"], {""})


def test_a_gpu_comes_with_its_reading_and_unknown_is_null(client, lab):
    gpu = factories.node("gpu-2.lab", gpus=1).gpus.get()
    _as(client, lab.stranger)

    unread = client.get(f"/api/gpus/{gpu.uuid}/").json()
    factories.reading(gpu, None, util_pct=None, running=None)
    unknown = client.get(f"/api/gpus/{gpu.uuid}/").json()

    assert (unread["doing"], unread["reading"], unread["assigned_to"]) == ("unknown", None, "")
    assert (unknown["doing"], unknown["reading"]["holder"], unknown["reading"]["util_pct"]) == ("unknown", None, None)


def test_pages_follow_by_key_without_gap_or_repeat(client, lab):
    factories.fleet(gpus=9)
    _as(client, lab.ops)
    seen, address = [], "/api/gpus/?page_size=4"

    while address:
        page = client.get(address).json()
        seen.append([row["uuid"] for row in page["results"]])
        address = page["next"]

    flat = [uuid for page in seen for uuid in page]
    assert ([len(page) for page in seen], len(set(flat))) == ([4, 4, 4, 4, 1], 17)


@pytest.mark.parametrize(
    ("address", "count"),
    [
        ("gpus/?doing=free", 8), ("gpus/?doing=active", 0), ("gpus/?node=gpu-1.lab", 8),
        ("gpus/?project=protein-folding", 0), ("nodes/?silent=false", 1), ("nodes/?silent=true", 0),
        ("nodes/?island=none", 0), ("projects/?state=active", 2), ("projects/?division=applied", 1),
        ("splits/?state=signed", 1), ("events/?verb=role.added", 7), ("events/?kind=role&actor=tests", 7),
        ("plans/?committed=true", 0), ("moves/?open=true", 0), ("pitches/?state=draft", 0), ("models/", 1),
    ],
)  # fmt: skip
def test_lists_are_filtered_by_query_parameters(client, lab, address, count):
    _as(client, lab.ops)

    assert len(client.get(f"/api/{address}").json()["results"]) == count


COSTS = {
    "models": 3, "nodes": 3, "gpus": 3, "projects": 4, "pitches": 12, "splits": 8, "grants": 5, "needs": 5, "plans": 4,
    "moves": 4, "events": 4,
}  # fmt: skip


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("noun", COSTS)
def test_a_list_costs_the_same_with_one_row_and_with_three(client, lab, django_assert_num_queries, noun, rows):
    _as(client, lab.ops)
    for _row in range(rows):
        project = factories.project(division=lab.research)
        pitch = factories.submitted(project, lab.pitcher)
        pitch.sign_offs.create(
            round=1, role=lab.role("research-head"), person=lab.head, verdict="approve", gpus=8, at=timezone.now()
        )
        for gpu in factories.node(gpus=1).gpus.all():
            factories.reading(gpu, "")
        need = factories.grant(project, gpus=2)
        plan = client.post(f"/api/needs/{need.public_id}/propose/").json()
        client.post(f"/api/plans/{plan['id']}/commit/", {"generation": plan["target_generation"]}, JSON)
        factories.split(state="proposed", by=lab.ceo).roles.set([lab.role("ceo"), lab.role("ceo-applications")])

    with django_assert_num_queries(COSTS[noun]):
        answer = client.get(f"/api/{noun}/")

    assert answer.status_code == 200


def test_the_openapi_document_is_valid_and_without_warnings(capsys):
    call_command("spectacular", validate=True, fail_on_warn=True)

    document = yaml.safe_load(capsys.readouterr().out)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len(operations) > 30
    assert [
        one["operationId"] for one in operations if "application/problem+json" not in json.dumps(one["responses"])
    ] == []


def test_the_document_and_its_page_are_served_with_a_policy_of_their_own(client, lab):
    _as(client, lab.stranger)

    document, page = client.get("/api/schema/?format=json"), client.get("/api/docs/")

    assert document.json()["info"]["title"] == "Allot"
    assert page.status_code == 200
    assert page.headers["Content-Security-Policy"].count("'unsafe-inline'") == 2
    assert document.headers["Content-Security-Policy"].count("'unsafe-inline'") == 0
    assert [line for line in page.content.decode().splitlines() if "//" in line and "http" in line] == []
