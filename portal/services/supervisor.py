"""Everything that one `manage.py up` runs, started in order, kept up, ended in order."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from portal.services.addresses import noted_address
from portal.services.children import Child, ChildSpec, end_leftover
from portal.services.claims import Claim
from portal.services.errors import AlreadyRunning, CannotStart
from portal.services.home import Home
from portal.services.wakeups import Stopping, Wakeups

LOOK_INTERVAL_S = 0.5  # how late an error is shown on the terminal; children that end wake us at once
READY_INTERVAL_S = 0.1
SERVICE_PATIENCE_S = 60.0  # a start takes 0.5 s; after a crash PostgreSQL reads its journal first
PART_START_PATIENCE_S = 90.0  # takes some 5 s; on a loaded machine many times that
DEATHS_BEFORE_READY = 3  # what cannot start will not learn it; later on nothing is given up
LOG_LINES = 12  # a traceback's end with the frames that matter
# Ctrl-C ends all in about 2.5 s and on a loaded machine stays under 5: first the parts, then the services, in three
# steps each: the first signal, the firmer ones, the kill. Where a busy disk draws out PostgreSQL's last checkpoint it
# is left out: the next start reads the journal instead, and nothing is lost.
PARTS_FIRM_AFTER_S, PARTS_KILLED_AFTER_S = 1.0, 1.8
SERVICES_FIRM_AFTER_S, SERVICES_KILLED_AFTER_S = 1.0, 1.4
HEAD_START_S = 0.3  # of each part over the next: beat is silent before the worker goes


@dataclass(frozen=True)
class Service:
    """An embedded service."""

    name: str
    kind: str  # for the terminal: database, broker
    variable: str  # in the environment: the address of a real server, which is used instead
    noted_as: str  # the name under which the address of the embedded one is noted
    prepare: Callable[[Home], ChildSpec]  # called right before the start, under the claim
    answers: Callable[[str], bool]


@dataclass(frozen=True)
class Run:
    """What one `manage.py up` was asked for."""

    services: Sequence[Service]
    steps: Sequence[ChildSpec]  # each ends by itself before the next thing starts
    parts: Sequence[ChildSpec]  # started together
    require: Callable[[], None]  # called under the claims before anything starts; raises CannotStart
    stop_order: Sequence[str]  # names of all parts
    env: Mapping[str, str]  # for steps and parts, over our own
    welcome: Callable[[], str]  # said once all is ready


class Supervisor:
    """Runs one `Run` from a state folder, in the main thread."""

    def __init__(self, home: Home, say: Callable[[str], None]) -> None:
        self._home = home
        self._say = say
        self._wakeups = Wakeups()
        self._claims: list[Claim] = []
        self._services: list[Child] = []
        self._parts: list[Child] = []
        self._env: dict[str, str] = {}
        self._is_ready = False

    def run(self, run: Run) -> None:
        """All of it ran until somebody asked to stop, and is ended.

        Raises CannotStart (AlreadyRunning); all is ended then, too.
        """
        self._home.create()
        self._env = {**os.environ, **run.env, "ALLOT_HOME": str(self._home.root)}
        with self._wakeups.watching():
            try:
                self._start(run)
                self._is_ready = True
                self._say(run.welcome())
                while True:
                    self._look(LOOK_INTERVAL_S)
            except Stopping:
                self._say("stopping")
            finally:
                self._stop(run)
            self._say("stopped")

    def _start(self, run: Run) -> None:
        # All claims before the first start: a refused second start has changed nothing.
        claims = [self._claim(part.name) for part in run.parts]
        run.require()
        for service in run.services:
            self._start_service(service)
        for step in run.steps:
            self._take_step(step)
        self._say(f"starting {', '.join(part.name for part in run.parts)}")
        for part, claim in zip(run.parts, claims, strict=True):
            end_leftover(claim)
            self._parts.append(Child(part, self._home, claim))
            self._parts[-1].start(self._env)
        self._await(self._parts, PART_START_PATIENCE_S)

    def _claim(self, name: str) -> Claim:
        claim = Claim(self._home, name).take()
        self._claims.append(claim)
        return claim

    def _start_service(self, service: Service) -> None:
        real = os.environ.get(service.variable)
        if real:
            self._say(f"{service.kind}: the one that {service.variable} names")
        else:
            try:
                self._run_embedded(service, self._claim(service.name))
            except AlreadyRunning:
                self._share(service)
        self._env[service.variable] = real or noted_address(self._home, service.noted_as)

    def _run_embedded(self, service: Service, claim: Claim) -> None:
        end_leftover(claim)
        child = Child(service.prepare(self._home), self._home, claim)
        self._wakeups.check()
        self._say(f"{service.kind}: {child.spec.about}. For this machine only; {service.variable} names a real one.")
        self._services.append(child)
        child.start(self._env)
        self._await([child], SERVICE_PATIENCE_S)

    def _share(self, service: Service) -> None:
        self._say(f"{service.kind}: the embedded one that already runs from {self._home.root}")
        deadline_s = time.monotonic() + SERVICE_PATIENCE_S
        while not ((url := noted_address(self._home, service.noted_as)) and service.answers(url)):
            if time.monotonic() > deadline_s:
                raise CannotStart(f"The {service.kind} that runs from {self._home.root} does not answer.")
            self._look(READY_INTERVAL_S)

    def _take_step(self, step: ChildSpec) -> None:
        self._say(step.about)
        child = Child(step, self._home)
        child.start(self._env)
        try:
            while child.ended() is None:
                self._look(LOOK_INTERVAL_S)
        finally:
            child.kill()
        if child.ended() != 0:
            raise CannotStart(_with_log(f"{step.name} failed", child))
        if step.then:
            step.then()

    def _await(self, children: Sequence[Child], patience_s: float) -> None:
        deadline_s = time.monotonic() + patience_s
        for child in children:
            while child.due_at_s is not None or not (child.spec.ready is None or child.spec.ready()):
                if time.monotonic() > deadline_s:
                    raise CannotStart(_with_log(f"{child.spec.name} did not get ready in {patience_s:g} s", child))
                self._look(READY_INTERVAL_S)
        self._look(0)

    def _look(self, limit_s: float) -> None:
        """Waits, shows errors, starts again what fell over. Raises Stopping; CannotStart before all was ready."""
        self._wakeups.wait(limit_s)
        self._wakeups.check()
        for child in (*self._services, *self._parts):
            for line in child.log.new_troubles():
                self._say(f"{child.spec.name}: {line}")
            if child.due_at_s is not None:
                if child.due_at_s <= time.monotonic():
                    child.start(self._env)
            elif child.ended() is not None:
                self._say(child.fell_over())
                if not self._is_ready and child.deaths >= DEATHS_BEFORE_READY:
                    raise CannotStart(_with_log(f"{child.spec.name} does not stay up", child))

    def _stop(self, run: Run) -> None:
        parts = sorted(self._parts, key=lambda child: run.stop_order.index(child.spec.name))
        self._end(parts, PARTS_FIRM_AFTER_S, PARTS_KILLED_AFTER_S)
        self._end(self._services, SERVICES_FIRM_AFTER_S, SERVICES_KILLED_AFTER_S)
        for claim in self._claims:
            claim.release()

    def _end(self, children: Sequence[Child], firm_after_s: float, killed_after_s: float) -> None:
        began_s = time.monotonic()
        for child in children:
            child.tell(child.spec.stop_signals[0])
            self._until_ended([child], min(began_s + firm_after_s, time.monotonic() + HEAD_START_S))
        self._until_ended(children, began_s + firm_after_s)
        for child in children:
            for number in child.spec.stop_signals[1:]:
                child.tell(number)
        self._until_ended(children, began_s + killed_after_s)
        for child in children:
            child.kill()

    def _until_ended(self, children: Sequence[Child], deadline_s: float) -> None:
        while any(child.ended() is None for child in children) and time.monotonic() < deadline_s:
            self._wakeups.wait(deadline_s - time.monotonic())


def _with_log(sentence: str, child: Child) -> str:
    return "\n".join([f"{sentence}. The end of {child.log.path}:", *child.log.last_lines(LOG_LINES)])
