"""Idle GPUs on pages: seen by their people, answered with a reason and a day, shown to ops with the readings."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations import idle
from allocations.models import IdleCase, IdlePhase
from tests.allocations.idle.judged import MINUTE, held, judge

pytestmark = pytest.mark.django_db
WHY = "The loader is being mended."


@pytest.fixture
def case(lab):
    _grant, units = held(lab.project)
    judge(units, "held_idle", holder=lab.project.slug, since=timezone.now() - 61 * MINUTE)
    idle.tend()
    return IdleCase.objects.get()


def page(client, person, name: str, *args):
    client.force_login(person)
    return client.get(reverse(name, args=args))


def keep(client, person, case, **typed):
    client.force_login(person)
    today = timezone.localdate().isoformat()
    return client.post(reverse("idle_keep", args=[case.public_id]), {"reason": WHY, "until_on": today, **typed})


def test_the_page_shows_each_gpus_readings(client, lab, case):
    text = page(client, lab.pitcher, "idle_case", case.public_id).content.decode()

    assert [row["gpu"] in text for row in case.evidence] == [True, True]


def test_home_asks_the_lead_and_no_other(client, lab, case):
    asked = [login for login, person in lab.everyone.items() if b"2 idle GPUs" in page(client, person, "home").content]

    assert asked == ["lead"]


@pytest.mark.parametrize(
    ("login", "status"),
    [("pitcher", 302), ("lead", 302), ("ops", 403), ("auditor", 403), ("stranger", 404), ("applied-lead", 404)],
)
def test_who_may_answer(client, lab, case, login, status):
    answer = keep(client, lab.everyone[login], case)

    case.refresh_from_db()
    assert (answer.status_code, case.state) == (status, "kept" if status == 302 else "warned")


def test_what_was_typed_stays_when_it_is_refused(client, lab, case):
    far = (timezone.localdate() + timedelta(days=40)).isoformat()

    answer = keep(client, lab.lead, case, until_on=far)

    assert answer.status_code == 422
    assert WHY in answer.content.decode()
    assert "within 14 days and before the grant ends" in answer.content.decode()


def test_a_day_is_kept_until_its_end(client, lab, case, settings):
    settings.SITE_TIME_ZONE = "UTC"

    keep(client, lab.lead, case)

    case.refresh_from_db()
    assert (case.kept_until.date(), case.kept_until.hour) == (timezone.now().date() + timedelta(days=1), 0)


def test_the_grants_page_names_them_and_the_rule(client, lab, case):
    text = page(client, lab.lead, "grant", case.grant.public_id).content.decode()

    assert "2 GPUs do nothing since" in text
    assert "Asked after 1 h without work, again after 1 h 45 min; ops see it after 2 h." in text


def test_the_desk_of_ops_shows_those_that_were_asked_about_twice(client, lab, case):
    before = page(client, lab.ops, "reshuffle").content.decode()
    IdleCase.objects.filter(pk=case.pk).update(state="desk", again_at=timezone.now(), desk_at=timezone.now())

    after = page(client, lab.ops, "reshuffle").content.decode()

    address = reverse("idle_case", args=[case.public_id])
    assert (address in before, address in after) == (False, True)


def test_gpus_that_do_next_to_nothing_are_evidence_for_ops_alone(client, lab, case):
    judge([case.grant.assignments.first().gpu], "low", holder=lab.project.slug)

    seen = {
        login: b"Next to nothing" in page(client, lab.everyone[login], "idle").content
        for login in ("ops", "lead", "ceo")
    }

    assert seen == {"ops": True, "lead": False, "ceo": False}


def test_a_reason_longer_than_a_line_is_said_shorter_and_stays_typed(client, lab):
    today = timezone.localdate().isoformat()
    client.force_login(lab.lead)

    typed = {"starts_on": today, "ends_on": today, "reason": "w" * 301}
    answer = client.post(reverse("idle_phase_declare", args=[lab.project.slug]), typed)

    assert (answer.status_code, IdlePhase.objects.count()) == (422, 0)
    assert "w" * 301 in answer.content.decode()


def test_a_quiet_phase_is_said_and_ended(client, lab):
    client.force_login(lab.lead)
    today = timezone.localdate().isoformat()
    typed = {"starts_on": today, "ends_on": today, "reason": "A demo waits."}
    client.post(reverse("idle_phase_declare", args=[lab.project.slug]), typed)
    phase = IdlePhase.objects.get()

    answer = client.post(reverse("idle_phase_end", args=[lab.project.slug, phase.public_id]), follow=True)

    phase.refresh_from_db()
    assert (answer.status_code, phase.ends_at <= timezone.now()) == (200, True)


@pytest.mark.parametrize("login", ["pitcher", "ceo", "auditor"])
def test_who_may_not_say_one_sees_no_form_and_is_refused(client, lab, login):
    shown = page(client, lab.everyone[login], "idle_phases", lab.project.slug).content.decode()

    answer = client.post(reverse("idle_phase_declare", args=[lab.project.slug]), {})

    assert ("<form" in shown.split("<main", 1)[1], answer.status_code) == (False, 403)


def test_the_lists_take_as_many_queries_for_many_as_for_one(client, lab, case, django_assert_num_queries):
    client.force_login(lab.ops)
    client.get(reverse("idle"))
    with django_assert_num_queries(7):
        client.get(reverse("idle"))

    for number in range(3):
        _grant, units = held(lab.applied_project, gpus=number + 1)
        judge(units, "held_idle", holder=lab.applied_project.slug, since=timezone.now() - 600 * MINUTE)
    idle.tend()

    with django_assert_num_queries(7):
        client.get(reverse("idle"))
