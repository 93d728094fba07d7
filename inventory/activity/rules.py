"""The numbers that judging goes by, each with its reason."""

from dataclasses import dataclass

# A reading is busy from here on: below lie a display server, health checks and a sleeping notebook, not work.
BUSY_FROM_PCT = 5.0


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds of the lab. Times in seconds, power in W, memory in MiB."""

    # How often each GPU is read.
    interval_s: float
    # Long enough for a checkpoint or a validation, short enough that a notice after an hour rests on four of them.
    window_s: float = 900
    # With fewer valid readings than that nobody is idle: an exporter's gap looks like rest.
    coverage_pct: float = 80
    # So many intervals without a reading and nothing is known.
    intervals_fresh: int = 3
    # What idle cards report: 2 to 32 MiB (local-inference-lab/blackwell-llm-docker#44).
    floor_mib: float = 64
    # The same where the driver does not tell its reserve apart: 100 to 551 MiB on idle cards (wookayin/gpustat#141).
    floor_with_reserve_mib: float = 640
    # A process that ends gives its memory back within seconds; what stays longer is a zombie's or the driver's.
    ghost_after_s: float = 600
    # Above idle power by this, or by that share of the board's limit: a context alone lifts the clocks so far.
    margin_w: float = 15
    margin_share: float = 0.10
    # Kernels all the time.
    hung_from_pct: float = 95

    @property
    def stale_s(self) -> float:
        """Older than that is unknown."""
        return self.intervals_fresh * self.interval_s

    def floor(self, *, is_reserve_told: bool) -> float:
        """Memory up to which a card counts as empty."""
        return self.floor_mib if is_reserve_told else self.floor_with_reserve_mib

    def margin(self, idle_w: float, limit_w: float | None) -> float:
        """How far above idle power a card may be and still do nothing to speak of."""
        return max(self.margin_w, self.margin_share * (limit_w or idle_w))
