"""Use that looks like life: what a simulated GPU would show at an instant, the same for the same seed and instant."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

Habit = Literal["life", "idle", "busy", "stuck", "tiny"]

# How often a simulated probe reads its cards.
SAMPLE_S = 5
# Jobs change their pace at about this rhythm; without it each sample would be a throw of dice and nobody ever idle.
PHASE_S = 20 * 60
# How far single samples stray from their phase, as a share of the whole distribution.
STRAY = 0.2
# Share of samples below -> utilisation. Own figures, in the shape of public traces of LLM and research clusters:
# nearly a third at 0, few in the middle, the upper half close to 100.
UTIL_PCT = (
    (0.30, 0.0),
    (0.34, 8.0),
    (0.42, 40.0),
    (0.52, 78.0),
    (0.62, 93.0),
    (0.75, 98.0),
    (0.90, 100.0),
    (1.0, 100.0),
)
BUSY_FROM = 0.45
TINY_EVERY_S = 60
# Board power of well-known models, W, from their vendors' data sheets; the first name that fits counts.
BOARD_W = {"GB200": 1200, "B200": 1000, "H100": 700, "H200": 700, "A100": 400, "V100": 300, "P100": 250, "L40": 300}
BOARD_W |= {"A10": 150, "T4": 70, "L4": 72}
OTHER_BOARD_W = 300
# An idle data-centre board draws an eighth to a tenth of its limit.
IDLE_SHARE = 0.11


@dataclass(frozen=True, slots=True)
class Use:
    """What the probe of a card shows; `age_s` since it looked, `util_peak_pct` the highest since the sample before."""

    util_pct: int
    util_peak_pct: int
    mem_used_mib: int
    power_w: float
    temperature_c: int
    age_s: float


def use_of(*, uuid: str, model: str, memory_mib: int, holder: str, habit: Habit, now_s: float) -> Use:
    """The use of a card at Unix time `now_s`; `holder` "" is a free one: no work, 2 to 30 MiB, idle power.

    `idle` holds memory and does nothing, `busy` never rests, `stuck` shows 100 % at idle power, `tiny` runs a kernel
    of some milliseconds each minute, which no sample meets.
    """
    sample = int(now_s // SAMPLE_S)
    stray = fraction(uuid, "sample", sample)
    limit_w = board_w(model)
    if holder == "":
        util_pct, peak_pct, mem_mib = 0, 0, 2 + int(28 * fraction(uuid, "reserve", 0))
    else:
        util_pct = _util(uuid, holder, habit, now_s, stray)
        before = sample - 1
        before_pct = _util(uuid, holder, habit, before * SAMPLE_S, fraction(uuid, "sample", before))
        peak_pct = 100 if habit == "tiny" and sample * SAMPLE_S % TINY_EVERY_S == 0 else max(util_pct, before_pct)
        mem_mib = int(memory_mib * (0.2 + 0.75 * fraction(uuid, holder, 0)))
    effort = 0.0 if habit == "stuck" else (util_pct / 100) ** 2 * (0.7 + 0.2 * stray)
    context = 0.03 if holder else 0.0
    share = IDLE_SHARE + 0.01 * stray + context + (1 - IDLE_SHARE) * effort
    age_s = round(now_s - sample * SAMPLE_S, 3)
    return Use(util_pct, peak_pct, mem_mib, round(limit_w * share, 1), int(28 + 45 * share), age_s)


def _util(uuid: str, holder: str, habit: Habit, now_s: float, stray: float) -> int:
    if habit in ("idle", "tiny"):
        return 0
    if habit == "stuck":
        return 100
    shift_s = PHASE_S * fraction(uuid, "shift", 0)
    phase = fraction(uuid, holder, int((now_s + shift_s) // PHASE_S))
    # Round the clock, so that phase and stray together are spread as evenly as each alone.
    place = (phase + STRAY * (stray - 0.5)) % 1.0
    return _quantile(BUSY_FROM + place * (1 - BUSY_FROM) if habit == "busy" else place)


def _quantile(place: float) -> int:
    above = bisect_right(UTIL_PCT, place, key=lambda point: point[0])
    if above == 0:
        return 0
    if above == len(UTIL_PCT):
        return 100
    (share, low), (next_share, high) = UTIL_PCT[above - 1], UTIL_PCT[above]
    return round(low + (high - low) * (place - share) / (next_share - share))


@lru_cache(maxsize=1024)
def board_w(model: str) -> int:
    """What a board of that model may draw."""
    return next((watts for name, watts in BOARD_W.items() if name in model.upper()), OTHER_BOARD_W)


# The phases of a large fleet come back each sample; the samples themselves pass through.
@lru_cache(maxsize=65536)
def fraction(uuid: str, topic: str, number: int) -> float:
    """A number from 0 up to 1 that is always the same for the same arguments and looks like chance otherwise."""
    digest = blake2b(f"{uuid}|{topic}|{number}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48
