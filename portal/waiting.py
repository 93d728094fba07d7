"""What waits for a person on the home page: each thing with its deadline and the one button that answers it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from allocations import queries, rules
from allocations.models import GrantChange, Loan, Person, Pitch, Project, ResultCheck, Role, Split

WAITING_ROWS = 8  # what a person can take in at once; the queue has the rest


@dataclass(frozen=True)
class Waiting:
    """One thing that waits for the person: since when, or until when, and the one button that answers it."""

    text: str
    note: str
    address: str
    button: str
    since: datetime | None = None
    due: datetime | None = None


def waiting_for(person: Person, projects: list[Project]) -> list[Waiting]:
    """What the person can answer: deadlines first, then the longest wait. `projects`: those of the person."""
    leads = any(project.lead_id == person.pk for project in projects)
    signs = any(mandate.role.power == Role.Power.DECIDE for mandate in queries.mandates_of(person))
    rows = [
        *_to_sign(person),
        *_splits(person),
        *_own_pitches(person),
        *(_changes(person) if leads or signs else []),
        *_exceptions(person),
        *(_loans(person) if leads else []),
        *(_renewals(person) if signs else []),
        *_results(person),
        *(_idle(person) if projects else []),
        *(_release(project) for project in projects if _must_release(project, person)),
        *_needs(person),
    ]
    return sorted(rows, key=lambda row: (row.due is None, row.due or row.since))


def _to_sign(person: Person) -> list[Waiting]:
    return [
        Waiting(
            text=pitch.title,
            note=_("%(gpus)s %(model)s for %(project)s")
            % {"gpus": pitch.terms.gpus, "model": pitch.terms.model, "project": pitch.project},
            address=reverse("queue_item", args=[pitch.public_id]),
            button=_("Decide"),
            since=pitch.submitted_at,
        )
        for pitch in queries.queue_of(person)[:WAITING_ROWS]
    ]


def _splits(person: Person) -> list[Waiting]:
    return [
        Waiting(
            text=_("A new split of the fleet"),
            note=_("%(shares)s, proposed by %(name)s") % {"shares": _shares(split), "name": split.proposed_by.name},
            address=reverse("split"),
            button=_("Look and sign"),
            since=split.proposed_at,
            due=split.starts_at,
        )
        for split in queries.splits_waiting_for(person)
    ]


def _shares(split: Split) -> str:
    """What the divisions have of every model that is not named: what tells two proposals apart."""
    lines = [line for line in split.lines.all() if line.model_id is None]
    return " · ".join(f"{line.division.name} {line.percent.normalize():f}%" for line in lines)


def _own_pitches(person: Person) -> list[Waiting]:
    """Drafts to finish, changes that were asked for, and counter-offers to answer."""
    theirs = [Pitch.State.OFFERED, Pitch.State.CHANGES, Pitch.State.DRAFT]
    rows = Pitch.objects.filter(pitcher=person, state__in=theirs).select_related("project").order_by("-state", "pk")
    return [_own_pitch(pitch) for pitch in rows[:WAITING_ROWS]]


def _own_pitch(pitch: Pitch) -> Waiting:
    note, page, button, since = {
        Pitch.State.DRAFT: (_("draft for %(project)s"), "pitch_edit", _("Finish"), pitch.created_at),
        Pitch.State.CHANGES: (_("changes were asked for"), "pitch_edit", _("Change it"), pitch.submitted_at),
        Pitch.State.OFFERED: (_("other terms are offered"), "pitch", _("Answer"), pitch.offered_at),
    }[Pitch.State(pitch.state)]
    due = pitch.answer_due_at if pitch.state != Pitch.State.DRAFT else None
    address = reverse(page, args=[pitch.public_id])
    return Waiting(pitch.title, note % {"project": pitch.project}, address, button, since, due)


def _idle(person: Person) -> list[Waiting]:
    return [
        Waiting(
            text=ngettext("%(n)s idle GPU", "%(n)s idle GPUs", case.gpus) % {"n": case.gpus},
            note=_("%(model)s of %(project)s, no work shown")
            % {"model": case.grant.model, "project": case.grant.project},
            address=reverse("idle_case", args=[case.public_id]),
            button=_("Keep or give back"),
            since=case.idle_since,
        )
        for case in queries.cases_to_answer(person)[:WAITING_ROWS]
    ]


def _must_release(project: Project, person: Person) -> bool:
    return project.lead_id == person.pk and project.state == Project.State.WINDING_DOWN


def _release(project: Project) -> Waiting:
    return Waiting(
        text=_("%(project)s winds down") % {"project": project},
        note=_("its GPUs are promised back"),
        address=reverse("project", args=[project.slug]),
        button=_("Look"),
        due=project.releases_at,
    )


def _needs(person: Person) -> list[Waiting]:
    if not rules.can(person, "propose_plan"):
        return []
    needs: list[Any] = list(queries.needs())
    if not needs:
        return []
    missing = sum(need.missing_gpus for need in needs)
    return [
        Waiting(
            text=ngettext("%(n)s grant lacks GPUs", "%(n)s grants lack GPUs", len(needs)) % {"n": len(needs)},
            note=ngettext("%(n)s GPU to assign", "%(n)s GPUs to assign", missing) % {"n": missing},
            address=reverse("reshuffle"),
            button=_("Plan"),
            since=min(need.starts_at for need in needs),
        )
    ]


def _changes(person: Person) -> list[Waiting]:
    """Changes of grants to sign, and those on which the lead has not been heard."""
    rows = queries.changes_to_answer(person)[:WAITING_ROWS]
    return [_change(change, _("Answer") if _is_heard(change, person) else _("Sign")) for change in rows]


def _is_heard(change: GrantChange, person: Person) -> bool:
    return (
        change.kind in GrantChange.LEAD_IS_HEARD
        and change.grant.project.lead_id == person.pk
        and not change.lead_answer
    )


def _change(change: GrantChange, button: str) -> Waiting:
    grant = change.grant
    words = {"gpus": grant.gpus, "model": grant.model, "project": grant.project}
    return Waiting(
        text=capfirst(change.get_kind_display()),
        note=_("%(gpus)s %(model)s for %(project)s") % words,
        address=reverse("grant", args=[grant.public_id]),
        button=button,
        since=change.asked_at,
        due=change.due_at,
    )


def _exceptions(person: Person) -> list[Waiting]:
    return [
        Waiting(
            text=_("%(gpus)s %(model)s above the split") % {"gpus": row.gpus, "model": row.model},
            note=_("for %(division)s") % {"division": row.division},
            address=reverse("split"),
            button=_("Look and sign"),
            since=row.proposed_at,
            due=row.starts_at,
        )
        for row in queries.exceptions_waiting_for(person)
    ]


def _loans(person: Person) -> list[Waiting]:
    asked = [row for row in queries.open_loans() if row.state == Loan.State.PROPOSED]
    return [
        Waiting(
            text=_("Lend %(gpus)s %(model)s") % {"gpus": row.gpus, "model": row.model},
            note=_("to %(project)s") % {"project": row.borrower},
            address=reverse("loan", args=[row.public_id]),
            button=_("Answer"),
            since=row.proposed_at,
            due=row.starts_at,
        )
        for row in asked
        if row.lender.lead_id == person.pk and row.answered_by_id is None
    ]


def _renewals(person: Person) -> list[Waiting]:
    """Loans that go on, which those who sign the split sign beside the lender's lead."""
    return [
        Waiting(
            text=_("Lend %(gpus)s %(model)s on") % {"gpus": row.gpus, "model": row.model},
            note=_("from %(lender)s to %(borrower)s") % {"lender": row.lender, "borrower": row.borrower},
            address=reverse("loan", args=[row.public_id]),
            button=_("Look and sign"),
            since=row.proposed_at,
            due=row.starts_at,
        )
        for row in queries.loans_waiting_for(person)
    ]


def _results(person: Person) -> list[Waiting]:
    """Grants of which nobody has said whether they paid off."""
    own = Q(grant__project__lead=person) | Q(grant__pitch__pitcher=person)
    rows = ResultCheck.objects.filter(own, outcome="").select_related("grant__project", "grant__model")
    return [
        Waiting(
            text=_("Did it come out as expected?"),
            note=_("%(gpus)s %(model)s for %(project)s")
            % {"gpus": row.grant.gpus, "model": row.grant.model, "project": row.grant.project},
            address=reverse("grant", args=[row.grant.public_id]),
            button=_("Say"),
            since=row.asked_at,
        )
        for row in rows.order_by("pk")[:WAITING_ROWS]
    ]
