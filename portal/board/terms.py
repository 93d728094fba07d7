"""The terms that somebody typed at the desk, for the arithmetic: what cannot be read is as on the table."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.utils import timezone

from allocations import asks, grants
from allocations.days import day_of
from allocations.models import Pitch
from allocations.models.pitches import LONGEST_DAYS
from allocations.models.terms import Terms
from allocations.pitches import most_gpus
from inventory.models import GpuModel
from portal.forms.desk import Marks


def typed_terms(pitch: Pitch, marks: Marks, models: Iterable[GpuModel]) -> Terms:
    """What would be approved; another model comes with the number of it that would do."""
    key, table = str(pitch.public_id), pitch.terms
    model = next((each for each in models if each.name == marks.models.get(key)), table.model)
    most = most_gpus(pitch, model)
    gpus = marks.gpus_of(key, table=table.gpus if model == table.model else most, most=most)
    today = day_of(timezone.now(), grants.site_zone())
    start_on = marks.start_of(key)
    if start_on is None or not today <= start_on <= today + timedelta(days=asks.LATEST_START_DAYS):
        start_on = table.start_on
    return Terms(model, gpus, start_on, marks.days_of(key, most=LONGEST_DAYS) or table.days)


def alternatives_of(pitch: Pitch) -> Mapping[str, int]:
    """GPU model -> how many of it would do, says the pitch; less what is on the table."""
    return {each.model.name: each.gpus for each in pitch.alternatives.all() if each.model_id != pitch.terms.model.pk}
