"""Errors that the driver reports as they happen (Xid): one event set for all cards, drained at each poll."""

import ctypes
from typing import Any

from inventory.node_agent.probe.cards import Card
from inventory.node_agent.probe.loading import CAUGHT, TIMEOUT, code_of, nvml

# Faults of the application, not of the card (k8s-device-plugin's list).
APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
# A card that throws more in one poll has told enough.
DRAINED_MOST = 64


class Events:
    """Watches cards from the moment they are opened; what happened before is not told."""

    def __init__(self) -> None:
        self._set: Any = None
        self._uuid_of: dict[int | None, str] = {}

    def watch(self, card: Card) -> None:
        """Xids of this card are told from now on, where the driver can."""
        try:
            self._set = self._set or nvml.nvmlEventSetCreate()
            kinds = nvml.nvmlEventTypeXidCriticalError & nvml.nvmlDeviceGetSupportedEventTypes(card.handle)
            if kinds:
                nvml.nvmlDeviceRegisterEvents(card.handle, kinds, self._set)
                self._uuid_of[_address(card.handle)] = card.uuid
        except CAUGHT:
            # Without events the counters of the card still tell.
            return

    def drain(self) -> list[tuple[str, int]]:
        """The (uuid, Xid) since the last call, oldest first, without those that are no ill health."""
        found = []
        for _ in range(DRAINED_MOST if self._uuid_of else 0):
            try:
                event = nvml.nvmlEventSetWait_v2(self._set, 0)
            except CAUGHT as error:
                if code_of(error) == TIMEOUT:
                    break
                continue
            uuid = self._uuid_of.get(_address(event.device))
            if uuid and event.eventData not in APPLICATION_XIDS:
                found.append((uuid, int(event.eventData)))
        return found


def _address(handle: Any) -> int | None:
    # Handles are pointers: two objects of ctypes for one card are not equal.
    return ctypes.cast(handle, ctypes.c_void_p).value
