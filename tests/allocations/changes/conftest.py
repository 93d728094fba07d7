"""A running grant of the lab: 32 H100 for Research's project until 15 March."""

from datetime import timedelta

import pytest

from allocations.models import Pitch
from tests import factories


@pytest.fixture
def grant(world, noon):
    pitch = factories.pitch(
        world.project, world.pitcher, state=Pitch.State.GRANTED, gpus=32, decided_by=world.chief, decided_at=noon
    )
    return factories.grant(world.project, gpus=32, pitch=pitch, starts_at=noon, ends_at=noon + timedelta(days=14))
