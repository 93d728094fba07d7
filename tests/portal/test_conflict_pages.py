"""Conflicts of interest on the pages and over the API: who declares, what says so, and that no door lets through."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import deputies, recusals
from allocations.models import ConflictOfInterest, Pitch, SignOff
from tests import factories
from tests.allocations.test_deputies import name

JSON = "application/json"
WHY = "My sister works there."


@pytest.fixture
def pitch(lab) -> Pitch:
    factories.fleet(gpus=64)
    factories.split()
    return factories.submitted(lab.project, lab.pitcher, gpus=4)  # so few that the desk takes it unopened


def declare(lab, who=None, **changes) -> ConflictOfInterest:
    who = who or lab.chief
    return recusals.declare_conflict(person=who, project=lab.project, by=who, reason=WHY, **changes)


def test_a_signer_declares_a_conflict_and_ends_it(client, lab, pitch):
    client.force_login(lab.chief)
    typed = {"project": lab.project.slug, "reason": WHY, "until_on": ""}

    silent = client.post(reverse("conflict_declare", args=[lab.chief.pk]), {**typed, "reason": ""})
    told = client.post(reverse("conflict_declare", args=[lab.chief.pk]), typed)
    row = ConflictOfInterest.objects.get()
    page = client.get(reverse("conflicts")).content.decode()
    early = client.post(reverse("conflict_end", args=[row.public_id]), {})
    ended = client.post(reverse("conflict_end", args=[row.public_id]), {f"end-{row.pk}-reason": "She has left."})

    assert (silent.status_code, early.status_code) == (422, 422)
    assert (told.status_code, told.url, ended.status_code, ended.url) == (302, "/conflicts/", 302, "/conflicts/")
    assert (row.person, row.project, row.reason, row.during.upper) == (lab.chief, lab.project, WHY, None)
    assert (WHY in page, "until it is ended" in page) == (True, True)
    assert WHY not in client.get(reverse("conflicts")).content.decode()


def test_an_admin_declares_it_for_somebody_and_nobody_else_does(client, lab, pitch):
    typed, found = {"project": lab.project.slug, "reason": WHY}, {}
    for login in ("stranger", "research-head", "ceo", "ops", "auditor", "admin"):
        client.force_login(lab.everyone[login])
        found[login] = (
            client.get(reverse("person_conflicts", args=[lab.chief.pk])).status_code,
            client.post(reverse("conflict_declare", args=[lab.chief.pk]), typed).status_code,
        )

    assert found == {
        **dict.fromkeys(["stranger", "research-head", "ceo", "ops", "auditor"], (403, 403)),
        "admin": (200, 302),
    }
    assert WHY in client.get(reverse("person", args=[lab.chief.pk])).content.decode()


def test_the_conflict_of_somebody_else_is_nobodys_to_end(client, lab, pitch):
    row = declare(lab)
    found = {}
    for login in ("stranger", "research-head", "ops", "admin"):
        client.force_login(lab.everyone[login])
        answer = client.post(reverse("conflict_end", args=[row.public_id]), {f"end-{row.pk}-reason": "Over."})
        found[login] = answer.status_code

    assert found == {"stranger": 403, "research-head": 403, "ops": 403, "admin": 302}


def test_the_queue_and_the_pitch_say_so_plainly(client, lab, pitch):
    declare(lab)
    client.force_login(lab.chief)
    queue, page = client.get(reverse("queue_coming")), client.get(reverse("pitch", args=[pitch.public_id]))
    client.force_login(lab.head)
    other = client.get(reverse("queue_item", args=[pitch.public_id]))

    mine = f"You have declared a conflict of interest with {lab.project.name}"
    assert (pitch.title in queue.content.decode(), mine in queue.content.decode()) == (False, True)
    assert mine in page.content.decode()
    assert (
        f"has declared a conflict of interest with {lab.project.name} and signs nothing of it: {WHY}"
        in other.content.decode()
    )


@pytest.mark.parametrize("door", ["page", "api", "desk", "deputy"])
def test_no_door_lets_a_signature_through(client, lab, pitch, door):
    hugo = factories.person("hugo")
    name(lab, lab.chief, hugo, "chief-scientist")
    declare(lab)
    client.force_login(hugo if door == "deputy" else lab.chief)

    status = DOORS[door](client, lab, pitch)

    assert (status, SignOff.objects.count()) == ({"desk": 200}.get(door, 403), 0)


def _by_page(client, lab, pitch) -> int:
    typed = {"answer": "approve", "role": "chief-scientist", "round": 1}
    return client.post(reverse("pitch_sign", args=[pitch.public_id]), typed).status_code


def _by_api(client, lab, pitch) -> int:
    answer = {"role": "chief-scientist", "verdict": "approve", "round": 1}
    return client.post(f"/api/pitches/{pitch.public_id}/sign/", answer, JSON).status_code


def _at_the_desk(client, lab, pitch) -> int:
    typed = {
        "division": "research", "model": pitch.model.name, "take": f"{pitch.public_id}:1:chief-scientist",
        f"gpus-{pitch.public_id}": 4,
    }  # fmt: skip
    return client.post(reverse("desk_decide"), typed).status_code


DOORS = {"page": _by_page, "api": _by_api, "desk": _at_the_desk, "deputy": _by_page}


def test_over_the_api_it_is_declared_listed_and_ended(client, lab, pitch):
    client.force_login(lab.chief)
    said = {"project": lab.project.slug, "reason": WHY}

    made = client.post("/api/conflicts/", said, JSON)
    mine = [row["project"] for row in client.get("/api/conflicts/").json()["results"]]
    client.force_login(lab.head)
    theirs = client.get("/api/conflicts/").json()["results"]
    foreign = client.post("/api/conflicts/", {**said, "person": "chief-scientist"}, JSON)
    hidden = client.post(f"/api/conflicts/{made.json()['id']}/end/", {"reason": "x"}, JSON)
    client.force_login(lab.chief)
    ended = client.post(f"/api/conflicts/{made.json()['id']}/end/", {"reason": "She has left."}, JSON)

    assert (made.status_code, made.json()["person"], made.json()["until"]) == (201, "chief-scientist", None)
    assert (mine, theirs, foreign.status_code, hidden.status_code) == ([lab.project.slug], [], 403, 404)
    assert (ended.status_code, ended.json()["until"] is None) == (200, False)


def test_a_project_that_one_does_not_see_is_not_named(client, lab, pitch):
    client.force_login(lab.stranger)

    api = client.post("/api/conflicts/", {"project": lab.project.slug, "reason": WHY}, JSON)
    page = client.post(
        reverse("conflict_declare", args=[lab.stranger.pk]), {"project": lab.project.slug, "reason": WHY}
    )

    assert (api.status_code, page.status_code, ConflictOfInterest.objects.count()) == (400, 422, 0)


def test_a_deputy_sees_nothing_to_sign_for_a_principal_in_conflict(client, lab, pitch):
    hugo = factories.person("hugo")
    row = name(lab, lab.chief, hugo, "chief-scientist")
    declare(lab)
    client.force_login(hugo)

    assert pitch.title not in client.get(reverse("queue")).content.decode()
    deputies.end_deputy(deputy_row=row, by=lab.chief, reason="Back.")


def test_what_comes_later_says_after_whom(client, lab, pitch):
    pitch.needed_roles.filter(role=lab.role("chief-scientist")).update(position=2)
    client.force_login(lab.chief)

    part = client.get(reverse("queue_coming"), headers={"HX-Request": "true"}).content.decode()

    assert (pitch.title in part, "after Research head" in part, "<html" in part) == (True, True, False)
    assert pitch.title not in client.get(reverse("queue")).content.decode()


def test_a_row_of_the_queue_says_since_when_it_is_overdue(client, lab, pitch):
    client.force_login(lab.chief)
    before = client.get(reverse("queue")).content.decode()
    pitch.needed_roles.update(due_at=timezone.now() - timedelta(days=1))

    after = client.get(reverse("queue")).content.decode()

    listed = [text[text.index('class="queue-list"') :].split("</nav>")[0] for text in (before, after)]
    assert ["overdue since" in text for text in listed] == [False, True]
