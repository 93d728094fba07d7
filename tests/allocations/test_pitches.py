"""A pitch from draft to decision: who may do what, what is refused, what stands afterwards."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from allocations import pitches, projects, queries
from allocations.errors import (
    BadTerms,
    NobodyToSign,
    NotAllowed,
    OverCapacity,
    OverShare,
    Stale,
    WrongState,
)
from allocations.models import Grant, OutboxMessage, Pitch, PitchRole, Policy, PolicyRole, RoleHolder, SignOff
from inventory.models import Event
from tests import factories

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
TODAY = NOON.date()

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _noon(time_machine, settings):
    """It is noon on 1 March; days are typed in UTC."""
    settings.SITE_TIME_ZONE = "UTC"
    time_machine.move_to(NOON, tick=False)


@pytest.fixture
def world(lab):
    """100 H100, of which Research may promise 60."""
    factories.fleet(gpus=100, per_node=10)
    factories.split()
    return lab


def draft(lab, *, by=None, project=None, pitch=None, **changes):
    terms = {
        "title": "Fold larger proteins",
        "why": "The 400-residue limit is ours alone.",
        "expected_result": "1,000 residues",
        "check_on": None,
        "if_declined": "We wait.",
        "model": factories.model(),
        "ideal_gpus": 32,
        "min_gpus": 8,
        "whole_nodes": False,
        "one_island": False,
        "start_on": TODAY,
        "days": 14,
    }
    return pitches.save_draft(pitch=pitch, by=by or lab.pitcher, project=project or lab.project, **{**terms, **changes})


def submit(lab, **changes):
    return pitches.submit_pitch(pitch=draft(lab, **changes), by=changes.get("by") or lab.pitcher)


def approve(lab, pitch, who, role, **changes):
    return pitches.sign_off(
        pitch=pitch, by=who, role=lab.role(role), verdict="approve", **{"round": pitch.round, **changes}
    )


def decline(lab, pitch, who, role, reason="Not this quarter", **changes):
    return pitches.sign_off(
        pitch=pitch, by=who, role=lab.role(role), verdict="decline", reason=reason, **{"round": pitch.round, **changes}
    )


def verbs(pitch):
    return list(
        Event.objects.filter(subject_kind="pitch", subject_id=pitch.pk).order_by("pk").values_list("verb", flat=True)
    )


def told(verb):
    return sorted(OutboxMessage.objects.filter(event__verb=verb).values_list("person__username", flat=True))


def test_two_signatures_of_two_roles_make_a_grant_for_the_full_time(world):
    pitch = submit(world)
    approve(world, pitch, world.chief, "chief-scientist")

    approve(world, pitch, world.head, "research-head")

    grant = Grant.objects.get(pitch=pitch)
    assert (pitch.state, pitch.decided_by, pitch.decided_at) == (Pitch.State.GRANTED, world.head, NOON)
    assert (grant.gpus, grant.starts_at, grant.ends_at) == (32, NOON, NOON + timedelta(days=14))
    assert verbs(pitch) == ["pitch.drafted", "pitch.submitted", "sign_off.given", "sign_off.given", "pitch.granted"]
    assert Event.objects.get(verb="grant.issued").facts["gpus"] == 32
    assert (told("pitch.submitted"), told("pitch.granted")) == (["chief-scientist", "research-head"], ["pitcher"])
