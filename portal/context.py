"""What the frame shows on every page: the places a person can use, what waits there, the people of the demo."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from allocations import notify, queries, rules
from allocations.models import Person, Role, RoleHolder
from inventory import queries as facts

PHONE_PLACES = 4  # what the bottom bar of a phone holds beside "More"
PHONE_FIRST = ("home", "queue", "desk", "reshuffle")  # where work waits for somebody; the others follow in their order
BADGE_MOST = 99  # unread notices that a badge counts out
DEMO_PEOPLE = 40  # a menu longer than this is no menu


@dataclass(frozen=True)
class Place:
    """An entry of the navigation; `sections` are the address names that belong to it."""

    name: str
    word: str | Promise
    icon: str
    sections: frozenset[str]
    action: str = ""


PLACES = [
    Place("home", gettext_lazy("Home"), "home", frozenset({"home"})),
    Place(
        "queue",
        gettext_lazy("Queue"),
        "inbox-stack",
        frozenset(
            {"queue", "queue_item", "queue_coming", "queue_history", "queue_terms", "pitch_sign", "sign_off_undo"}
        ),
    ),
    Place(
        "desk",
        gettext_lazy("Desk"),
        "presentation-chart-bar",
        frozenset({"desk", "desk_try", "desk_decide", "desk_undo", "desk_minutes"}),
        "use_desk",
    ),
    Place("pitches", gettext_lazy("Pitches"), "megaphone", frozenset({"pitches", "pitch", "pitch_new", "pitch_edit"})),
    Place(
        "split", gettext_lazy("Split"), "scale", frozenset({"split", "split_propose", "split_sign", "split_compare"})
    ),
    Place(
        "deputies",
        gettext_lazy("Deputies"),
        "user-group",
        frozenset({"deputies", "deputy_set", "deputy_end"}),
        "see_deputies",
    ),
    Place("grants", gettext_lazy("Grants"), "ticket", frozenset({"grants", "grant", "loans", "loan", "loan_propose"})),
    Place("projects", gettext_lazy("Projects"), "rectangle-stack", frozenset({"projects", "project"})),
    Place(
        "reshuffle", gettext_lazy("Reshuffle"), "arrows-right-left", frozenset({"reshuffle", "plan"}), "propose_plan"
    ),
    Place(
        "fleet",
        gettext_lazy("Fleet"),
        "squares-2x2",
        frozenset({"fleet", "node", "gpu", "health", "maintenance", "arrivals", "modes"}),
        "see_fleet",
    ),
    Place("people", gettext_lazy("People"), "users", frozenset({"people", "person", "person_let_go"}), "administer"),
    Place("trail", gettext_lazy("Trail"), "list-bullet", frozenset({"trail"}), "see_trail"),
]


# What waits in a place for somebody, as its badge counts it.
WAITING: dict[str, Callable[[Person], QuerySet[Any]]] = {
    "queue": queries.counted_queue_of,
    "split": queries.splits_waiting_for,
    "reshuffle": lambda _person: queries.needs(),
}


@dataclass(frozen=True)
class Shown:
    """A place as the navigation draws it."""

    word: str
    icon: str
    address: str
    is_current: bool
    waiting: int
    on_phone: bool


@dataclass(frozen=True)
class DemoPerson:
    """Somebody to become in the demo, with the part they play."""

    pk: int
    username: str
    name: str
    part: str


class Frame:
    """The frame of one answer; each part is looked up only when a template asks for it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self.demo: bool = settings.DEMO

    @cached_property
    def roles(self) -> list[Role]:
        """The roles that the viewer holds now."""
        return [mandate.role for mandate in self.mandates if mandate.is_own]

    @cached_property
    def mandates(self) -> list[queries.Mandate]:
        """The roles in which the viewer may sign now, own ones and those of others."""
        return queries.mandates_of(self._request.user) if self._request.user.is_authenticated else []

    @cached_property
    def vacancies(self) -> list[queries.Vacancy]:
        """Roles that nobody holds, for those who give roles and those who run the fleet."""
        keeps = {Role.Power.OPERATE, Role.Power.ADMINISTER}
        is_keeper = self._request.user.is_superuser or any(role.power in keeps for role in self.roles)
        return queries.roles_without_holder() if is_keeper else []

    @cached_property
    def unread(self) -> int:
        """How many notices the viewer has not opened, counted up to where a badge says "more"."""
        return self._counts.get("unread", 0)

    @cached_property
    def polling_is_late(self) -> bool:
        """Whether no survey has come in for longer than a reading may be old; said to those who run the fleet."""
        return bool(self._counts.get("late_surveys", 0))

    @cached_property
    def places(self) -> list[Shown]:
        """What the viewer can use, in the order of the work."""
        match = self._request.resolver_match
        here = match.url_name if match else ""
        usable = self._usable
        on_phone = sorted(usable, key=lambda place: place.name not in PHONE_FIRST)[:PHONE_PLACES]
        return [
            Shown(
                word=str(place.word),
                icon=place.icon,
                address=reverse(place.name),
                is_current=here in place.sections,
                waiting=self._counts.get(place.name, 0),
                on_phone=place in on_phone,
            )
            for place in usable
        ]

    @cached_property
    def rest(self) -> list[Shown]:
        """What a phone shows under "More"."""
        return [place for place in self.places if not place.on_phone]

    @cached_property
    def demo_people(self) -> list[DemoPerson]:
        """Whom one click turns the viewer into: the holders of roles first, then everybody else."""
        parts: dict[int, list[str]] = {}
        holders = RoleHolder.objects.filter(during__contains=timezone.now()).select_related("role")
        for holder in holders.order_by("role"):
            parts.setdefault(holder.person_id, []).append(holder.role.name)
        order = {pk: place for place, pk in enumerate(parts)}
        people = list(Person.objects.filter(is_active=True).order_by("username")[:DEMO_PEOPLE])
        people.sort(key=lambda person: order.get(person.pk, len(order)))
        return [DemoPerson(p.pk, p.username, p.name, ", ".join(parts.get(p.pk, [_("Staff")]))) for p in people]

    @cached_property
    def _usable(self) -> list[Place]:
        return [place for place in PLACES if self._can_use(place)]

    @cached_property
    def _counts(self) -> dict[str, int]:
        """What the badges say, of the places and of the inbox; one query."""
        viewer = self._request.user
        if not viewer.is_authenticated:
            return {}
        usable = {place.name for place in self._usable}
        rows = {name: waiting(viewer) for name, waiting in WAITING.items() if name in usable}
        if any(role.power == Role.Power.OPERATE for role in self.roles):
            rows["late_surveys"] = facts.late_surveys()
        return queries.counts_of(rows | {"unread": notify.unread_of(viewer)[: BADGE_MOST + 1]})

    def _can_use(self, place: Place) -> bool:
        if place.name in ("queue", "desk"):
            return any(mandate.role.power == Role.Power.DECIDE for mandate in self.mandates)
        if place.name == "deputies":
            sets = {Role.Power.DECIDE, Role.Power.ADMINISTER}
            return self._request.user.is_superuser or any(role.power in sets for role in self.roles)
        if place.name == "people":
            return self._request.user.is_superuser or any(r.power == Role.Power.ADMINISTER for r in self.roles)
        if place.name == "split":
            return bool(self.mandates)
        return not place.action or rules.can(self._request.user, place.action)


def frame(request: HttpRequest) -> dict[str, Frame]:
    """The frame for the templates; costs no query until something of it is shown."""
    return {"frame": Frame(request)}
