"""A GPU's page: who has it and shall, what it does and since when, who runs on it, what it did, what was wrong."""

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from allocations.models import UnixAccount
from inventory.models import Finding, Gpu, UsageFiveMinutes, UsageHour
from tests import factories
from tests.portal.operation import world


@pytest.fixture
def made(lab):
    return world(lab)


@pytest.fixture
def card(made):
    return made.node.gpus.order_by("pci_bus_id").first()


@pytest.fixture
def stranger(client, lab):
    client.force_login(lab.stranger)
    return client


def _text(answer) -> str:
    page = answer.content.decode()
    text = unescape(re.sub(r"<[^>]*>", " ", page[page.index("<main") :]))
    return re.sub(r"\s+", " ", text).strip()


def _page(client, card: Gpu) -> str:
    return _text(client.get(f"/gpus/{card.pk}/"))


def test_it_says_who_has_it_who_shall_and_that_they_differ(stranger, card, lab):
    factories.reading(card, lab.project.slug, util_pct=90.0, running=1, power_w=512.4)
    factories.assignment(card, lab.applied_project)

    page = _page(stranger, card)

    assert f"Held by {lab.project.slug} as its node says Meant for {lab.applied_project.slug} drift" in page
    assert "Use 90 % Memory 0.0 GiB of 79.6 GiB Power 512 W" in page


def test_what_it_does_comes_with_the_verdicts_reason_and_its_begin(stranger, card, lab):
    since = timezone.now() - timedelta(hours=3, minutes=1)
    factories.reading(card, lab.project.slug, util_pct=100.0, running=1)
    factories.activity(card, "hung", since=since, holder=lab.project.slug, why="kernels all the time at idle power")

    page = _page(stranger, card)

    assert page.count("Does hung since 3 h ago kernels all the time at idle power") == 1


def test_a_verdict_about_other_hands_explains_nothing(stranger, card, lab):
    factories.reading(card, lab.project.slug, util_pct=90.0, running=1)
    factories.activity(card, "unknown", holder="somebody-else", why="7 % of its readings are there")

    page = _page(stranger, card)

    assert "Does active by its newest reading alone: too little has been read to judge" in page


def test_who_runs_on_it_has_a_name_a_job_and_a_right(stranger, card, lab):
    UnixAccount.objects.create(person=lab.pitcher, uid=1234, login="ada", during=(factories.LONG_AGO, None))
    told = {"started_at_s": None, "name": "python", "job": "slurm-77", "zombie": False}
    factories.reading(
        card, lab.project.slug, running=2,
        processes=[
            {"pid": 7, "user": "ada", "uid": 1234, "mem_mib": 1024, "allowed": True, **told},
            {"pid": 8, "user": "eve", "uid": 6666, "mem_mib": 2048, "allowed": False, **told},
        ],
    )  # fmt: skip

    page = _page(stranger, card)

    dash = "\N{EN DASH}"
    assert page.count(f"eve python 8 slurm-77 2.0 GiB {dash} no") == 1
    assert page.count(f"ada {lab.pitcher.name} python 7 slurm-77 1.0 GiB {dash} yes") == 1
    assert page.index("eve") < page.index("slurm-77 1.0 GiB")


def test_processes_that_a_node_does_not_tell_are_unknown_not_none(stranger, card):
    factories.reading(card, "", running=None, processes=None)

    assert "Unknown: its node does not tell processes." in _page(stranger, card)


def test_use_is_drawn_with_gaps_as_gaps_and_read_as_a_table(stranger, card):
    begin = timezone.now().replace(second=0, microsecond=0) - timedelta(hours=2)
    begin = begin.replace(minute=begin.minute // 5 * 5)
    for step, use in ((0, 40.0), (1, None), (3, 60.0)):
        known = use is not None
        UsageFiveMinutes.objects.create(
            begins_at=begin + step * timedelta(minutes=5), gpu=card, holder="", valid=30 * known, util_mean_pct=use,
            util_max_pct=use, power_mean_w=300.0 if known else None, busy_s=300 * known, idle_s=0,
            unknown_s=300 * (not known),
        )  # fmt: skip

    answer = stranger.get(f"/gpus/{card.pk}/")
    day = json.loads(answer.context["charts"][0]["columns"])

    first = day["at"].index(int(begin.timestamp()))
    assert day["use"][first - 1 : first + 5] == [None, 40.0, None, None, 60.0, None]
    assert (day["power"][first], len(day["at"])) == (300.0, 288)
    assert [chart["name"] for chart in answer.context["charts"]] == ["day"]
    known = [row for row in answer.context["charts"][0]["rows"] if row.known_s]
    assert sum(row.busy_s for row in known) == 600
    assert len(answer.context["charts"][0]["rows"]) == 24


def test_thirty_days_stand_by_the_hour_whoever_held_it(stranger, card):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=3)
    for holder, use, seconds in (("a", 100.0, 900), ("b", 20.0, 2700)):
        UsageHour.objects.create(
            begins_at=hour, gpu=card, holder=holder, valid=30, util_mean_pct=use, util_max_pct=use, power_mean_w=200.0,
            busy_s=seconds, idle_s=0, unknown_s=0,
        )  # fmt: skip

    month = json.loads(stranger.get(f"/gpus/{card.pk}/").context["charts"][0]["columns"])

    assert month["use"][month["at"].index(int(hour.timestamp()))] == 40.0
    assert len(month["at"]) == 720


def test_findings_open_and_ended_stand_with_what_to_do(stranger, card):
    now = timezone.now()
    for code, ended_at in (("ecc_uncorrected", None), ("xid_79", now)):
        Finding.objects.create(
            node=card.node, gpu=card, code=code, severity="out", evidence=f"seen {code}", since=now, seen_at=now,
            ended_at=ended_at,
        )  # fmt: skip

    page = _page(stranger, card)

    assert (page.count("seen ecc_uncorrected"), page.count("seen xid_79"), page.count("goes on")) == (1, 1, 1)


def test_a_card_and_its_instances_link_each_other(stranger, card):
    instance = factories.gpu(card.node, parent=card)

    assert stranger.get(f"/gpus/{card.pk}/").content.decode().count(f'href="/gpus/{instance.pk}/"') == 1
    assert stranger.get(f"/gpus/{instance.pk}/").content.decode().count(f'href="/gpus/{card.pk}/"') == 1


def test_a_retired_card_keeps_its_page_and_what_never_was_has_none(stranger, card):
    Gpu.objects.filter(pk=card.pk).update(retired_at=timezone.now())

    statuses = [stranger.get(f"/gpus/{pk}/").status_code for pk in (card.pk, 10**9, 10**30)]

    assert statuses == [200, 404, 404]


def test_nobody_gets_in_without_logging_in(client, card):
    assert client.get(f"/gpus/{card.pk}/").headers["Location"] == f"/login/?next=/gpus/{card.pk}/"


def test_the_part_that_refreshes_itself_is_a_part_of_the_page(stranger, card):
    answer = stranger.get(f"/gpus/{card.pk}/", headers={"HX-Request": "true", "HX-Target": "gpu"})

    assert answer.content.decode().strip().startswith('<div id="gpu"')
    assert answer.content.decode().count("<main") == 0


@pytest.mark.parametrize("count", [1, 3])
def test_a_gpu_costs_the_same_whatever_ran_and_was_wrong(stranger, card, django_assert_num_queries, count):
    now = timezone.now()
    for number in range(count):
        Finding.objects.create(node=card.node, gpu=card, code=f"code-{number}", severity="warn", since=now, seen_at=now)
        factories.gpu(card.node, parent=card)
    factories.reading(card, "", processes=[{"pid": 1, "user": "ada", "uid": 7 + n} for n in range(count)])
    stranger.get(f"/gpus/{card.pk}/")

    with django_assert_num_queries(13):
        stranger.get(f"/gpus/{card.pk}/")


def test_jump_finds_a_card_by_its_uuid(stranger, card):
    answer = stranger.get("/jump/", {"q": card.uuid})

    assert (answer.status_code, answer.headers["Location"]) == (302, f"/gpus/{card.pk}/")
