"""The MIG instances of a card: found again each minute, since they come and go while the card stays."""

import time
from dataclasses import dataclass, field
from typing import Any

from inventory.node_agent.probe.asking import Answer, Asking, number, words
from inventory.node_agent.probe.cards import Card, memory
from inventory.node_agent.probe.loading import nvml
from inventory.node_agent.protocol.gpus import UTIL_MOST_PCT

EVERY_S = 60.0
GRAPHICS_UTIL = 1


@dataclass(slots=True)
class Instance(Card):
    """An instance with its own handle. `sample`: the last measurement of its load, where the card can (Hopper on)."""

    parent: Any = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    sample: Any = None
    measures_load: bool = False
    died: bool = False

    def measure(self) -> dict[str, Answer]:
        """Its memory and load; heat, power and engines belong to the whole card."""
        found = memory(self)
        self.died = found["mem_used_mib"].reason == "invalid"
        return found | {"util_pct": self._load()}

    def release(self) -> None:
        """The driver's memory for its load is given back."""
        if self.sample is not None:
            self.asking.ask("nvmlGpmSampleFree", self.sample)
            self.sample = None

    def _load(self) -> Answer:
        """Mean over the time since the last poll, without a gap. Before Hopper NVML has none: unknown, never idle."""
        unknown = Answer(None, "not_supported", time.monotonic())
        if not self.measures_load:
            return unknown
        sample = self.asking.ask("nvmlGpmSampleAlloc")
        if sample.reason is not None:
            return sample
        taken = self.asking.ask("nvmlGpmMigSampleGet", self.parent, self.gpu_instance, sample.value)
        before, self.sample = self.sample, sample.value
        if before is None:
            return taken if taken.reason else unknown._replace(reason="no_samples")
        load = taken if taken.reason else self._between(before, sample.value)
        self.asking.ask("nvmlGpmSampleFree", before)
        return load

    def _between(self, before: Any, after: Any) -> Answer:
        wanted = nvml.c_nvmlGpmMetricsGet_t()
        wanted.version, wanted.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, 1
        wanted.sample1, wanted.sample2 = before, after
        wanted.metrics[0].metricId = GRAPHICS_UTIL
        answer = self.asking.ask("nvmlGpmMetricsGet", wanted)
        if answer.reason is None and wanted.metrics[0].nvmlReturn != 0:
            return Answer(None, f"nvml_{wanted.metrics[0].nvmlReturn}", answer.at_s)
        return number(answer._replace(value=wanted.metrics[0].value), float, UTIL_MOST_PCT)


@dataclass(slots=True)
class Instances:
    """Those of one card. `enabled` None: nobody knows yet. A card that does not answer keeps those it had."""

    card: Card
    found: list[Instance] = field(default_factory=list)
    enabled: bool | None = None
    looked_s: float | None = None

    def refresh(self) -> list[Instance]:
        """The instances as they are: looked for each minute, and at once when a handle has died."""
        now_s = time.monotonic()
        died = any(instance.died for instance in self.found)
        if self.looked_s is None or died or now_s - self.looked_s >= EVERY_S:
            self._look()
            self.looked_s = now_s
        return self.found

    def _look(self) -> None:
        asking, card = self.card.asking, self.card.handle
        mode = asking.ask("nvmlDeviceGetMigMode", card)
        if mode.reason not in (None, "not_supported"):
            return
        enabled = mode.reason is None and bool(mode.value[0])
        if enabled != self.enabled:
            asking.forget()
        self.enabled = enabled
        known = {instance.uuid: instance for instance in self.found}
        found = []
        if self.enabled:
            most = asking.ask("nvmlDeviceGetMaxMigDeviceCount", card).value or 0
            # Numbers have gaps: a free one answers NOT_FOUND and the next may be taken.
            handles = (asking.ask("nvmlDeviceGetMigDeviceHandleByIndex", card, number) for number in range(most))
            found = [self._instance(answer.value, known) for answer in handles if answer.reason is None]
        self.found = [instance for instance in found if instance.uuid]
        for gone in known.keys() - {instance.uuid for instance in self.found}:
            known[gone].release()

    def _instance(self, handle: Any, known: dict[str, Instance]) -> Instance:
        asking = Asking()
        # Both spellings are ids: MIG-<uuid>, and MIG-GPU-<uuid>/gi/ci of older drivers.
        uuid = words(asking.ask("nvmlDeviceGetUUID", handle))
        if uuid in known:
            known[uuid].handle = handle
            return known[uuid]
        card = self.card
        instance = Instance(card.index, handle, asking, uuid, card.bus, minor=card.minor, serial=card.serial)
        instance.name = words(asking.ask("nvmlDeviceGetName", handle)) or (card.name and f"{card.name} MIG")
        instance.parent = card.handle
        instance.gpu_instance = asking.ask("nvmlDeviceGetGpuInstanceId", handle).value
        instance.compute_instance = asking.ask("nvmlDeviceGetComputeInstanceId", handle).value
        supports = (asking.ask("nvmlGpmQueryDeviceSupport", asked) for asked in (handle, card.handle))
        instance.measures_load = any(said.reason is None and bool(said.value.isSupportedDevice) for said in supports)
        return instance
