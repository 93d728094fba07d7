"""What a lab has decided and moved in two years, for the pages to show: pitches, signatures, grants, GPUs in hands.

10,000 pitches: 1,000 wait for the first signature, most are granted; 6,216 GPUs with readings, nine in ten assigned and
proven held by plans whose moves are done; a trail of some 60,000 events.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain, islice

from allocations.models import (
    Assignment,
    Grant,
    Holding,
    Move,
    Person,
    Pitch,
    PitchRole,
    Plan,
    PlanStep,
    Project,
    Role,
    SignOff,
    Target,
)
from inventory.models import Event, Gpu, GpuModel, Reading
from tests.benchmarks.pages_data import BATCH, DAY, NOW, Lab

PITCHES, WAITING, DRAFTS, DECLINED, WITHDRAWN, PLANNED = 10_000, 1_000, 200, 400, 200, 100
PROMISED = 0.75  # of each share: the last signature of a waiting pitch still finds room
SHARES = {"research": 0.6, "applied": 0.4}
SIZES = (4, 8, 8, 16)
LACKING_EVERY = 12  # one grant in so many lacks half of its GPUs
GRANTS_A_PLAN = 5
OPEN_EVERY = 25  # one plan in so many is still moving
SIGNERS = {"research": ("chief-scientist", "research-head"), "applied": ("ceo-applications",)}
WORDS = ("Protein folding", "Speech in the wild", "Longer context", "Weather at 1 km", "Ablation of the tokenizer")


def fill(lab: Lab) -> None:
    """The lab has its history; equal runs write equal rows but for the instants."""
    rng = random.Random(1)
    pitches = Pitch.objects.bulk_create(_pitches(rng, lab), batch_size=BATCH)
    lab.waiting = [pitch for pitch in pitches if pitch.state == Pitch.State.SUBMITTED]
    _signatures(lab, pitches)
    grants = Grant.objects.bulk_create(_grants(lab, pitches), batch_size=BATCH)
    hands = _moves(lab, [grant for grant in grants if grant.starts_at <= NOW < grant.ends_at])
    _readings(rng, lab, hands)
    Event.objects.bulk_create(chain(_events(pitches, grants), _events_of_moves()), batch_size=BATCH)


def _pitches(rng: random.Random, lab: Lab) -> Iterator[Pitch]:
    alive = [project for project in lab.projects if project.state == Project.State.ACTIVE]
    research = [project for project in alive if project.division.slug == "research"]
    models = list(lab.gpus)
    in_force = list(_in_force(rng, lab, alive))
    others = WAITING + DRAFTS + DECLINED + WITHDRAWN + PLANNED + len(in_force)
    for _number in range(PITCHES - others):
        decided = NOW - rng.randrange(95, 700) * DAY
        days = rng.randrange(7, 90)
        yield _pitch(rng, rng.choice(lab.projects), rng.choice(models), Pitch.State.GRANTED, decided, days=days)
    for state, number in ((Pitch.State.DECLINED, DECLINED), (Pitch.State.WITHDRAWN, WITHDRAWN)):
        for _number in range(number):
            yield _pitch(rng, rng.choice(alive), rng.choice(models), state, NOW - rng.randrange(2, 600) * DAY)
    yield from in_force
    for _number in range(PLANNED):
        soon = rng.randrange(20, 60) * DAY
        yield _pitch(rng, rng.choice(alive), rng.choice(models), Pitch.State.GRANTED, NOW - DAY, first_day=NOW + soon)
    for number in range(WAITING):
        asked = NOW - timedelta(hours=2 * number + 1)
        yield _pitch(rng, rng.choice(research), models[0], Pitch.State.SUBMITTED, asked, first_day=NOW + DAY)
    for _number in range(DRAFTS):
        yield _pitch(rng, rng.choice(alive), rng.choice(models), Pitch.State.DRAFT, NOW - rng.randrange(1, 40) * DAY)


def _in_force(rng: random.Random, lab: Lab, alive: list[Project]) -> Iterator[Pitch]:
    """Granted pitches until so much of each division's share of each model is promised."""
    for model, gpus in lab.gpus.items():
        for division, share in SHARES.items():
            projects = [project for project in alive if project.division.slug == division]
            left = int(len(gpus) * share * PROMISED)
            while left > 0:
                size = min(rng.choice(SIZES), left)
                left -= size
                ago = rng.randrange(1, 40)
                yield _pitch(
                    rng, rng.choice(projects), model, Pitch.State.GRANTED, NOW - ago * DAY, gpus=size,
                    days=ago + rng.randrange(5, 90),
                )  # fmt: skip


def _pitch(
    rng: random.Random,
    project: Project,
    model: GpuModel,
    state: Pitch.State,
    at: datetime,
    *,
    gpus: int | None = None,
    days: int = 21,
    first_day: datetime | None = None,
) -> Pitch:
    gpus = gpus or rng.choice(SIZES)
    decided = state in (Pitch.State.GRANTED, Pitch.State.DECLINED)
    stamps = {
        "submitted_at": None if state == Pitch.State.DRAFT else at,
        "decided_at": at if decided else None,
        "decided_by": project.lead if decided else None,
        "withdrawn_at": at if state == Pitch.State.WITHDRAWN else None,
    }
    return Pitch(
        project=project, pitcher=project.lead, title=f"{rng.choice(WORDS)}, part {rng.randrange(99)}", model=model,
        why="The last one was too small, and the evaluation says by how much. " * 4, state=state, ideal_gpus=gpus,
        min_gpus=max(1, gpus // 2), offered_gpus=gpus, start_on=(first_day or at).date(), days=days,
        expected_result="A model that answers the questions of the last review.", **stamps,
    )  # fmt: skip


def _signatures(lab: Lab, pitches: list[Pitch]) -> None:
    """The roles that must sign stand in each pitch; decided ones are signed by all, declined ones by the first."""
    roles = {role.slug: role for role in Role.objects.all()}
    needed = [
        (pitch, roles[slug], lab.roles[slug])
        for pitch in pitches
        if pitch.state != Pitch.State.DRAFT
        for slug in SIGNERS[pitch.project.division.slug]
    ]
    PitchRole.objects.bulk_create((PitchRole(pitch=pitch, role=role) for pitch, role, _by in needed), batch_size=BATCH)
    SignOff.objects.bulk_create((_sign_off(*row) for row in needed if _is_signed(*row)), batch_size=BATCH)


def _is_signed(pitch: Pitch, role: Role, _by: Person) -> bool:
    first = SIGNERS[pitch.project.division.slug][0]
    return pitch.state == Pitch.State.GRANTED or (pitch.state == Pitch.State.DECLINED and role.slug == first)


def _sign_off(pitch: Pitch, role: Role, by: Person) -> SignOff:
    verdict = SignOff.Verdict.APPROVE if pitch.state == Pitch.State.GRANTED else SignOff.Verdict.DECLINE
    return SignOff(
        pitch=pitch, round=1, role=role, person=by, verdict=verdict, gpus=pitch.offered_gpus, reason="As agreed.",
        at=pitch.decided_at,
    )  # fmt: skip


def _grants(lab: Lab, pitches: list[Pitch]) -> Iterator[Grant]:
    for pitch in pitches:
        if pitch.state == Pitch.State.GRANTED:
            begins = max(pitch.decided_at, pitch.decided_at.replace(hour=0) if pitch.days else pitch.decided_at)
            if pitch.start_on > pitch.decided_at.date():
                begins = pitch.decided_at + (pitch.start_on - pitch.decided_at.date())
            yield Grant(
                pitch=pitch, project=pitch.project, model=pitch.model, gpus=pitch.offered_gpus, starts_at=begins,
                ends_at=begins + pitch.days * DAY, issued_by=lab.roles["ceo"], issued_at=pitch.decided_at,
            )  # fmt: skip


def _moves(lab: Lab, grants: list[Grant]) -> dict[int, Project]:
    """Plans, five grants each, gave the GPUs; GPU pk -> who holds it. One plan in so many is still on its way."""
    free = {model: iter(gpus) for model, gpus in lab.gpus.items()}
    ops, plans, steps, moves, assignments, holdings = lab.roles["ops"], [], [], [], [], []
    hands: dict[int, Project] = {}
    for number, grant in enumerate(grants):
        if number % GRANTS_A_PLAN == 0:
            at = grant.starts_at + timedelta(hours=number % 7)
            plans.append(
                Plan(
                    purpose=Plan.Purpose.NEED,
                    grant=grant,
                    base_generation=len(plans),
                    generation=len(plans) + 1,
                    proposed_by=ops,
                    proposed_at=at,
                    committed_by=ops,
                    committed_at=at,
                    why={"shape": {"islands": 1, "nodes": 1, "donors": 0}},
                )
            )
        plan = plans[-1]
        wanted = grant.gpus // 2 if number % LACKING_EVERY == 0 else grant.gpus
        is_open = plan.generation % OPEN_EVERY == 0
        for gpu in islice(free[grant.model], wanted):
            row = {"gpu": gpu, "project": grant.project, "grant": grant, "generation": plan.generation}
            assignments.append(Assignment(during=(grant.starts_at, None), **row))
            steps.append(PlanStep(plan=plan, gpu=gpu, source="free", project=grant.project, grant=grant))
            moves.append(_move(plan, gpu, grant, is_open=is_open))
            if not is_open:
                holdings.append(Holding(during=(grant.starts_at, None), **row))
                hands[gpu.pk] = grant.project
    Plan.objects.bulk_create(plans, batch_size=BATCH)
    for model, rows in ((PlanStep, steps), (Move, moves), (Assignment, assignments), (Holding, holdings)):
        model.objects.bulk_create(rows, batch_size=BATCH)
    Target.objects.update_or_create(pk=1, defaults={"generation": len(plans), "plan": plans[-1]})
    return hands


def _move(plan: Plan, gpu: Gpu, grant: Grant, *, is_open: bool) -> Move:
    at = plan.committed_at
    stamps = dict.fromkeys(("proposed_at", "noticed_at", "agreed_at", "draining_at"), at)
    if not is_open:
        stamps |= {"switched_at": at, "done_at": at}
    return Move(
        plan=plan, gpu=gpu, project=grant.project, grant=grant, generation=plan.generation,
        state=Move.State.DRAINING if is_open else Move.State.DONE, **stamps,
    )  # fmt: skip


def _readings(rng: random.Random, lab: Lab, hands: dict[int, Project]) -> None:
    gpus = chain.from_iterable(lab.gpus.values())
    Reading.objects.bulk_create((_reading(rng, gpu, hands.get(gpu.pk)) for gpu in gpus), batch_size=BATCH)


def _reading(rng: random.Random, gpu: Gpu, holder: Project | None) -> Reading:
    busy = holder is not None and rng.random() < 0.8
    return Reading(
        gpu=gpu, requested_at=NOW, boot_id="boot-1", sequence=1, holder=holder.slug if holder else "",
        util_pct=rng.uniform(60, 99) if busy else 0.0, mem_used_mib=70_000 if busy else 0, power_w=600.0,
        temperature_c=60.0, running=1 if busy else 0, processes=[],
    )  # fmt: skip


def _events(pitches: list[Pitch], grants: list[Grant]) -> Iterator[Event]:
    for pitch in pitches:
        yield _event("pitch.drafted", pitch, pitch.created_at)
        if pitch.submitted_at:
            yield _event("pitch.submitted", pitch, pitch.submitted_at)
        if pitch.decided_at:
            for _role in SIGNERS[pitch.project.division.slug]:
                yield _event("sign_off.given", pitch, pitch.decided_at)
            yield _event(f"pitch.{pitch.state}", pitch, pitch.decided_at)
    for grant in grants:
        yield _event("grant.issued", grant, grant.issued_at)


def _events_of_moves() -> Iterator[Event]:
    for move in Move.objects.filter(state=Move.State.DONE).select_related("gpu").iterator(chunk_size=BATCH):
        yield _event("move.done", move, move.done_at)


def _event(verb: str, row: Pitch | Grant | Move, at: datetime) -> Event:
    facts = {"gpus": getattr(row, "gpus", 0), "round": 1}
    return Event(
        verb=verb, subject_kind=row._meta.model_name, subject_id=str(row.pk), subject_label=str(row)[:200],
        actor="bench", at=at, facts=facts,
    )  # fmt: skip
