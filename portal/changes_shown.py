"""Changes of a grant as its page shows them: who has signed, who is asked, what this person may do."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch, prefetch_related_objects

from allocations import queries, rules
from allocations.models import ChangeSignOff, Grant, GrantChange, Person, Role
from portal.forms import AnswerChangeForm, SignChangeForm


@dataclass(frozen=True)
class SignatureField:
    """A role's place under a change: its signature, or the mandate with which this person signs there now."""

    role: Role
    signature: ChangeSignOff | None
    mine: queries.Mandate | None


@dataclass(frozen=True)
class ShownChange:
    """A change with its signature fields and what this person may do about it."""

    change: GrantChange
    fields: list[SignatureField]
    may_answer: bool
    may_withdraw: bool
    sign_form: Any
    answer_form: Any

    @property
    def mine(self) -> list[queries.Mandate]:
        """The mandates with which this person may sign it now."""
        return [field.mine for field in self.fields if field.mine]

    @property
    def is_open(self) -> bool:
        """Whether it waits for signatures."""
        return bool(self.change.state == GrantChange.State.ASKED)


def changes_of(grant: Grant, person: Person, typed: dict[str, Any]) -> list[ShownChange]:
    """All changes of the grant, the newest first, in a constant number of queries."""
    given = ChangeSignOff.objects.select_related("role", "person", "deputy_for")
    rows = grant.changes.select_related("asked_by", "decided_by").prefetch_related(
        "roles", Prefetch("sign_offs", given)
    )
    if grant.pitch:
        prefetch_related_objects([grant.pitch], "recusals")  # asked for by each of them
    shown = []
    mandates = queries.mandates_of(person)
    for change in rows:
        change.grant = grant
        shown.append(_shown(change, person, mandates, typed))
    return shown


def _shown(change: GrantChange, person: Person, mandates: list[queries.Mandate], typed: dict[str, Any]) -> ShownChange:
    is_open = change.state == GrantChange.State.ASKED
    signed = {each.role_id: each for each in change.sign_offs.all()}
    barred = queries.barred_from(change) | queries.people_of(signed.values())
    free = [each for each in mandates if is_open and person.pk not in barred and each.holder.pk not in barred]
    mine = {each.role.pk: each for each in reversed(free) if each.role.pk not in signed}
    is_answered = change.kind in GrantChange.LEAD_IS_HEARD
    is_ratification = change.kind == GrantChange.Kind.RATIFY
    return ShownChange(
        change=change,
        fields=[SignatureField(role, signed.get(role.pk), mine.get(role.pk)) for role in change.roles.all()],
        may_answer=is_open and is_answered and rules.can(person, "answer_change", change),
        may_withdraw=is_open and not is_ratification and rules.can(person, "withdraw_change", change),
        sign_form=typed.get(f"sign_form_{change.pk}") or SignChangeForm(),
        answer_form=typed.get(f"answer_form_{change.pk}") or AnswerChangeForm(),
    )
