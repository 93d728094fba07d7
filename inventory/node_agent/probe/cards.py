"""One card: which it is, and what it is doing."""

import time
from dataclasses import dataclass, field
from typing import Any

from inventory.node_agent.probe.asking import Answer, Asking, number, words
from inventory.node_agent.probe.bus import bus_id
from inventory.node_agent.probe.loading import nvml
from inventory.node_agent.protocol.gpus import (
    ENERGY_MOST_J,
    IMPLAUSIBLE,
    MEMORY_MOST_MIB,
    MEMORY_USED_SLACK,
    POWER_MOST_W,
    TEMPERATURE_MOST_C,
    UTIL_MOST_PCT,
)

STATIC_EVERY_S = 600.0
ENGINES = ("Encoder", "Decoder", "Jpg", "Ofa")


@dataclass(slots=True)
class Card:
    """A card with its handle. `by_slot`: its index gave none, its place on the bus did.

    `sampled_us`: the driver's time of the newest sample seen.
    """

    index: int
    handle: Any
    asking: Asking = field(default_factory=Asking)
    uuid: str = ""
    bus: str = ""
    name: str = ""
    serial: str = ""
    minor: int | None = None
    total_mib: int | None = None
    identified_s: float | None = None
    sampled_us: int = 0
    by_slot: bool = False

    def identify(self) -> None:
        """What does not change is known, asked again each 10 minutes. `uuid` stays "" where it cannot be read."""
        now_s = time.monotonic()
        if self.identified_s is not None and now_s - self.identified_s < STATIC_EVERY_S:
            return
        ask = self.asking.ask
        self.uuid = words(ask("nvmlDeviceGetUUID", self.handle)) or self.uuid
        pci = ask("nvmlDeviceGetPciInfo", self.handle)
        self.bus = bus_id(words(pci._replace(value=getattr(pci.value, "busId", None)))) or self.bus
        self.name = words(ask("nvmlDeviceGetName", self.handle)) or self.name
        self.serial = words(ask("nvmlDeviceGetSerial", self.handle)) or self.serial
        self.minor = ask("nvmlDeviceGetMinorNumber", self.handle).value
        if self.uuid and not self.asking.errors:
            self.identified_s = now_s

    def measure(self) -> dict[str, Answer]:
        """The values that change from poll to poll, by their names on the wire."""
        ask, handle = self.asking.ask, self.handle
        rates = ask("nvmlDeviceGetUtilizationRates", handle)
        return {
            "util_pct": number(rates, lambda rates: rates.gpu, UTIL_MOST_PCT),
            "util_peak_pct": self._peak(),
            "engine_pct": self._engines(),
            "power_w": number(ask("nvmlDeviceGetPowerUsage", handle), lambda mw: mw / 1000, POWER_MOST_W),
            "energy_j": number(ask("nvmlDeviceGetTotalEnergyConsumption", handle), lambda mj: mj / 1000, ENERGY_MOST_J),
            "temperature_c": self._temperature(),
        } | memory(self)

    def _temperature(self) -> Answer:
        sensor = nvml.NVML_TEMPERATURE_GPU
        answer = self.asking.ask("nvmlDeviceGetTemperatureV", self.handle, sensor)
        if answer.reason in ("no_function", "not_supported"):
            answer = self.asking.ask("nvmlDeviceGetTemperature", self.handle, sensor)
        return number(answer, float, TEMPERATURE_MOST_C)

    def _peak(self) -> Answer:
        """The highest sample since the last look: the driver's buffer covers the time between two polls."""
        samples = self.asking.ask(
            "nvmlDeviceGetSamples", self.handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, self.sampled_us
        )
        if samples.reason is not None:
            return samples._replace(reason="no_samples") if samples.reason == "not_found" else samples
        kind, rows = samples.value
        read = [(row.timeStamp, union_number(kind, row.sampleValue)) for row in rows]
        # The driver's clock is the machine's; a sample from the future would hide all that follow.
        known = [(at_us, pct) for at_us, pct in read if 0 <= pct <= UTIL_MOST_PCT and at_us <= (time.time() + 60) * 1e6]
        if not known:
            return Answer(None, IMPLAUSIBLE if read else "no_samples", samples.at_s)
        self.sampled_us = max(at_us for at_us, _ in known)
        return samples._replace(value=max(pct for _, pct in known))

    def _engines(self) -> Answer:
        """The busiest of the video and JPEG engines: a transcoding job shows nowhere else."""
        answers = [
            number(self.asking.ask(f"nvmlDeviceGet{name}Utilization", self.handle), lambda pair: pair[0], UTIL_MOST_PCT)
            for name in ENGINES
        ]
        known = [answer for answer in answers if answer.reason is None]
        return max(known, key=lambda answer: answer.value) if known else answers[0]


def memory(card: Card) -> dict[str, Answer]:
    """What is allocated, and apart from that the driver's reserve, which only newer drivers tell from it."""
    asking = card.asking
    answer = asking.ask("nvmlDeviceGetMemoryInfo", card.handle, nvml.nvmlMemory_v2, key="memory_v2")
    if answer.reason in ("no_function", "not_supported", "nvml_25"):
        answer = asking.ask("nvmlDeviceGetMemoryInfo", card.handle)
    if answer.reason is not None:
        return {"mem_used_mib": answer, "mem_reserved_mib": answer}
    total_mib = answer.value.total >> 20
    card.total_mib = total_mib if 0 < total_mib <= MEMORY_MOST_MIB else None
    most_mib = (card.total_mib or MEMORY_MOST_MIB) * MEMORY_USED_SLACK
    reserved = answer if hasattr(answer.value, "reserved") else Answer(None, "not_supported", answer.at_s)
    return {
        "mem_used_mib": number(answer, lambda memory: memory.used >> 20, most_mib),
        "mem_reserved_mib": number(reserved, lambda memory: memory.reserved >> 20, most_mib),
    }


def power_limit(card: Card) -> Answer:
    """What the card may draw, in W; boards that share memory with the processor have no such limit."""
    return number(card.asking.ask("nvmlDeviceGetEnforcedPowerLimit", card.handle), lambda mw: mw / 1000, POWER_MOST_W)


def union_number(kind: int, value: Any) -> float:
    """The member of NVML's value union that `kind` names."""
    members = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal"}
    return float(getattr(value, members[kind])) if kind in members else -1.0
