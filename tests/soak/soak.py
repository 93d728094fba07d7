"""The soak's scenes, in their order."""

import random
import time
from datetime import UTC, datetime, timedelta

from django.db.utils import InterfaceError, OperationalError
from django.utils import timezone

from inventory import rollups, simulated
from inventory.models import GpuModel, Node, Reading
from inventory.queries import stale_after_s
from inventory.simulator.node import HOST
from tests.drill.checks import forget_connections
from tests.drill.processes import Portal, until
from tests.drill.report import Report
from tests.soak import checks, truth
from tests.soak.blows import Blows
from tests.soak.watching import Watch

# A large fleet on a busy machine; a node that was silent for long is asked every sixth interval only.
RETURN_LIMIT_S = 300.0
# Not where every other simulated fleet begins: the port of a killed agent must be free when it comes back.
FIRST_PORTS = 20_000, 25_000
# In a run of minutes caches still fill; a leak of one object a reading is far above either.
GROWN_MOST, GROWN_MOST_MIB, GROWN_MOST_FILES = 0.15, 24.0, 32.0
# Of all seconds of all cards: what is asked every few seconds is known most of the time, kills or not.
KNOWN_LEAST = 0.5


class Soak:
    """One run."""

    def __init__(self, portal: Portal, report: Report, *, agents: int, seed: int) -> None:
        self.portal, self.report, self.agents, self.seed = portal, report, agents, seed
        self.watch = Watch(portal)
        self.began = timezone.now()

    def a_fleet_comes_in(self) -> None:
        with self.report.step(f"{self.agents} agents answer, {self.agents * truth.GPUS} cards are read"):
            _declare(self.agents)
            until("all cards are read", lambda: self._read_since(self.began), RETURN_LIMIT_S)

    def things_are_killed(self, *, minutes: float) -> None:
        with self.report.step(f"{minutes:g} minutes of kills, seed {self.seed}"):
            forget_connections()
            self.blows = Blows(self.portal, simulated.state_folder(), truth.names(self.agents), seed=self.seed)
            self.blows.strike(until_s=time.monotonic() + minutes * 60, look=self.watch.look)
            self.blows.end()
            print("soak: killed", " ".join(f"{what}={count}" for what, count in sorted(self.blows.counts.items())))

    def all_come_back(self) -> None:
        calm_at = timezone.now()
        with self.report.step("every card is read again"):
            took_s = until("every card is read again", lambda: self._read_since(calm_at), RETURN_LIMIT_S)
            print(f"soak: back after {took_s:.0f} s")

    def rows_say_what_was_true(self) -> None:
        with self.report.step("no reading stands under another card"):
            checks.nothing_is_another_cards(truth.cards(self.agents))
        begin, end = _floor(self.began), _floor(timezone.now()) + rollups.SPAN
        with self.report.step("busy, idle and unknown are all seconds, each once"):
            rollups.recompute(begin, end)
            checks.every_second_stands_once()
        with self.report.step("no second of a silent agent counts as used or idle"):
            seen = checks.no_gap_counts_as_use(self.blows.silences, believed_s=stale_after_s())
            assert seen, "no agent was silent for long enough"
        with self.report.step(f"at least {KNOWN_LEAST:.0%} of the time is known"):
            readings, busy_s, idle_s, unknown_s = checks.sums()
            # The last span is not over yet; nobody can know more of its end than the newest reading is believed for.
            ahead_s = ((end - timezone.now()).total_seconds() - stale_after_s()) * self.agents * truth.GPUS
            known = (busy_s + idle_s) / (busy_s + idle_s + unknown_s - max(ahead_s, 0))
            print(f"soak: readings={readings} known={known:.1%} silences={seen} of {len(self.blows.silences)}")
            assert known >= KNOWN_LEAST

    def parts_stay_as_small_as_they_were(self) -> None:
        with self.report.step("memory and open files of the parts stay flat"):
            courses = self.watch.courses()
            for part, course in courses.items():
                print(
                    f"soak: {part} samples={course.samples} mib={course.mib:.0f} grown={course.mib_grown:+.1f} "
                    f"files={course.files:.0f} grown={course.files_grown:+.1f}"
                )
            fat = [part for part, c in courses.items() if c.mib_grown > max(GROWN_MOST * c.mib, GROWN_MOST_MIB)]
            open_files = [
                part for part, c in courses.items() if c.files_grown > max(GROWN_MOST * c.files, GROWN_MOST_FILES)
            ]
            assert {"web", "beat"} <= courses.keys(), "too short to see whether they grow"
            assert not fat and not open_files, f"memory grows: {fat}, open files grow: {open_files}"

    def _read_since(self, at: datetime) -> bool:
        try:
            return Reading.objects.filter(requested_at__gt=at).count() == self.agents * truth.GPUS
        except (OperationalError, InterfaceError):
            forget_connections()
            return False


def _declare(agents: int) -> None:
    model = GpuModel.objects.create(name=truth.MODEL, memory_mib=truth.MEMORY_MIB)
    Node.objects.bulk_create(
        Node(name=name, model=model, expected_gpus=truth.GPUS, address=f"https://{HOST}:{port}")
        for port, name in enumerate(truth.names(agents), random.randrange(*FIRST_PORTS))
    )


def _floor(at: datetime) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return at - (at - epoch) % timedelta(minutes=5)
