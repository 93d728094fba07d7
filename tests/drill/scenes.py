"""The story of the drill in four scenes, each a number of steps that hold or end it."""

from pathlib import Path

import redis

from allocations.models import Grant, Move, Pitch, Plan, Split
from inventory import trail
from inventory.models import Gpu, Node
from inventory.simulator import Control
from tests.drill import checks, job, lab
from tests.drill.processes import Portal, until
from tests.drill.report import Report

POLLED_LIMIT_S = 60.0  # the first poll of 1,213 nodes shakes hands with each of them
APPLIED_LIMIT_S = 60.0  # drain, switch, and the next polls of the fleet
RETURN_LIMIT_S = 60.0  # a killed part is back, and a killed worker's messages with it


class Drill:
    """One drill on a running portal."""

    def __init__(self, portal: Portal, report: Report, fleet: Path) -> None:
        self.portal, self.report, self.fleet = portal, report, fleet
        self.people = job.People(portal.base)
        self.scale: lab.Scale
        self.big: Grant
        self.old: Grant
        self.new: Grant
        self.taken: Plan

    @property
    def control(self) -> Control:
        """The remote control of the simulated fleet that runs now."""
        return Control.of(self.portal.home / "simulator")

    # Scene 1: facts

    def a_fleet_comes_in(self) -> None:
        step = self.report.step
        with step(f"fleet file imported: {self.fleet.name}"):
            self.portal.command("import_fleet", str(self.fleet), "--island-size", "64")
            declared = Node.objects.count()
            assert declared > 0
        with step(f"a second import changes nothing of {declared} nodes"):
            said = self.portal.command("import_fleet", str(self.fleet), "--island-size", "64")
            assert "added: 0" in said and "changed: 0" in said, said
        expected = sum(Node.objects.values_list("expected_gpus", flat=True))
        with step(f"all {declared} agents answered a survey and showed {expected} GPUs"):
            until("every node has answered", self._all_answered, POLLED_LIMIT_S)
            assert Gpu.objects.count() == expected == len(checks.on_nodes())
        with step("people, roles and projects"):
            lab.found()
            self.scale = lab.scale_of_fleet()

    def _all_answered(self) -> bool:
        return not Node.objects.filter(answered_at=None).exists()

    # Scene 2: decisions

    def decisions_are_made(self) -> None:
        self._first_split()
        self._big_pitch()
        self.old = self._granted(
            "old-lead", "drill-old", "Old work", self._share(60), ["chief-scientist", "research-head"]
        )
        self._applied_pitch()

    def _first_split(self) -> None:
        with self.report.step("split 60/40 proposed by the CEO, of no effect with one signature"):
            split = job.propose_split(self.people["ceo"], 60, 40, "The first split.")
            job.sign_split(self.people["ceo"], split)
            split.refresh_from_db()
            assert split.state == Split.State.PROPOSED
        with self.report.step("signed by the CEO of applications too: in force"):
            job.sign_split(self.people["ceo-applications"], split)
            split.refresh_from_db()
            assert split.state == Split.State.SIGNED

    def _big_pitch(self) -> None:
        step, people, scale = self.report.step, self.people, self.scale
        with step("a chief scientist cannot sign an own pitch"):
            own = job.pitch(people["chief-scientist"], "drill-pretrain", "Own idea", scale.large, 8)
            assert job.force_sign(people["chief-scientist"], own, "chief-scientist").status == 403
            assert own.sign_offs.count() == 0
        with step(f"pitch for {scale.large_gpus} {scale.large}, whole nodes on one island, typed into the form"):
            row = job.pitch(
                people["researcher"], "drill-pretrain", "Big run", scale.large, scale.large_gpus,
                whole_nodes=True, one_island=True,
            )  # fmt: skip
        with step("signed by a chief scientist; a second chief scientist is no research head"):
            job.sign(people["chief-scientist"], row)
            assert job.force_sign(people["second-chief"], row, "chief-scientist").status == 409
            assert job.force_sign(people["second-chief"], row, "research-head").status == 403
            row.refresh_from_db()
            assert (row.state, row.sign_offs.count()) == (Pitch.State.SUBMITTED, 1)
        with step("signed by the research head: granted"):
            job.sign(people["research-head"], row)
            row.refresh_from_db()
            assert row.state == Pitch.State.GRANTED
            self.big = row.grant
            assert self.big.gpus == scale.large_gpus

    def _applied_pitch(self) -> None:
        signers = ["ceo-applications"]
        self.applied = self._granted("product", "drill-assistant", "Serving", self._share(40), signers)

    def _share(self, percent: int) -> int:
        return self.scale.scarce_total * percent // 100

    def _granted(self, pitcher: str, project: str, title: str, gpus: int, signers: list[str]) -> Grant:
        with self.report.step(f"{project}: {gpus} {self.scale.scarce} pitched and signed by {' and '.join(signers)}"):
            row = job.pitch(self.people[pitcher], project, title, self.scale.scarce, gpus)
            for signer in signers:
                job.sign(self.people[signer], row)
            row.refresh_from_db()
            assert row.state == Pitch.State.GRANTED
        return row.grant

    # Scene 3: plans, and processes killed while they are applied

    def gpus_are_assigned(self) -> None:
        step, ops = self.report.step, self.people["ops"]
        with step("plan for the big pitch takes free whole nodes of one island; committed"):
            plan = job.propose_plan(ops, self.big)
            nodes = Node.objects.filter(gpus__in=plan.steps.filter(grant=self.big).values("gpu")).distinct()
            assert plan.short_gpus == 0 and len(set(nodes.values_list("island", flat=True))) == 1
            assert plan.steps.filter(grant=self.big).count() == self.big.gpus == sum(n.gpus.count() for n in nodes)
            job.commit(ops, plan)
        with step("worker killed (-9) while GPUs move, Redis flushed: every move is done and proved"):
            until("some GPU drains", lambda: plan.moves.exclude(draining_at=None).exists(), APPLIED_LIMIT_S)
            killed = self.portal.kill("worker")
            self._broker().flushall()
            self._applied(plan)
            assert self.portal.pid("worker") not in (None, killed)
        with step("two plans that want the same GPUs: the second commit is refused, and changes nothing"):
            first, second = (job.propose_plan(ops, grant) for grant in (self.old, self.applied))
            job.commit(ops, first)
            assert job.force_commit(ops, second).status == 409
            assert checks.assigned(self.applied) == 0
        with step("proposed again and committed while the first still moves: both applied"):
            job.commit(ops, again := job.propose_plan(ops, self.applied))
            for each in (first, again):
                self._applied(each)
            assert checks.held("drill-old") == self.old.gpus == checks.held_on_nodes("drill-old")

    def a_project_winds_down(self) -> None:
        step, people = self.report.step, self.people
        with step("the old project winds down, its lead ends its grant"):
            job.wind_down(people["old-lead"], "drill-old", "The work is done.")
            job.end_grant(people["old-lead"], self.old, "The work is done.")
        gpus = self.scale.newcomer_gpus
        self.new = self._granted("new-lead", "drill-new", "New work", gpus, ["chief-scientist", "research-head"])
        with step("plan for the newcomer takes from the project that winds down, exactly what is missing"):
            self.taken = job.propose_plan(people["ops"], self.new)
            moved = self.taken.steps.filter(grant=self.new)
            assert self.taken.short_gpus == 0 and moved.count() == gpus
            assert moved.filter(from_holder="drill-old").exists()
            assert set(moved.values_list("from_holder", flat=True)) <= {"", "drill-old"}
        node = moved.filter(from_holder="drill-old").first().gpu.node
        with step(f"node {node.name} killed, plan committed: its moves wait, the others are done"):
            self.control.kill(node.name)
            job.commit(people["ops"], self.taken)
            waiting = self.taken.moves.filter(gpu__node=node)
            others = self.taken.moves.exclude(gpu__node=node)
            until("the others are done", lambda: not others.exclude(state=Move.State.DONE).exists(), APPLIED_LIMIT_S)
            assert not waiting.filter(state=Move.State.DONE).exists()
            until("the node is seen to be silent", lambda: self._silent(node), APPLIED_LIMIT_S)
        with step("broker killed (-9), node brought back: its moves are done"):
            killed = self.portal.kill("valkey")
            self.control.revive(node.name)
            self._applied(self.taken)
            assert self.portal.pid("valkey") not in (None, killed)
            assert checks.held("drill-new") == gpus == checks.held_on_nodes("drill-new")

    def _silent(self, node: Node) -> bool:
        return Node.objects.get(pk=node.pk).silent_since is not None

    # Scene 4: change of mind

    def minds_change(self) -> None:
        step, people = self.report.step, self.people
        with step("split changed to 50/50 with both signatures; nothing is taken from anybody"):
            before = checks.held("drill-pretrain")
            split = job.propose_split(people["ceo"], 50, 50, "Applied grows.")
            job.sign_split(people["ceo"], split)
            job.sign_split(people["ceo-applications"], split)
            split.refresh_from_db()
            assert split.state == Split.State.SIGNED and checks.held("drill-pretrain") == before
        with step("undo of the newcomer's plan committed, supervisor killed (-9): no process is left"):
            undo = job.propose_undo(people["ops"], self.taken)
            job.commit(people["ops"], undo)
            self.portal.kill_supervisor()
            until("nothing runs", lambda: not self.portal.left(), RETURN_LIMIT_S)
        with step("started again: the undo is applied, the GPUs are back where they were"):
            checks.forget_connections()
            self.portal.start()
            self._applied(undo)
            assert checks.held("drill-old") == self.old.gpus == checks.held_on_nodes("drill-old")
            assert checks.held("drill-new") == 0 == checks.held_on_nodes("drill-new")

    def all_is_in_order(self) -> None:
        step = self.report.step
        with step("every node says of every GPU what is assigned and proven"):
            checks.nodes_agree_with_rows()
        with step("every done move has a reading that was asked for after its switch"):
            checks.done_moves_are_proven(self.taken.inverses.get())
        with step("the trail is whole"):
            while trail.seal():
                pass
            assert trail.verify() is None
        with step("Ctrl-C ends everything within 5 s and leaves no process"):
            checks.forget_connections()
            took_s = self.portal.stop()
            assert took_s < 5, f"{took_s:.1f} s"
            assert not self.portal.left(), self.portal.left()

    def _applied(self, plan: Plan) -> None:
        until("no move is open", lambda: checks.open_moves() == 0, RETURN_LIMIT_S + APPLIED_LIMIT_S)
        assert set(checks.outcome(plan)) == {"done"}, checks.outcome(plan)

    def _broker(self) -> "redis.Redis":
        return redis.Redis.from_url((self.portal.home / "run" / "redis_url").read_text().strip())
