"""Who may do what to which row: predicates over roles and object permissions.

Being a superuser gives nothing but the administration. A pitch is one's own when one pitched it: the lead and the other
members of its project may sign, since a decider often works in the projects of the division.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from allocations import queries
from allocations.errors import NotAllowed
from allocations.models import Deputy, Division, GrantChange, Person, Pitch, Project, Role

Power = Role.Power
roles_of = queries.roles_of


@dataclass(frozen=True)
class Rule:
    """`allows` says whether the person may do it to the row, `who` names the roles and people that may."""

    allows: Callable[[Person, Any], bool]
    who: Callable[[Any], list[str]]


def holds(person: Person, slug: str) -> bool:
    """Whether the person holds the role of that slug now."""
    return any(role.slug == slug for role in roles_of(person))


def can(person: Person, action: str, row: Any = None) -> bool:
    """Whether the person may do that, to `row` where the action is about one; an unknown action is a KeyError."""
    return person.is_active and RULES[action].allows(person, row)


def require(person: Person, action: str, row: Any = None) -> None:
    """The person may do that; else raises NotAllowed, which names who may."""
    if can(person, action, row):
        return
    who = RULES[action].who(row)
    if action == "sign_pitch" and (barred := _why_barred(person, row)):
        message = barred
    elif who:
        message = _("You may not do that. Those who may: %(who)s.")
    else:
        message = _("You may not do that, and there is nobody who may: ask an admin to give somebody the role.")
    raise NotAllowed(message % {"who": ", ".join(who)}, action=action, who=who)


def _has_power(person: Person, *powers: Power) -> bool:
    return any(role.power in powers for role in roles_of(person))


def _decides_for(person: Person, division: Division) -> bool:
    return any(role.power == Power.DECIDE and role.division_id in (None, division.pk) for role in roles_of(person))


def _may(person: Person, permission: str, project: Project) -> bool:
    return permission in queries.permissions_on(project, person)


def _holds_one_of(person: Person, roles: list[Role]) -> bool:
    return bool(set(roles) & set(roles_of(person)))


def _signs(person: Person, pitch: Pitch) -> bool:
    return bool(queries.mandates_for(pitch, person))


def _signs_split(person: Person, roles: list[Role]) -> bool:
    return any(mandate.role in roles for mandate in queries.mandates_of(person))


def _why_barred(person: Person, pitch: Pitch) -> str:
    """Why somebody whose role, or whose principal's role, is named may not sign all the same; "" for any other."""
    if pitch.pitcher_id == person.pk:
        return _("Nobody signs a pitch of their own. Those who sign this one: %(who)s.")
    if person.pk in {recusal.person_id for recusal in pitch.recusals.all()}:
        return _("You have stepped aside from this pitch. Those who sign it: %(who)s.")
    if any(row.person_id == person.pk for row in queries.conflicts_about(pitch)):
        return _("You have declared a conflict of interest with its project. Those who sign it: %(who)s.")
    needed = set(queries.needed_by(pitch))
    if any(each.holder.pk == pitch.pitcher_id and each.role in needed for each in queries.mandates_of(person)):
        return _("Nobody signs for those whose own pitch it is. Those who sign this one: %(who)s.")
    return ""


def _has_interest(person: Person, pitch: Pitch) -> bool:
    """Whether the person may not sign it in any way, or works in its project."""
    if person.pk == pitch.project.lead_id or person.pk in queries.barred_from_pitch(pitch):
        return True
    return _may(person, "view_project", pitch.project)


def _sets_terms(person: Person, project: Project) -> bool:
    return _decides_for(person, project.division) and person.pk not in queries.in_conflict_with(project.pk)


def _sets_deputy(person: Person, row: Deputy) -> bool:
    return person.pk == row.principal_id or row.role in roles_of(person) or can(person, "administer")


def _with_power(*powers: Power) -> list[str]:
    return [role.name for role in Role.objects.filter(power__in=powers)]


def _deciders(division: Division) -> list[str]:
    roles = Role.objects.filter(power=Power.DECIDE)
    return [role.name for role in roles if role.division_id in (None, division.pk)]


def _lead(project: Project) -> list[str]:
    return [_("%(person)s (lead of %(project)s)") % {"person": project.lead.name, "project": project.name}]


def _members(project: Project) -> list[str]:
    return [_("the members of %(project)s") % {"project": project.name}]


def _named(roles: list[Role]) -> list[str]:
    return [role.name for role in roles]


def _by_power(*powers: Power) -> Rule:
    return Rule(lambda person, _row: _has_power(person, *powers), lambda _row: _with_power(*powers))


def _by_lead_or(*powers: Power) -> Rule:
    return Rule(
        lambda person, project: _may(person, "lead_project", project) or _has_power(person, *powers),
        lambda project: [*_lead(project), *_with_power(*powers)],
    )


RULES: dict[str, Rule] = {
    "see_pitch": Rule(
        lambda person, pitch: queries.pitches_visible_to(person).filter(pk=pitch.pk).exists(),
        lambda pitch: [*_deciders(pitch.project.division), *_with_power(Power.OPERATE, Power.AUDIT)],
    ),
    # Ops too: they write down what was agreed by word of mouth; it is signed as any other pitch.
    "pitch_for": Rule(
        lambda person, project: _may(person, "pitch_for_project", project) or _has_power(person, Power.OPERATE),
        lambda project: [*_members(project), *_with_power(Power.OPERATE)],
    ),
    "back_date": _by_power(Power.OPERATE),
    "edit_pitch": Rule(lambda person, pitch: pitch.pitcher_id == person.pk, lambda pitch: [pitch.pitcher.name]),
    "hand_over_pitch": Rule(
        lambda person, pitch: (
            pitch.pitcher_id == person.pk or _may(person, "lead_project", pitch.project) or can(person, "administer")
        ),
        lambda pitch: [pitch.pitcher.name, *_lead(pitch.project), *_with_power(Power.ADMINISTER)],
    ),
    "withdraw_pitch": Rule(
        lambda person, pitch: pitch.pitcher_id == person.pk or _may(person, "lead_project", pitch.project),
        lambda pitch: [pitch.pitcher.name, *_lead(pitch.project)],
    ),
    "answer_offer": Rule(
        lambda person, pitch: pitch.pitcher_id == person.pk or _may(person, "lead_project", pitch.project),
        lambda pitch: [pitch.pitcher.name, *_lead(pitch.project)],
    ),
    "sign_pitch": Rule(_signs, lambda pitch: _named(list(pitch.roles.all()))),
    "propose_split": Rule(
        lambda person, _row: _holds_one_of(person, queries.roles_for_split()),
        lambda _row: _named(queries.roles_for_split()),
    ),
    "sign_split": Rule(
        lambda person, split: _signs_split(person, list(split.roles.all())),
        lambda split: _named(list(split.roles.all())),
    ),
    "withdraw_split": Rule(
        lambda person, split: split.proposed_by_id == person.pk or _holds_one_of(person, list(split.roles.all())),
        lambda split: [split.proposed_by.name, *_named(list(split.roles.all()))],
    ),
    # The lead gives up what is its own. Deciders ask for the end, which others sign and the lead hears of.
    "end_grant": Rule(
        lambda person, grant: _may(person, "lead_project", grant.project), lambda grant: _lead(grant.project)
    ),
    "ask_extension": Rule(
        lambda person, grant: (
            _may(person, "pitch_for_project", grant.project) or _may(person, "lead_project", grant.project)
        ),
        lambda grant: _members(grant.project),
    ),
    "ask_change": Rule(
        lambda person, grant: _decides_for(person, grant.project.division),
        lambda grant: _deciders(grant.project.division),
    ),
    "sign_change": Rule(
        lambda person, change: _signs_split(person, list(change.roles.all())),
        lambda change: _named(list(change.roles.all())),
    ),
    "answer_change": Rule(
        lambda person, change: _may(person, "lead_project", change.grant.project),
        lambda change: _lead(change.grant.project),
    ),
    "withdraw_change": Rule(
        lambda person, change: (
            change.asked_by_id == person.pk
            or (change.kind == GrantChange.Kind.EXTEND and _may(person, "lead_project", change.grant.project))
        ),
        lambda change: [change.asked_by.name],
    ),
    "grant_emergency": Rule(
        lambda person, pitch: _decides_for(person, pitch.project.division) and not _has_interest(person, pitch),
        lambda pitch: _deciders(pitch.project.division),
    ),
    "propose_exception": Rule(
        lambda person, division: _decides_for(person, division),
        lambda division: _deciders(division),
    ),
    "sign_exception": Rule(
        lambda person, exception: _signs_split(person, list(exception.roles.all())),
        lambda exception: _named(list(exception.roles.all())),
    ),
    "withdraw_exception": Rule(
        lambda person, exception: (
            exception.proposed_by_id == person.pk or _holds_one_of(person, list(exception.roles.all()))
        ),
        lambda exception: [exception.proposed_by.name, *_named(list(exception.roles.all()))],
    ),
    "propose_loan": Rule(
        lambda person, pair: (
            any(_may(person, "lead_project", project) or _decides_for(person, project.division) for project in pair)
            or _has_power(person, Power.OPERATE)
        ),
        lambda pair: [*(name for project in pair for name in _lead(project)), *_with_power(Power.OPERATE)],
    ),
    "propose_loans": Rule(
        lambda person, _row: (
            queries.projects_with(person, "lead_project").exists() or _has_power(person, Power.OPERATE, Power.DECIDE)
        ),
        lambda _row: _with_power(Power.OPERATE, Power.DECIDE),
    ),
    # The lead alone: no role and no deputy gives away what is a project's.
    "answer_loan": Rule(
        lambda person, loan: loan.lender.lead_id == person.pk,
        lambda loan: _lead(loan.lender),
    ),
    "sign_loan": Rule(
        lambda person, loan: _signs_split(person, list(loan.roles.all())),
        lambda loan: _named(list(loan.roles.all())),
    ),
    "withdraw_loan": Rule(
        lambda person, loan: (
            person.pk in (loan.proposed_by_id, loan.borrower.lead_id) or _holds_one_of(person, list(loan.roles.all()))
        ),
        lambda loan: [loan.proposed_by.name, *_lead(loan.borrower), *_named(list(loan.roles.all()))],
    ),
    "return_loan": Rule(
        lambda person, loan: loan.borrower.lead_id == person.pk or _has_power(person, Power.OPERATE),
        lambda loan: [*_lead(loan.borrower), *_with_power(Power.OPERATE)],
    ),
    "answer_result": Rule(
        lambda person, grant: (
            grant.project.lead_id == person.pk or (grant.pitch is not None and grant.pitch.pitcher_id == person.pk)
        ),
        lambda grant: [*([grant.pitch.pitcher.name] if grant.pitch else []), *_lead(grant.project)],
    ),
    "keep_idle": Rule(
        lambda person, grant: (
            _may(person, "pitch_for_project", grant.project) or _may(person, "lead_project", grant.project)
        ),
        lambda grant: _members(grant.project),
    ),
    "declare_idle_phase": _by_lead_or(Power.OPERATE),
    "create_project": _by_power(Power.OPERATE, Power.ADMINISTER),
    "edit_members": _by_lead_or(Power.ADMINISTER),
    "set_lead": _by_lead_or(Power.ADMINISTER),
    "wind_down": _by_lead_or(Power.OPERATE),
    "end_project": _by_lead_or(Power.OPERATE),
    "set_terms": Rule(_sets_terms, lambda project: _deciders(project.division)),
    "declare_conflict": Rule(
        lambda person, whose: person.pk == whose.pk or can(person, "administer"),
        lambda whose: [whose.name, *_with_power(Power.ADMINISTER)],
    ),
    "see_deputies": Rule(
        lambda person, _row: person.is_superuser or _has_power(person, Power.DECIDE, Power.ADMINISTER),
        lambda _row: _with_power(Power.DECIDE, Power.ADMINISTER),
    ),
    "set_deputy": Rule(_sets_deputy, lambda row: [row.principal.name, row.role.name, *_with_power(Power.ADMINISTER)]),
    # A deputy works there as the principal could.
    "use_desk": Rule(
        lambda person, _row: any(each.role.power == Power.DECIDE for each in queries.mandates_of(person)),
        lambda _row: _with_power(Power.DECIDE),
    ),
    "propose_plan": _by_power(Power.OPERATE),
    "commit_plan": _by_power(Power.OPERATE),
    "cordon_node": _by_power(Power.OPERATE),
    "plan_arrivals": _by_power(Power.OPERATE),
    "enrol_node": _by_power(Power.OPERATE),
    "set_mode": _by_power(Power.OPERATE),
    "see_trail": _by_power(Power.DECIDE, Power.OPERATE, Power.AUDIT, Power.ADMINISTER),
    "see_fleet": Rule(lambda _person, _row: True, lambda _row: []),
    # The first admin of a lab is a superuser: somebody must be able to give the first role.
    "administer": Rule(
        lambda person, _row: person.is_superuser or _has_power(person, Power.ADMINISTER),
        lambda _row: _with_power(Power.ADMINISTER),
    ),
}
