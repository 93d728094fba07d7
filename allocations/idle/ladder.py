"""The clock's part: cases begin, are asked about twice, reach the desk, and are over when the GPUs work again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import queries
from allocations.locks import lock_row, one_at_a_time
from allocations.models import IdleCase, Notice, OutboxMessage
from allocations.notify import page, tell
from allocations.queries.idle import IdleGrant, IdleUnit, Ladder
from inventory import trail
from inventory.activity import Exemption, counts_since
from inventory.models import Event

ACTOR = "idle"
MOST_LINES = 16  # a notice shows two nodes' worth; the page shows all
State = IdleCase.State


def tend() -> None:
    """Every idle GPU that is asked about has a case, and every case is where its GPUs and its answer put it.

    May run late, twice or at once. Nothing is taken from anybody here.
    """
    now = timezone.now()
    seen = {each.grant.pk: each for each in queries.idle_grants()}
    ladders = queries.ladders({each.grant.project for each in seen.values()})
    rests = queries.agreed_rest([each.grant for each in seen.values()], ladders, now)
    asked = {pk: since for pk, each in seen.items() if (since := _counts_since(each, rests[pk], now))}
    opened = set()
    for case in queries.open_cases().order_by("pk"):
        opened.add(case.grant_id)
        _follow(case, seen.get(case.grant_id), asked.get(case.grant_id), ladders.get(case.grant.project_id), now)
    for pk in asked.keys() - opened:
        if now - asked[pk] >= ladders[seen[pk].grant.project_id].warn_after:
            _open(seen[pk], now)


def _counts_since(each: IdleGrant, rests: Sequence[Exemption], now: datetime) -> datetime | None:
    """From when on the rest of its idle GPUs counts, the longest of them; None where nobody is asked about any."""
    counted = (counts_since(unit.since, rests, now=now) for unit in each.idle)
    return min((since for since in counted if since is not None), default=None)


def _since(idle: Sequence[IdleUnit]) -> datetime:
    """When the one that is idle longest began to be: the case is about that one, and names the others."""
    return min(unit.since for unit in idle)


@one_at_a_time
def _open(each: IdleGrant, now: datetime) -> None:
    lock_row(each.grant)  # two clocks at once open one case
    if IdleCase.objects.filter(grant=each.grant).exclude(state=State.ENDED).exists():
        return
    case = IdleCase.objects.create(
        grant=each.grant,
        gpus=len(each.idle),
        idle_since=_since(each.idle),
        evidence=_evidence(each.idle),
        warned_at=now,
    )
    event = trail.record("idle.warned", case, by=ACTOR, **_facts(case))
    _ask(event, case, _("Idle: %(what)s"))


@one_at_a_time
def _follow(
    case: IdleCase, seen: IdleGrant | None, counts_from: datetime | None, ladder: Ladder | None, now: datetime
) -> None:
    lock_row(case)
    if case.state == State.ENDED:
        return None
    if case.state == State.KEPT and case.kept_until and case.kept_until <= now:
        return _end(case, "kept_over", now)
    if seen is None or ladder is None:
        return _end(case, "gone", now)
    if not seen.idle:
        # Unknown is not active: what nobody can see now is asked about when it can be seen again.
        return None if seen.unknown else _end(case, "active", now)
    if case.state == State.KEPT:
        return None
    if counts_from is None:
        return _end(case, "not_asked", now)
    if counts_from > case.warned_at:
        # All of them have worked, or nothing was known for a while: the clock begins anew.
        return _end(case, "active", now)
    return _climb(case, seen, counts_from, ladder, now)


def _climb(case: IdleCase, seen: IdleGrant, counts_from: datetime, ladder: Ladder, now: datetime) -> None:
    case.gpus, case.idle_since, case.evidence = len(seen.idle), _since(seen.idle), _evidence(seen.idle)
    case.save(update_fields=["gpus", "idle_since", "evidence"])
    idle, step = now - counts_from, ladder.again_after - ladder.warn_after
    if case.state == State.WARNED and idle >= ladder.again_after and now - case.warned_at >= step:
        IdleCase.objects.advance(case, State.ASKED_AGAIN, again_at=now)
        event = trail.record("idle.asked_again", case, by=ACTOR, **_facts(case))
        _ask(event, case, _("Still idle: %(what)s"))
    elif case.state == State.ASKED_AGAIN and idle >= ladder.desk_after and _was_heard(case):
        IdleCase.objects.advance(case, State.ON_DESK, desk_at=now)
        trail.record("idle.on_desk", case, by=ACTOR, **_facts(case))


def _was_heard(case: IdleCase) -> bool:
    """Somebody read a notice about it, or all of them have left: a mail that still waits is no warning."""
    events = Event.objects.filter(subject_kind="idlecase", subject_id=str(case.pk))
    was_read = Notice.objects.filter(event__in=events, read_at__isnull=False).exists()
    return was_read or not OutboxMessage.objects.filter(event__in=events, sent_at=None).exists()


def _end(case: IdleCase, why: str, now: datetime) -> None:
    IdleCase.objects.advance(case, State.ENDED, ended_at=now, ended_why=why)
    trail.record("idle.ended", case, by=ACTOR, why=why)


def _evidence(idle: Sequence[IdleUnit]) -> list[dict[str, object]]:
    return [unit._asdict() | {"since": unit.since.isoformat()} for unit in idle]


def _facts(case: IdleCase) -> dict[str, Any]:
    return {"grant": case.grant.public_id, "gpus": case.gpus, "idle_since": case.idle_since}


def _ask(event: Event, case: IdleCase, subject: str) -> None:
    grant = case.grant
    what = ngettext("%(n)s %(model)s of %(project)s", "%(n)s %(model)s of %(project)s", case.gpus) % {
        "n": case.gpus, "model": grant.model.name, "project": grant.project.name,
    }  # fmt: skip
    lines = [
        _("%(node)s %(gpu)s: idle since %(since)s, highest use %(util)s %%, %(coverage)s %% of the readings there")
        % {
            "node": row["node"], "gpu": row["gpu"], "since": row["since"][:16].replace("T", " "),
            "util": row["util_max_pct"], "coverage": round(row["coverage_pct"]),
        }
        for row in case.evidence[:MOST_LINES]
    ]  # fmt: skip
    if len(case.evidence) > MOST_LINES:
        lines.append(_("and %(n)s more") % {"n": len(case.evidence) - MOST_LINES})
    body = _("Keep them with a reason and a day, or give them back. Nothing is taken by itself.")
    people = {grant.project.lead, *({grant.pitch.pitcher} if grant.pitch else ())}
    tell(event, people, subject % {"what": what}, "\n".join([body, *lines]), page("idle", case.public_id))
