"""Did it pay off: asked once on the day that the pitch named, answered by its people, shown to the next approvers."""

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import rules
from allocations.days import day_of
from allocations.errors import BadTerms, WrongState
from allocations.grants import site_zone
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Grant, Person, ResultCheck
from allocations.notify import page, tell
from inventory import trail

ACTOR = "results"


def tend() -> None:
    """Of every grant whose day of the check has come the pitcher and the lead have been asked once."""
    now = timezone.now()
    due = Grant.objects.filter(pitch__check_on__lte=day_of(now, site_zone()), starts_at__lte=now, result_check=None)
    for pk in due.exclude(pitch__expected_result="").order_by("pk").values_list("pk", flat=True):
        _ask(pk)


@one_at_a_time
def _ask(pk: int) -> None:
    grant = Grant.objects.get(pk=pk)
    lock_row(grant)  # two clocks at once ask once
    if ResultCheck.objects.filter(grant=grant).exists() or grant.pitch is None:
        return
    ResultCheck.objects.create(grant=grant, asked_at=timezone.now())
    event = trail.record("result.asked", grant, by=ACTOR, check_on=grant.pitch.check_on)
    subject = _("What came of it: %(title)s") % {"title": grant.pitch.title}
    body = _("You expected: %(result)s\nSay on the grant's page whether it is met; the next approvers read it.")
    people = {grant.pitch.pitcher, grant.project.lead}
    tell(event, people, subject, body % {"result": grant.pitch.expected_result}, page("grants", grant.public_id))


@one_at_a_time
def answer_result(*, check: ResultCheck, by: Person, outcome: str, said: str) -> ResultCheck:
    """The pitcher or the lead has said what came of the grant; said once. Raises NotAllowed, BadTerms, WrongState."""
    rules.require(by, "answer_result", check.grant)
    if outcome not in ResultCheck.Outcome:
        raise BadTerms(_("Say whether it is met, partly met or not met."), field="outcome")
    if not said.strip():
        raise BadTerms(_("Say it in a sentence: the next approvers read it."), field="said")
    lock_row(check)
    if check.outcome:
        if (check.outcome, check.said, check.answered_by) == (outcome, said.strip(), by):
            return check
        raise WrongState(_("It has been answered already."), outcome=check.outcome)
    check.outcome, check.said, check.answered_by, check.answered_at = outcome, said.strip(), by, timezone.now()
    check.save(update_fields=["outcome", "said", "answered_by", "answered_at"])
    trail.record("result.answered", check.grant, by=by, reason=said, outcome=outcome)
    return check
