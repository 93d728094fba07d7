"""The moment when all GPUs of a grant are in its project's hands: those who asked for them hear of it once."""

from collections.abc import Collection

from django.db import connection
from django.db.models import CharField, Count, Exists, F, OuterRef, Q
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from allocations.days import last_day
from allocations.grants import site_zone, spoken
from allocations.models import Grant
from allocations.notify import Telling, Text, page, tell_many
from inventory import trail
from inventory.models import Event

ACTOR = "executor"
VERB = "grant.complete"
DELIVERY_LOCK = 0xDE11  # advisory lock: of two passes that prove the last GPUs of a grant one sees the other's


def tell_delivered(grants: Collection[int]) -> None:
    """Lead and pitcher of each of the grants (keys) that is held whole now hear of it, once in the grant's life.

    For the transaction that wrote the holdings; as many statements for many grants as for one.
    """
    if not grants:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [DELIVERY_LOCK])
    whole = _held_whole(grants)
    facts = [(grant, {"gpus": grant.gpus, "model": grant.model.name}) for grant in whole]
    events = trail.record_many(VERB, facts, by=ACTOR)
    tell_many(_telling(event, grant) for event, grant in zip(events, whole, strict=True))


def _held_whole(grants: Collection[int]) -> list[Grant]:
    """Those of which all GPUs are held and nobody has been told so; an ended one promises nothing."""
    told = Event.objects.filter(verb=VERB, subject_kind="grant", subject_id=Cast(OuterRef("pk"), CharField()))
    stands = Q(holdings__gpu__retired_at=None, holdings__gpu__node__retired_at=None)
    held = Count("holdings", filter=Q(holdings__during__endswith=None) & stands)
    rows = Grant.objects.filter(pk__in=grants, ended_at=None).annotate(held_gpus=held)
    rows = rows.filter(~Exists(told), held_gpus__gte=F("gpus"))
    return list(rows.select_related("model", "project__lead", "pitch__pitcher").order_by("pk"))


def _telling(event: Event, grant: Grant) -> Telling:
    words = {
        "gpus": grant.gpus, "model": grant.model.name, "project": grant.project.name,
        "last": spoken(last_day(grant.ends_at, site_zone())),
    }  # fmt: skip
    text = Text(
        _("%(project)s holds all %(gpus)s %(model)s of its grant, proven by readings, until %(last)s.") % words,
        page("grants", grant.public_id),
    )
    people = {grant.project.lead, *({grant.pitch.pitcher} if grant.pitch else ())}
    return Telling(event, dict.fromkeys(people, text), _("Your GPUs are there: %(gpus)s %(model)s") % words)
