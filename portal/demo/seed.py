"""The demo lab is made: people, fleet, history by the real services, GPUs really assigned on simulated nodes."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.utils import timezone

from allocations import defaults, executor, plans
from allocations.models import Grant, Holding, Move, Person, Project, Role, RoleHolder
from inventory import arrivals, cordons, simulated, survey
from inventory.imports import DeclaredNode, import_fleet
from inventory.models import Gpu, GpuModel, Node
from inventory.simulator import Control, SimulatedFleet, gpu_uuid
from inventory.simulator.background import in_background
from portal.demo import story, usage
from portal.demo.clock import clock_at
from portal.demo.fleet import MODELS, nodes
from portal.demo.people import EVERYONE, PASSWORD
from portal.demo.pitches import GRANTED, DemoPitch
from portal.demo.projects import PROJECTS

BASE_PORT = 17_000  # as `manage.py simulate`: the nodes keep their ports when the demo starts
MOST_PASSES = 60  # a pass moves every GPU on by a step or two; more means that something is stuck
ASSIGNED_AFTER_DAYS = 0.1  # ops commit the plan some hours after a grant begins


def is_seeded() -> bool:
    """True if the demo lab is there."""
    return Project.objects.filter(slug=PROJECTS[0].slug).exists()


@transaction.atomic
def seed() -> None:
    """The demo lab is there, with its history up to now, or nothing of it. Not for a database with other data."""
    now = datetime.now(UTC)
    # What simulated nodes remember of a seed that broke off would be newer than the orders of this one.
    shutil.rmtree(simulated.state_folder(), ignore_errors=True)
    with clock_at(now - timedelta(days=story.FOUNDED_DAYS_AGO)):
        defaults.install(by="demo")
        _people()
        _declare_fleet()
    fleet = SimulatedFleet(simulated.specs(base_port=BASE_PORT), state=simulated.state_folder(), drain_s=0)
    with in_background(fleet) as control:
        simulated.enrol(fleet)
        _survey()
        story.tell(now, more=[*_assignments(), story.Scene(0.2, _cordon), story.Scene(0.2, _plan_ahead)])
        _date_holdings()
        _settle_habits(control)
        _break_things(control)
    usage.invent(now)


def people_text() -> str:
    """Whom to log in as, for the terminal."""
    lines = [f"  {person.login:18}{person.first_name} {person.last_name}" for person in EVERYONE]
    return "\n".join([f"Log in as any of these, password {PASSWORD}:", *lines]) + "\n"


def _people() -> None:
    hashed = make_password(PASSWORD)  # hashing on purpose takes long: once for all
    Person.objects.bulk_create(
        Person(
            username=person.login,
            first_name=person.first_name,
            last_name=person.last_name,
            email=f"{person.login}@lab.example",
            password=hashed,
            is_staff="admin" in person.roles,
        )
        for person in EVERYONE
    )
    # The first admin gets the role by hand, as at any new lab; all others get theirs from that admin.
    admin = Person.objects.get(username="admin")
    RoleHolder.objects.create(role=Role.objects.get(slug="admin"), person=admin, during=(timezone.now(), None))


def _declare_fleet() -> None:
    GpuModel.objects.bulk_create(GpuModel(**model._asdict()) for model in MODELS)
    declared = [DeclaredNode(**node._asdict(), line=line) for line, node in enumerate(nodes(), start=2)]
    import_fleet(nodes=declared, source="demo", by=Person.objects.get(username="admin"))


def _survey() -> None:
    with clock_at(datetime.now(UTC)):
        survey.survey_nodes(list(Node.objects.order_by("pk")))
    # The story begins before today: its first plans may use what only today's survey saw.
    Gpu.objects.update(first_seen_at=datetime.now(UTC) - timedelta(days=story.FOUNDED_DAYS_AGO))


def _assignments() -> Iterator[story.Scene]:
    for pitch in GRANTED:
        if pitch.assigned:
            yield story.Scene(-pitch.begins - ASSIGNED_AFTER_DAYS, partial(_assign, pitch))


def _assign(pitch: DemoPitch) -> None:
    ops = Person.objects.get(username="ops")
    plan = plans.propose_plan(grant=Grant.objects.get(pitch__title=pitch.title), by=ops)
    plans.commit_plan(plan=plan, by=ops, generation=plan.base_generation)
    for _ in range(MOST_PASSES):
        executor.run_pass()
        if not Move.objects.filter(state__in=Move.OPEN).exists():
            return
        _survey()
    raise RuntimeError(f"the moves of {plan} do not come to an end")


def _date_holdings() -> None:
    """Every holding began with the move that the story tells, not with the survey of today that proved it."""
    for holding in Holding.objects.filter(during__endswith__isnull=True):
        moved = Move.objects.filter(gpu=holding.gpu_id, project=holding.project_id, state=Move.State.DONE)
        done_at = moved.order_by("-done_at").values_list("done_at", flat=True).first()
        if done_at is not None and done_at < holding.during.lower:
            holding.during = DateTimeTZRange(done_at, None)
            holding.save(update_fields=["during"])


def _cordon() -> None:
    until = timezone.now() + timedelta(days=2)
    node = Node.objects.get(name="oslo-h200-a-08")
    cordons.set_cordon(node=node, by=Person.objects.get(username="ops"), reason="Fan replacement", until=until)


def _plan_ahead() -> None:
    ops, now = Person.objects.get(username="ops"), timezone.now()
    island = Node.objects.filter(island="turin-a100-c")
    since = now + timedelta(days=9)
    cordons.set_cordons(nodes=island, by=ops, reason="New firmware", since=since, until=since + timedelta(days=1))
    h200 = GpuModel.objects.get(name="H200")
    day = timezone.localdate() + timedelta(days=45)
    arrivals.announce_arrival(
        model=h200, gpus=64, arrives_on=day, by=ops, reason="Order 4711, confirmed by the vendor", site="oslo"
    )


def _break_things(control: Control) -> None:
    # A fleet without a fault is none: a node that went silent, a card that fell off its bus, and one that somebody has.
    control.kill("turin-a100-b-06")
    control.lose(gpu_uuid("turin-a100-c-01", 2))
    control.lose(gpu_uuid("oslo-h100-b-02", 5))


def _settle_habits(control: Control) -> None:
    for project in PROJECTS:
        control.set_habit(project.slug, "idle" if project.idle or project.ends != "active" else "life")
