"""What a pitch says in rows beside its columns is written: whole, in place of what was there."""

from allocations.asks import Details
from allocations.models import Answer, Pitch, PitchAlternative, PitchLink


def write_details(pitch: Pitch, details: Details) -> None:
    """The rows say exactly this; an empty answer is no row."""
    for name in ("alternatives", "links", "answers"):
        getattr(pitch, name).all().delete()
        getattr(pitch, "_prefetched_objects_cache", {}).pop(name, None)
    vars(pitch).pop("details_rows", None)  # what it said before
    PitchAlternative.objects.bulk_create(
        PitchAlternative(pitch=pitch, model=each.model, gpus=each.gpus, rank=rank)
        for rank, each in enumerate(details.alternatives, start=1)
    )
    PitchLink.objects.bulk_create(PitchLink(pitch=pitch, name=each.name, url=each.url) for each in details.links)
    Answer.objects.bulk_create(
        Answer(pitch=pitch, question=question, value=text) for question, text in details.answers.items() if text
    )
