"""The lead's answer to a smaller grant or an end: shown to those who sign, it decides nothing."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import rules
from allocations.changes.common import lock_asked, signers_of, tell_of, words_of
from allocations.errors import BadTerms, WrongState
from allocations.locks import one_at_a_time
from allocations.models import GrantChange, Person
from inventory import trail


@one_at_a_time
def answer_change(*, change: GrantChange, by: Person, answer: str, reason: str = "") -> GrantChange:
    """The project's lead agrees or, with a reason, objects; may be said anew until it is decided. The signers are told.

    Raises NotAllowed, BadTerms, WrongState, Stale.
    """
    rules.require(by, "answer_change", change)
    if answer not in GrantChange.LeadAnswer:
        raise BadTerms(_("Agree or object."), field="answer")
    if answer == GrantChange.LeadAnswer.OBJECTS and not reason.strip():
        raise BadTerms(_("Say why: those who sign read it."), field="reason")
    if change.kind not in GrantChange.LEAD_IS_HEARD:
        raise WrongState(_("The lead answers a smaller grant or an end."))
    lock_asked(change)
    if (change.lead_answer, change.lead_reason) == (answer, reason.strip()):
        return change
    change.lead_answer, change.lead_reason, change.lead_answered_at = answer, reason.strip(), timezone.now()
    change.save(update_fields=["lead_answer", "lead_reason", "lead_answered_at"])
    event = trail.record("change.answered", change, by=by, reason=reason, answer=answer, grant=change.grant.public_id)
    subject = _("The lead %(answer)s: %(what)s") % {
        "answer": change.get_lead_answer_display(), "what": words_of(change),
    }  # fmt: skip
    tell_of(event, change, signers_of(change) - {by}, subject, reason.strip() or "-")
    return change
