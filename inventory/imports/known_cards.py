"""Cards that files name become rows before any survey: identity and slot, and nothing of what they do."""

from collections.abc import Iterable, Sequence

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.imports.declared import DeclaredCard
from inventory.models import Gpu, GpuModel, Node
from inventory.trail import record_many


def declare_cards(declared: Iterable[tuple[Node, DeclaredCard]], *, by: object, reason: str) -> list[tuple[str, str]]:
    """Each card is known in its node and slot, unless a survey knows better: (uuid, why) of those left out.

    A repeat changes nothing. What a file says was true at some moment, so it moves and replaces no card.
    """
    cards = list(declared)
    if not cards:
        return []
    named = Gpu.objects.filter(Q(uuid__in=[card.uuid for _node, card in cards]) | Q(node__in={n.pk for n, _ in cards}))
    known = list(named.select_related("node"))
    by_uuid = {gpu.uuid: gpu for gpu in known}
    slots = {(gpu.node_id, gpu.pci_bus_id): gpu for gpu in known if gpu.kind == "gpu" and gpu.retired_at is None}
    left_out, fresh = [], []
    for node, card in cards:
        gpu, other = by_uuid.get(card.uuid), slots.get((node.pk, card.pci_bus_id))
        if gpu is not None and (gpu.node_id != node.pk or gpu.retired_at is not None):
            left_out.append((card.uuid, _("it is known in %(node)s; a reading moves it") % {"node": gpu.node}))
        elif gpu is None and other is not None:
            left_out.append((card.uuid, _("another card is known in its slot; a reading replaces it")))
        elif gpu is None:
            fresh.append((node, card))
    _write(fresh, by=by, reason=reason)
    return left_out


def _write(fresh: Sequence[tuple[Node, DeclaredCard]], *, by: object, reason: str) -> None:
    if not fresh:
        return
    models = _models({card.model: card.memory_mib for _node, card in fresh})
    now = timezone.now()
    gpus = Gpu.objects.bulk_create(
        Gpu(
            uuid=card.uuid,
            node=node,
            pci_bus_id=card.pci_bus_id,
            model=models[card.model],
            first_seen_at=now,
            serial=card.serial,
            minor=card.minor,
        )
        for node, card in fresh
    )
    facts = [
        (gpu, {"node": node.name, "slot": card.pci_bus_id, "model": card.model})
        for gpu, (node, card) in zip(gpus, fresh, strict=True)
    ]
    record_many("gpu.declared", facts, by=by, reason=reason)


def _models(memories: dict[str, int | None]) -> dict[str, GpuModel]:
    GpuModel.objects.bulk_create(
        [GpuModel(name=name, memory_mib=memory) for name, memory in sorted(memories.items())], ignore_conflicts=True
    )
    models = {model.name: model for model in GpuModel.objects.filter(name__in=memories)}
    unsized = [model for model in models.values() if model.memory_mib is None and memories[model.name]]
    for model in unsized:
        model.memory_mib = memories[model.name]
    GpuModel.objects.bulk_update(unsized, ["memory_mib"])
    return models
