"""Emergency grants: one decider grants at once, others ratify it, else it ends by itself at its deadline."""

from datetime import datetime, timedelta

from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import grants, queries, rules, turns
from allocations.errors import BadTerms, NotAllowed, WrongState
from allocations.locks import lock_quotas, lock_row, lock_shares, one_at_a_time
from allocations.models import Grant, GrantChange, Person, Pitch, Policy, Role
from allocations.notify import page, tell
from inventory import trail

ACTOR = "emergencies"
RATIFIED_WITHIN = timedelta(hours=72)  # where no policy for emergencies names working days


@one_at_a_time
def grant_emergency(*, pitch: Pitch, by: Person, reason: str) -> Grant:
    """What lies on the table is promised at once by one decider: beside the split, never above what is healthy.

    It waits for ratification by the pitch's other roles, at least by one other person, and ends by itself at
    `ratify_by` without it. A second one for the project is granted and ratified by those who sign the split.
    Raises NotAllowed, BadTerms without a reason, WrongState, NobodyToSign, OverCapacity.
    """
    rules.require(by, "grant_emergency", pitch)
    if not reason.strip():
        raise BadTerms(_("Say what cannot wait: those who ratify read it."), field="reason")
    lock_row(pitch)
    if pitch.state not in Pitch.SIGNABLE:
        raise WrongState(_("This pitch: %(state)s.") % {"state": pitch.get_state_display()}, state=pitch.state)
    lock_row(pitch.project)  # of two first ones at once the later is the second
    roles, ratify_by = _ratification(pitch, by)
    terms, now = pitch.terms, timezone.now()
    lock_shares(terms.model)
    lock_quotas(pitch.project)
    starts_at, ends_at = grants.promised_time(terms.start_on, terms.days, now=now)
    grants.require_room(
        project=pitch.project, model=terms.model, gpus=terms.gpus, starts_at=starts_at, ends_at=ends_at,
        above_share=True,
    )  # fmt: skip
    Pitch.objects.advance(pitch, Pitch.State.GRANTED, decided_at=now, decided_by=by, waitlist_rank=None)
    grant = Grant.objects.create(
        pitch=pitch, project=pitch.project, model=terms.model, gpus=terms.gpus, whole_nodes=pitch.whole_nodes,
        one_island=pitch.one_island, required_labels=pitch.required_labels, counts_from=pitch.counts_from,
        starts_at=starts_at, ends_at=ends_at, issued_by=by, issued_at=now, is_emergency=True, ratify_by=ratify_by,
    )  # fmt: skip
    change = GrantChange.objects.create(
        grant=grant, kind=GrantChange.Kind.RATIFY, reason=reason.strip(), asked_by=by, asked_at=now, due_at=ratify_by
    )
    change.roles.set(roles)
    event = trail.record(
        "grant.emergency", grant, by=by, reason=reason, gpus=grant.gpus, model=grant.model.name,
        project=pitch.project.slug, pitch=pitch.public_id, starts_at=starts_at, ends_at=ends_at, ratify_by=ratify_by,
        roles=[role.slug for role in roles],
    )  # fmt: skip
    words = {"gpus": grant.gpus, "model": grant.model.name, "project": pitch.project.name, "person": by.name}
    people = {person for holders in queries.holders_of(roles).values() for person in holders}
    tell(
        event,
        (people | {pitch.pitcher, pitch.project.lead}) - {by},
        _("Emergency: %(gpus)s %(model)s for %(project)s") % words,
        _("%(person)s granted it at once: %(reason)s\nIt ends by itself unless it is ratified in time.")
        % {**words, "reason": reason},
        page("grants", grant.public_id),
    )
    return grant


def tend() -> None:
    """Emergency grants whose deadline has come without ratification have ended at it; may run late or twice.

    Those that had a shorter time have ended with it, and nobody needs to ratify them any more.
    """
    due = Grant.objects.filter(
        is_emergency=True,
        ratified_at=None,
        ratify_by__lte=timezone.now(),
        ends_at__gt=Greatest("ratify_by", "starts_at"),
    )
    for pk in due.order_by("pk").values_list("pk", flat=True):
        _lapse(pk)
    over = GrantChange.objects.filter(
        kind=GrantChange.Kind.RATIFY, state=GrantChange.State.ASKED, grant__ends_at__lte=timezone.now()
    )
    for pk in over.order_by("pk").values_list("pk", flat=True):
        _close(pk)


@one_at_a_time
def _close(pk: int) -> None:
    change = GrantChange.objects.select_related("grant").get(pk=pk)
    lock_row(change)
    if change.state == GrantChange.State.ASKED and change.grant.ends_at <= timezone.now():
        GrantChange.objects.advance(change, GrantChange.State.WITHDRAWN)
        trail.record("change.withdrawn", change, by=ACTOR, grant=change.grant.public_id)


@one_at_a_time
def _lapse(pk: int) -> None:
    grant = Grant.objects.get(pk=pk)
    change = grant.changes.filter(kind=GrantChange.Kind.RATIFY).order_by("pk").last()
    if change:
        lock_row(change)  # as whoever ratifies does: the change first, then the grant
    lock_row(grant)
    if grant.ratified_at or grant.ratify_by is None or grant.ends_at <= max(grant.ratify_by, grant.starts_at):
        return
    before, grant.ends_at = grant.ends_at, max(grant.ratify_by, grant.starts_at)
    grant.save(update_fields=["ends_at"])
    if change and change.state == GrantChange.State.ASKED:
        GrantChange.objects.advance(change, GrantChange.State.WITHDRAWN)
    event = trail.record("emergency.lapsed", grant, by=ACTOR, before=before, after=grant.ends_at)
    words = {"gpus": grant.gpus, "model": grant.model.name, "project": grant.project.name}
    people = {grant.issued_by, grant.project.lead, *({grant.pitch.pitcher} if grant.pitch else ())}
    tell(
        event,
        people,
        _("Ended, not ratified: %(gpus)s %(model)s for %(project)s") % words,
        _("Nobody ratified the emergency grant in time. What it holds is free for the next plan."),
        page("grants", grant.public_id),
    )


def _ratification(pitch: Pitch, by: Person) -> tuple[list[Role], datetime]:
    """Who ratifies, each with a person besides who grants and who pitched, and until when."""
    own = {role.pk for role in queries.roles_of(by)}
    terms, division = pitch.terms, pitch.project.division
    rows = queries.signing_rows(Policy.Subject.EMERGENCY, division=division, gpus=terms.gpus, days=terms.days)
    split_roles = queries.roles_for_split()
    if Grant.objects.filter(project=pitch.project, is_emergency=True).exists():
        if not own & {role.pk for role in split_roles}:
            raise NotAllowed(
                _("%(project)s has had an emergency grant. A second one is granted by: %(who)s.")
                % {"project": pitch.project.name, "who": ", ".join(role.name for role in split_roles)},
                who=[role.name for role in split_roles],
            )
        candidates = [split_roles]
    elif rows:
        candidates = [queries.roles_named(rows), list(pitch.roles.all()), split_roles]
    else:
        candidates = [list(pitch.roles.all()), split_roles]
    left = ([role for role in roles if role.pk not in own] for roles in candidates)
    roles = next((roles for roles in left if roles), [])
    barred = Person.objects.filter(pk__in={by.pk, *queries.barred_from_pitch(pitch)})
    turns.require_signers(roles, what=_("an emergency grant"), but=barred)
    now = timezone.now()
    return roles, queries.due_by_policies(rows, now=now, division=division) or now + RATIFIED_WITHIN
