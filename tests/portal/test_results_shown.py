"""The answer about an earlier grant stands before those who decide about the next one."""

import pytest
from django.urls import reverse
from django.utils import timezone

from allocations.models import ResultCheck
from tests import factories


@pytest.fixture
def waiting(lab):
    factories.fleet(gpus=64)
    factories.split()
    now = timezone.now()
    grant = factories.grant(lab.project, gpus=8)
    grant.pitch = factories.pitch(lab.project, lab.pitcher, title="Fold the small ones")
    grant.save()
    ResultCheck.objects.create(
        grant=grant, asked_at=now, outcome="missed", said="It folded half of them.", answered_by=lab.lead,
        answered_at=now,
    )  # fmt: skip
    ResultCheck.objects.create(grant=factories.grant(lab.project, gpus=4), asked_at=now)
    return factories.submitted(lab.project, lab.pitcher)


def test_queue_and_desk_show_it_with_what_is_unanswered(client, lab, waiting):
    client.force_login(lab.chief)

    queue = client.get(reverse("queue_history", args=[waiting.public_id])).content.decode()
    desk = client.post(reverse("pitch_opened", args=[waiting.public_id]), {"desk": "1"}).content.decode()

    for page in (queue, desk):
        assert [words in page for words in ("Fold the small ones", "not met", "It folded half of them.")] == [True] * 3
        assert "1 grant was asked about and nobody has answered." in page


def test_a_project_without_grants_shows_nothing_of_it(client, lab, waiting):
    other = factories.project(division=lab.research, members=[lab.pitcher])
    client.force_login(lab.chief)

    page = client.get(reverse("queue_history", args=[factories.submitted(other, lab.pitcher).public_id]))

    assert "What came of earlier grants" not in page.content.decode()
