"""Scenarios saved, dropped, opened and decided by several people at once."""

from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone

from allocations import pitches, scenarios
from allocations.models import Scenario, SignOff
from inventory.models import Event
from tests import factories
from tests.races import Window, at_once, kinds

pytestmark = pytest.mark.django_db(transaction=True)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


@pytest.fixture
def pitch(world):
    return factories.submitted(world.project, world.pitcher, gpus=8, min_gpus=2)


@pytest.fixture
def window(monkeypatch):
    """Held where the service asks for the time: after its lock, before what it writes."""
    held = Window()
    monkeypatch.setattr(scenarios, "timezone", SimpleNamespace(now=held.before(timezone.now)))
    return held


def _save(world, pitch, *, who=None, gpus=4, name="Monday"):
    key = str(pitch.public_id)
    return scenarios.save_scenario(
        by=who or world.chief, name=name, place="division=research&model=H100",
        marks={"taken": [key], "gpus": {key: str(gpus)}},
    )  # fmt: skip


def _live() -> list[Scenario]:
    return list(Scenario.objects.filter(dropped_at=None))


def test_two_saves_of_one_name_at_once_leave_one(world, pitch, window):
    outcomes = at_once(*(lambda gpus=gpus: _save(world, pitch, gpus=gpus) for gpus in (4, 5)))

    assert (kinds(outcomes), len(_live()), window.met) == (["Scenario", "Scenario"], 1, False)
    assert _live()[0].pk == max(row.pk for row in outcomes)


def test_two_people_save_the_same_name_and_both_stand(world, pitch, window):
    outcomes = at_once(*(lambda who=who: _save(world, pitch, who=who) for who in (world.chief, world.head)))

    assert (kinds(outcomes), len(_live()), window.met) == (["Scenario", "Scenario"], 2, True)


def test_dropped_twice_at_once_is_dropped_once(world, pitch, window):
    row = _save(world, pitch)
    window.met = False

    outcomes = at_once(*(lambda: scenarios.drop_scenario(scenario=fresh(row), by=world.chief) for _press in range(2)))

    assert (kinds(outcomes), _live(), window.met) == (["Scenario", "Scenario"], [], False)
    assert Event.objects.filter(verb="scenario.dropped").count() == 1


def test_dropped_while_it_is_saved_anew_the_new_one_stands(world, pitch, window):
    row = _save(world, pitch)

    outcomes = at_once(
        lambda: _save(world, pitch, gpus=5),
        lambda: scenarios.drop_scenario(scenario=fresh(row), by=world.chief),
    )

    assert kinds(outcomes) == ["Scenario", "Scenario"]
    assert [each.marks["gpus"] for each in _live()] == [{str(pitch.public_id): "5"}]


def test_who_decides_while_it_is_saved_anew_signs_what_was_on_the_screen(world, pitch, monkeypatch):
    row, key = _save(world, pitch, who=world.head), str(pitch.public_id)
    monkeypatch.setattr(pitches.signing, "_approve", (held := Window()).before(pitches.signing._approve))
    monkeypatch.setattr(scenarios, "timezone", SimpleNamespace(now=held.before(timezone.now)))
    decider = Client()
    decider.force_login(world.chief)
    assert (
        f'name="gpus-{key}" value="4"' in decider.get(f"/desk/?{row.place}&scenario={row.public_id}").content.decode()
    )
    marks = {"division": "research", "model": "H100", "take": f"{key}:1:chief-scientist", f"gpus-{key}": "4"}

    decided, saved = at_once(
        lambda: decider.post("/desk/decide/", marks), lambda: _save(world, pitch, who=world.head, gpus=2)
    )

    assert (decided.status_code, held.met) == (200, True)
    assert (SignOff.objects.get().gpus, _live()) == (4, [saved])
