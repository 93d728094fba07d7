"""What the child does in a poll: each card in its turn, announced before it is touched, told as it is read."""

import json
import time
from pathlib import Path
from typing import Any, TextIO

from inventory.node_agent.probe import health, processes
from inventory.node_agent.probe.asking import Answer
from inventory.node_agent.probe.bus import cards_on_bus
from inventory.node_agent.probe.cards import Card, power_limit
from inventory.node_agent.probe.events import Events
from inventory.node_agent.probe.loading import CAUGHT, code_of, init_refusal, nvml, package_refusal, reason_of
from inventory.node_agent.probe.mig import Instance, Instances
from inventory.node_agent.probe.suspects import EVENTS

# Health may wait for a poll without process lists, so that no poll asks too much; but not for ever.
HEALTH_LATE_S = 2 * health.EVERY_S


class Reader:
    """Holds the handles, asks in turn, says what it learned."""

    def __init__(self, out: TextIO, pci: Path) -> None:
        self._out = out
        self._pci = pci
        self._cards: dict[int, Card] = {}
        self._instances: dict[int, Instances] = {}
        self._events = Events()
        self._listed_s: dict[str, float] = {}
        self._health_s: dict[int, float] = {}

    def say(self, what: str, **fields: Any) -> None:
        """One line for the parent. UTF-8 without a choice: names are the driver's."""
        self._out.write(json.dumps({"say": what, **fields}) + "\n")
        self._out.flush()

    def begin(self) -> bool:
        """NVML runs, or the parent knows why not."""
        self.say("init")
        refused = package_refusal()
        try:
            if refused is None:
                nvml.nvmlInit()
        except CAUGHT as error:
            refused = init_refusal(error)
        if refused is not None:
            self.say("refused", code=refused[0], detail=refused[1])
            return False
        self.say("driver", driver=_text("nvmlSystemGetDriverVersion"))
        return True

    def poll(self, skip: set[int], last: list[int], *, everything: bool) -> None:
        """Every card but those in `skip` was asked, those in `last` after the others.

        `everything`: what is asked more seldom is due now.
        """
        if everything:
            self._listed_s, self._health_s = {}, {}
            for instances in self._instances.values():
                instances.looked_s = None
        count, reason = self._count()
        turn = [index for index in range(count or 0) if index not in skip]
        unread = [index for index in sorted(turn, key=last.__contains__) if not self._read_in_turn(index)]
        # The slot of a card in `skip` is among those left, and then there are too many to tell them apart.
        for index, bus in zip(unread, self._slots_left(len(unread)), strict=False):
            self._read_in_turn(index, bus)
        if EVENTS not in skip:
            self.say("card", index=EVENTS)
            for uuid, xid in self._events.drain():
                self.say("xid", uuid=uuid, xid=xid, at_s=time.time())
            self.say("read", index=EVENTS)
        self.say("polled", count=count, reason=reason)

    def _count(self) -> tuple[int | None, str | None]:
        try:
            return nvml.nvmlDeviceGetCount(), None
        except CAUGHT as error:
            return None, reason_of(error)

    def _slots_left(self, wanted: int) -> list[str]:
        """The slots of cards that no index opens, if there are just as many."""
        opened = {card.bus for card in self._cards.values()}
        left = [bus for bus in cards_on_bus(self._pci) or () if bus not in opened]
        return left if len(left) == wanted else []

    def _read_in_turn(self, index: int, bus: str = "") -> bool:
        self.say("card", index=index)
        card = self._cards.get(index) or self._open(index, bus)
        if card is not None:
            self._read(card)
        self.say("read", index=index)
        return card is not None

    def _open(self, index: int, bus: str) -> Card | None:
        """The card by its index, or by its slot where that fails; None and a line why not."""
        # Never by uuid: that may fail for all while one card is lost (nvml.h).
        call, by = ("nvmlDeviceGetHandleByPciBusId", bus) if bus else ("nvmlDeviceGetHandleByIndex", index)
        try:
            card = Card(index, getattr(nvml, call)(by), bus=bus)
        except CAUGHT as error:
            self.say("unreadable", index=index, bus=bus, code=code_of(error), reason=reason_of(error), call=call)
            return None
        card.identify()
        if not card.uuid:
            code, failed = next(iter(card.asking.errors.items()), (None, "nvmlDeviceGetUUID"))
            self.say("unreadable", index=index, bus=card.bus, code=code, reason="no_uuid", call=failed)
            return None
        card.by_slot = bool(bus)
        self._cards[index] = card
        self._events.watch(card)
        return card

    def _read(self, card: Card) -> None:
        card.asking.begin()
        card.identify()
        instances = self._instances.setdefault(card.index, Instances(card))
        found = instances.refresh()
        values, more = card.measure(), {}
        if self._health_due(card):
            self._health_s[card.index] = time.monotonic()
            values["power_limit_w"] = power_limit(card)
            more["health"] = health.look(card.asking, card.handle)
        self._unit(card, values, mig=instances.enabled, by_slot=card.by_slot, **more)
        for instance in found:
            instance.asking.begin()
            ids = [instance.gpu_instance, instance.compute_instance]
            self._unit(instance, instance.measure(), parent=card.uuid, ids=ids)

    def _health_due(self, card: Card) -> bool:
        age_s = time.monotonic() - self._health_s.get(card.index, -HEALTH_LATE_S)
        return age_s >= (HEALTH_LATE_S if self._lists_due(card) else health.EVERY_S)

    def _lists_due(self, card: Card) -> bool:
        return time.monotonic() - self._listed_s.get(card.uuid, -processes.EVERY_S) >= processes.EVERY_S

    def _unit(self, card: Card, values: dict[str, Answer], **more: Any) -> None:
        if self._lists_due(card):
            self._listed_s[card.uuid] = time.monotonic()
            mem_mib_of, reason, at_s = processes.listed(card.asking, card.handle)
            pids = None if mem_mib_of is None else list(mem_mib_of.items())
            more["processes"] = {"pids": pids, "reason": reason, "at_s": at_s}
        self.say(
            "unit",
            index=card.index,
            uuid=card.uuid,
            bus=card.bus,
            kind="mig" if isinstance(card, Instance) else "gpu",
            model=card.name,
            serial=card.serial,
            minor=card.minor,
            total_mib=card.total_mib,
            values=values,
            errors=card.asking.errors,
            **more,
        )


def _text(call: str) -> str:
    try:
        found = getattr(nvml, call)()
    except CAUGHT:
        return ""
    return found.decode(errors="replace") if isinstance(found, bytes) else str(found)
