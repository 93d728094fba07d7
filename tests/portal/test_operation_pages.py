"""What the pages of operation say and do: needs, donors, plans and their why, nodes, the map's data, the trail."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from allocations import plans
from allocations.models import Move, Person, Plan, Target
from inventory import trail
from inventory.models import Cordon, Event
from tests import factories
from tests.portal.operation import world

DESK_PARTS = ["needs", "donors", "proposals", "lanes", "troubles", "recent"]


@pytest.fixture
def made(lab):
    return world(lab)


@pytest.fixture
def ops(client, lab):
    client.force_login(lab.ops)
    return client


def _plain(page: str) -> str:
    """What a person reads: no tags, white space told as one blank."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", page))).strip()


def _text(answer) -> str:
    page = answer.content.decode()
    return _plain(page[page.index("<main") :] if "<main" in page else page)


def _section(answer, name: str) -> str:
    """The section of that id, with those inside it."""
    page = answer.content.decode()
    start, depth = page.index(f'<section id="{name}"'), 0
    for tag in re.finditer(r"<(/?)section\b", page[start:]):
        depth += -1 if tag.group(1) else 1
        if depth == 0:
            return _plain(page[start : start + tag.start()])
    raise AssertionError(f"{name} never ends")


def test_the_desk_shows_what_a_need_lacks_and_what_the_wait_has_cost(ops, made):
    needs = _section(ops.get("/reshuffle/"), "needs")

    assert needs.startswith("Needs 8 GPUs missing Protein folding 8 H100 Research · 0 of 8 assigned")
    assert needs.count("waits 10 h · 80 GPU-h lost Propose a plan") == 1


def test_donors_come_with_their_evidence(ops, made):
    donors = _section(ops.get("/reshuffle/"), "donors")

    assert re.findall(r"H100 free 8 Nobody has them and nothing runs on them", donors) == [
        "H100 free 8 Nobody has them and nothing runs on them"
    ]
    assert re.findall(r"ended Old one 4 4 with processes · oldest reading \d+ s Propose to take back", donors) != []


def test_a_proposed_plan_says_why_and_what_its_commit_does(ops, made, lab):
    answer = ops.post(f"/reshuffle/needs/{made.need.public_id}/propose/")
    newest = Plan.objects.first()

    page = _section(ops.get(answer.url), "proposals")

    assert answer.url == f"/reshuffle/?plan={newest.public_id}#plan"
    assert "8 free: nobody has them and nothing runs on them." in page
    assert "Nobody: these GPUs are nobody's." in page
    assert "8 go to Protein folding. Nothing that runs is touched. Commit: move 8 GPUs on generation 0" in page


def test_a_plan_that_takes_from_people_names_them_before_the_click(ops, lab):
    winding = factories.project("late-one", lead=factories.person("ada", first_name="Ada", last_name="Lead"))
    winding.state, winding.releases_at = "winding_down", timezone.now() - timedelta(hours=1)
    winding.save()
    for gpu in factories.fleet(gpus=4):
        factories.assignment(gpu, winding, since=timezone.now() - timedelta(days=3))
        factories.reading(gpu, winding.slug, running=1, util_pct=90.0)
    plan = plans.propose_plan(grant=factories.grant(lab.project, gpus=6), by=lab.ops)

    page = _text(ops.get(f"/plans/{plan.public_id}/"))

    assert "2 GPUs are still missing." in page
    assert "gives 4, 4 of them with processes; Ada Lead is told" in page
    assert "What still runs there may end first; the leads are told now. Commit: move 4 GPUs" in page


def test_where_there_is_no_plan_the_desk_says_why_and_keeps_standing(ops, lab):
    for gpu in factories.fleet(gpus=2):
        factories.assignment(gpu, lab.applied_project)
        factories.reading(gpu, lab.applied_project.slug, util_pct=80.0)
    need = factories.grant(lab.project, gpus=2)

    answer = ops.post(f"/reshuffle/needs/{need.public_id}/propose/")

    assert answer.status_code == 409
    assert "No GPU can be taken for this need now: 2 are missing." in _text(answer)
    assert "2 held by right" in _text(answer)
    assert Plan.objects.count() == 0


def test_a_commit_sends_the_moves_on_their_way_and_shows_them(ops, made):
    answer = ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0}, follow=True)

    assert answer.redirect_chain == [(f"/plans/{made.plan.public_id}/", 302)]
    assert (Target.objects.get().generation, Move.objects.count()) == (1, 8)
    assert "0 of 8 done" in _text(answer)
    assert "Nothing moves." not in _section(ops.get("/reshuffle/"), "lanes")


def test_a_commit_of_a_past_state_is_refused_and_shows_what_was_committed_since(ops, made, lab):
    other = plans.propose_plan(grant=made.need, by=lab.ops)
    plans.commit_plan(plan=other, by=lab.ops, generation=0)

    answer = ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0})

    assert answer.status_code == 409
    assert "Committed since this plan was made: Protein folding , generation 1, ops" in _text(answer)
    assert "A later commit has overtaken this plan." in _text(answer)
    assert Move.objects.count() == 8


@pytest.mark.parametrize("data", [{}, {"generation": "x"}, {"generation": "-1"}])
def test_a_commit_that_does_not_say_what_was_seen_commits_nothing(ops, made, data):
    answer = ops.post(f"/plans/{made.plan.public_id}/commit/", data)

    assert (answer.status_code, Move.objects.count()) == (422, 0)


def test_a_commit_pressed_twice_has_one_effect(ops, made):
    ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0})

    again = ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 1})

    assert (again.status_code, Target.objects.get().generation, Move.objects.count()) == (409, 1, 8)
    assert "This plan has been committed already." in _text(again)


def test_an_undo_is_a_proposal_that_both_pages_link(ops, made):
    ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0})

    undo = ops.post(f"/plans/{made.plan.public_id}/undo/", follow=True)

    assert "Undo of generation 1" in _text(undo)
    assert "The plan that it undoes" in _text(undo)
    assert "An undo of this plan is proposed" in _text(ops.get(f"/plans/{made.plan.public_id}/"))
    assert Move.objects.filter(plan__purpose="undo").count() == 0


def test_an_overtaken_plan_says_so_and_offers_no_commit(ops, made):
    ops.post(f"/reshuffle/needs/{made.need.public_id}/propose/")
    newest = Plan.objects.first()
    before = _section(ops.get(f"/reshuffle/?plan={newest.public_id}"), "proposals")

    ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0})
    page = _section(ops.get(f"/reshuffle/?plan={newest.public_id}"), "proposals")

    assert ("Commit: move 8 GPUs" in before, "overtaken" in before) == (True, False)
    assert ("Commit: move" in page, "A later commit has overtaken this plan." in page) == (False, True)


def test_drift_and_failed_moves_stand_under_not_as_intended(ops, made, lab):
    ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0})
    first, *_others = Move.objects.order_by("pk")
    Move.objects.filter(pk=first.pk).update(state="failed", failed_at=timezone.now(), fault="node_refused")
    factories.reading(made.ended.assignments.first().gpu, "somebody-else", util_pct=50.0)

    troubles = _section(ops.get("/reshuffle/"), "troubles")
    answer = ops.post("/reshuffle/repair/", follow=True)

    assert "failed 1 node, of this plan 1 H100 nobody Protein folding node_refused" in troubles
    assert "drift gpu-2.lab 1 H100 somebody-else old-one no move is open" in troubles
    assert "2 held by another than intended: the intended holder is ordered again." in _text(answer)


@pytest.mark.parametrize("part", DESK_PARTS)
def test_each_part_of_the_desk_equals_the_page(ops, made, part):
    ops.post(f"/plans/{made.plan.public_id}/commit/", {"generation": 0})
    page = ops.get("/reshuffle/")

    answer = ops.get("/reshuffle/", headers={"HX-Request": "true", "HX-Target": part})

    # The ages of readings go on between the two requests.
    assert re.sub(r"\d+ s\b", "", _section(answer, part)) == re.sub(r"\d+ s\b", "", _section(page, part))
    assert answer.content.decode().strip().startswith(f'<section id="{part}"')


def test_a_nodes_page_shows_drift_silence_and_age(ops, lab):
    silent = factories.node("gpu-9.lab", gpus=2, silent_since=timezone.now() - timedelta(minutes=14), fault="bad_token")
    first, second = silent.gpus.order_by("pci_bus_id")
    factories.assignment(first, lab.project)
    factories.reading(first, lab.applied_project.slug, util_pct=50.0, processes=[{"user": "ada", "pid": 77}], running=1)

    page = _text(ops.get("/nodes/gpu-9.lab/"))

    assert "Silent for 14 min (bad_token)." in page
    assert re.findall(r"01:00\.0 active assistant protein-folding drift 50 %", page) != []
    unknown = "\N{EN DASH} "
    assert re.findall(rf"02:00\.0 unknown unknown nobody {unknown * 3}unknown {unknown.strip()}", page) != []


def test_the_panel_beside_the_map_is_a_part_of_the_page(ops, made):
    answer = ops.get(f"/nodes/{made.node.name}/", headers={"HX-Request": "true", "HX-Target": "beside"})

    assert answer.content.decode().count("<main") == 0
    assert _text(answer).startswith("gpu-1.lab pod-1 · H100 · answered just now")
    assert answer.headers["Vary"].count("HX-Target") == 1


def test_a_cordon_is_typed_with_its_last_day_inclusive_in_the_sites_zone(ops, made, settings):
    settings.SITE_TIME_ZONE = "Europe/Berlin"

    ops.post(f"/nodes/{made.node.name}/cordon/", {"reason": "fan 3", "until_on": "2031-07-04"})

    assert Cordon.objects.get().during.upper.isoformat() == "2031-07-04T22:00:00+00:00"
    assert "Cordoned just now , ends 5 Jul 2031 : fan 3" in _text(ops.get(f"/nodes/{made.node.name}/"))


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"reason": ""}, 422),
        ({"reason": "x", "until_on": "soon"}, 422),
        ({"reason": "x", "until_on": "2020-01-01"}, 409),
    ],
)
def test_a_cordon_that_cannot_be_keeps_what_was_typed(ops, made, data, status):
    answer = ops.post(f"/nodes/{made.node.name}/cordon/", data)

    typed = [value for value in data.values() if value]
    assert (answer.status_code, Cordon.objects.count()) == (status, 0)
    assert [value for value in typed if f'value="{value}"' in answer.content.decode()] == typed


def test_lifting_what_is_not_cordoned_is_told_as_a_problem(ops, made):
    answer = ops.post(f"/nodes/{made.node.name}/uncordon/")

    assert answer.status_code == 409
    assert "gpu-1.lab is not cordoned." in _text(answer)


def test_the_table_filters_and_opens_each_number(ops, made):
    page = _text(ops.get("/fleet/?as=table&doing=active"))

    assert "4 GPUs: 4 in use." in page
    assert page.count("gpu-2.lab") == 4
    assert page.count("gpu-1.lab") == 0
    assert "No GPU fits these filters" in _text(ops.get("/fleet/?as=table&doing=nonsense"))


def test_the_trail_filters_by_verb_noun_subject_and_actor(ops, made):
    def verbs(query: str) -> list[str]:
        return re.findall(r'class="event" data-verb="([\w.]+)"', ops.get(f"/trail/?{query}").content.decode())

    plan = f"kind=plan&subject={made.plan.pk}"
    assert verbs("verb=plan") == ["plan.proposed"]
    assert verbs("verb=plan.proposed&actor=OPS") == ["plan.proposed"]
    assert verbs(plan) == ["plan.proposed"]
    assert verbs("verb=plan&actor=ceo") == []
    Person.objects.filter(username="ops").update(first_name="Jonas", last_name="Keller")
    assert verbs("verb=plan&actor=keller jonas") == ["plan.proposed"]
    assert set(verbs("verb=role")) == {"role.added"}


def test_a_row_of_the_trail_opens_its_facts_and_shows_its_seal(ops, made):
    trail.seal()
    event = Event.objects.filter(verb="plan.proposed").get()

    page = ops.get("/trail/?verb=plan.proposed").content.decode()

    assert page.count(event.seal.digest) == 2
    assert re.findall(r"<dt>purpose</dt><dd>need</dd>", page) == ["<dt>purpose</dt><dd>need</dd>"]
    assert "0 events wait for their seal." in page


def test_the_trail_says_what_waits_for_its_seal(ops, made):
    count = Event.objects.count()

    assert f"{count} events wait for their seal." in _text(ops.get("/trail/"))


def test_needs_are_named_by_their_pitch_and_those_to_come_are_announced(ops, lab):
    now = timezone.now()
    for title, days in (("Fold them now", 0), ("Fold them next week", 7), ("Fold them in spring", 90)):
        grant = factories.grant(lab.project, starts_at=now + timedelta(days=days), ends_at=now + timedelta(days=200))
        grant.pitch = factories.pitch(lab.project, lab.pitcher, title=title)
        grant.save()
    over = factories.grant(lab.project, starts_at=now + timedelta(days=5), ends_at=now + timedelta(days=5))

    page = ops.get("/reshuffle/").content.decode()

    needs, coming = page.split("Begin within two weeks")
    assert "Fold them now" in needs
    assert "Fold them next week" in coming
    assert ("Fold them in spring" in page, str(over.public_id) in page) == (False, False)
