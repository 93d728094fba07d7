"""What people do in these tests, with everything said that the test does not care about."""

from django.utils import timezone

from allocations import pitches
from allocations.models import OutboxMessage, Pitch, SignOff
from inventory.models import Event
from tests import factories


def draft(lab, *, by=None, project=None, pitch=None, gpus=32, **changes) -> Pitch:
    terms = {
        "title": "Fold larger proteins",
        "why": "The 400-residue limit is ours alone.",
        "expected_result": "1,000 residues",
        "check_on": None,
        "if_declined": "We wait.",
        "model": factories.model(),
        "ideal_gpus": gpus,
        "min_gpus": min(gpus, 8),
        "whole_nodes": False,
        "one_island": False,
        "start_on": timezone.now().date(),
        "days": 14,
    }
    return pitches.save_draft(pitch=pitch, by=by or lab.pitcher, project=project or lab.project, **{**terms, **changes})


def submit(lab, *, by=None, **changes) -> Pitch:
    return pitches.submit_pitch(pitch=draft(lab, by=by, **changes), by=by or lab.pitcher)


def approve(lab, pitch, who, role, **changes) -> SignOff:
    return pitches.sign_off(
        pitch=pitch, by=who, role=lab.role(role), verdict="approve", **{"round": pitch.round, **changes}
    )


def decline(lab, pitch, who, role, **changes) -> SignOff:
    terms = {"round": pitch.round, "reason": "Not this quarter."}
    return pitches.sign_off(pitch=pitch, by=who, role=lab.role(role), verdict="decline", **{**terms, **changes})


def verbs(row) -> list[str]:
    """What the trail says about the row, in order."""
    events = Event.objects.filter(subject_kind=row._meta.model_name, subject_id=str(row.pk))
    return list(events.order_by("pk").values_list("verb", flat=True))


def told(verb: str) -> list[str]:
    """Who hears of the events with that verb, once for each message."""
    return sorted(OutboxMessage.objects.filter(event__verb=verb).values_list("person__username", flat=True))
