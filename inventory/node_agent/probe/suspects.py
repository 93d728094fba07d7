"""Cards at which the child hung or died: asked last, and after each time more seldom."""

from dataclasses import dataclass

from inventory.node_agent.probe.settings import ProbeSettings

# Stands for the event set of all cards.
EVENTS = -1


@dataclass(frozen=True, slots=True)
class Suspicion:
    """`code` and `detail` as a fault has them; `until_s`: when it is asked again, on the monotonic clock."""

    code: str
    detail: str
    times: int
    until_s: float


class Suspects:
    """By the card's index, which holds as long as the driver stays loaded with the same number of cards."""

    def __init__(self, settings: ProbeSettings) -> None:
        self._settings = settings
        self._of: dict[int, Suspicion] = {}

    def hung(self, index: int, now_s: float) -> None:
        """It did not answer within the deadline."""
        limit_s = self._settings.card_deadline_s
        self._add(index, "hung", f"no answer within {limit_s:g} s", now_s, pardoned=0)

    def died(self, index: int, why: str, now_s: float) -> None:
        """The child ended while it asked this card: once may be anybody's doing, twice is the card's."""
        self._add(index, "probe_died", f"asking it ends the probe: {why}", now_s, pardoned=1)

    def answered(self, index: int) -> None:
        """Nothing stands against it any more."""
        self._of.pop(index, None)

    def clear(self) -> None:
        """The indices mean other cards now."""
        self._of = {}

    def waiting(self, now_s: float) -> set[int]:
        """Those that are not asked yet."""
        return {index for index, suspicion in self._of.items() if now_s < suspicion.until_s}

    def all(self) -> dict[int, Suspicion]:
        """Index -> what stands against it, those pardoned left out."""
        return {index: suspicion for index, suspicion in self._of.items() if suspicion.code}

    def indices(self) -> list[int]:
        """All of them, to be asked last."""
        return list(self._of)

    def _add(self, index: int, code: str, detail: str, now_s: float, *, pardoned: int) -> None:
        before = self._of.get(index)
        times = (before.times if before else 0) + 1
        if times <= pardoned:
            self._of[index] = Suspicion("", "", times, now_s)
            return
        pause_s = min(self._settings.hung_again_s * 2 ** (times - 1), self._settings.hung_again_most_s)
        self._of[index] = Suspicion(code, detail, times, now_s + pause_s)
