"""The life of the child: started when it is needed, not too often, replaced for certain, never more than needed."""

import asyncio

from inventory.node_agent.probe.pipe import Child, Gone, Overdue
from inventory.node_agent.probe.settings import ProbeSettings

# Children that not even SIGKILL ends: two of them prove it, more would only hold more of the driver's locks.
UNKILLABLE_MOST = 2
# What the child says for certain; after other failures the driver may still be well.
HUNG, DIED = "init_hung", "probe_start_failed"


class Keeper:
    """`driver`: its version. `against`: why there is no child, as code and detail of a fault; None while one works."""

    def __init__(self, settings: ProbeSettings) -> None:
        self._settings = settings
        self._child: Child | None = None
        self._unkillable: list[Child] = []
        self._failures = 0
        self._start_at_s = 0.0
        self.started_s = 0.0
        self.driver = ""
        self.against: tuple[str, str] | None = None

    @property
    def refused(self) -> bool:
        """The driver cannot be asked, and says so itself."""
        return self.against is not None and self.against[0] not in (HUNG, DIED, "probe_unkillable")

    @property
    def child(self) -> Child | None:
        """The one at work."""
        return self._child

    def unkillable(self) -> list[Child]:
        """Those that SIGKILL did not end yet."""
        self._unkillable = [child for child in self._unkillable if child.running]
        return self._unkillable

    async def work(self) -> Child | None:
        """A child that has NVML ready; None, and `against` says why."""
        if self._child is not None:
            return self._child
        if stuck := self.unkillable():
            pids = ", ".join(str(child.pid) for child in stuck)
            if len(stuck) >= UNKILLABLE_MOST:
                self.against = "probe_unkillable", f"SIGKILL does not end {pids}: the driver hangs, reboot the node"
                return None
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._start_at_s:
            self.against = await self._start()
            self._failures = self._failures + 1 if self.against else 0
            again_s = self._settings.start_again_s * 2 ** max(0, self._failures - 1)
            self._start_at_s = now_s + min(again_s, self._settings.start_again_most_s) if self.against else 0.0
        return self._child

    async def drop(self, *, kindly: bool) -> None:
        """The child is gone, or counted among the unkillable."""
        child, self._child = self._child, None
        if child is not None and not await child.end(self._settings.end_within_s, kindly=kindly):
            self._unkillable.append(child)

    async def _start(self) -> tuple[str, str] | None:
        try:
            self._child = await Child.start(self._settings)
        except OSError as error:
            return DIED, str(error)
        self.started_s = asyncio.get_running_loop().time()
        deadline_s = self.started_s + self._settings.init_deadline_s
        try:
            said = await self._child.hear(deadline_s)
            while said["say"] == "init":
                said = await self._child.hear(deadline_s)
        except Overdue:
            against = HUNG, f"nvmlInit did not answer within {self._settings.init_deadline_s:g} s"
        except Gone as gone:
            against = DIED, str(gone)
        else:
            if said["say"] == "driver":
                self.driver = said["driver"]
                return None
            against = said["code"], said["detail"]
        await self.drop(kindly=False)
        return against
