"""Where an ask may stand: the labels that it names must be those of nodes with enough GPUs."""

from django.utils.translation import gettext as _

from allocations import asks
from allocations.errors import BadTerms
from allocations.models import Pitch
from inventory import queries as facts


def require_places(pitch: Pitch) -> None:
    """Nodes with all the labels that the pitch names have as many GPUs of its model as it asks for, whoever has them.

    Raises BadTerms, which says which values there are, or how many GPUs stand there.
    """
    labels = pitch.required_labels
    if not labels:
        return
    known = facts.label_values(asks.LABELS)
    for label, value in labels.items():
        if value not in known.get(label, []):
            _refuse_value(label, value, known.get(label, []))
    there = facts.units_with(labels, model=pitch.model).count()
    if there < pitch.ideal_gpus:
        message = _("Nodes with %(labels)s have %(there)s %(model)s in all; you ask for %(asked)s.")
        words = {
            "labels": ", ".join(f"{key} {value}" for key, value in labels.items()),
            "there": there, "model": pitch.model.name, "asked": pitch.ideal_gpus,
        }  # fmt: skip
        raise BadTerms(message % words, field="required_labels", gpus=there)


def _refuse_value(label: str, value: str, known: list[str]) -> None:
    if known:
        message = _("No node has the %(label)s %(value)s; there are: %(known)s.")
    else:
        message = _("No node says anything of its %(label)s.")
    words = {"label": label, "value": value, "known": ", ".join(known)}
    raise BadTerms(message % words, field="required_labels", label=label, values=known)
