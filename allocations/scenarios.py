"""Scenarios: marks on the desk that a preparer saves under a name and a decider opens. They decide nothing."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from allocations import rules
from allocations.errors import BadTerms, NotAllowed
from allocations.locks import lock_row, one_at_a_time
from allocations.models import Person, Scenario
from inventory import trail

MOST_MARKS = 1_000  # rows of one desk many times over; more is no scenario
LONGEST_NAME = 120
LONGEST_NOTE = 4_000


@one_at_a_time
def save_scenario(*, by: Person, name: str, note: str = "", place: str, marks: dict[str, Any]) -> Scenario:
    """The marks are kept under that name for everybody who uses the desk; one of the same name and saver is replaced.

    `place` is the desk's filter, as its address; `marks` come back as they were given. Raises NotAllowed, BadTerms.
    """
    rules.require(by, "use_desk")
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise BadTerms(_("Give it a name of at most %(n)s letters.") % {"n": LONGEST_NAME}, field="name")
    if "\0" in name + note or len(note) > LONGEST_NOTE:
        raise BadTerms(
            _("A note has at most %(n)s letters, all of them printable.") % {"n": LONGEST_NOTE}, field="note"
        )
    if sum(len(each) for each in marks.values()) > MOST_MARKS:
        raise BadTerms(_("That is more than a desk holds."), field="marks")
    Person.objects.select_for_update(no_key=True).get(pk=by.pk)  # two saves of one name: the later one stands
    now = timezone.now()
    Scenario.objects.filter(by=by, name=name, dropped_at=None).update(dropped_at=now)
    scenario = Scenario.objects.create(by=by, name=name, note=note.strip(), place=place, marks=marks, saved_at=now)
    trail.record("scenario.saved", scenario, by=by, taken=len(marks.get("taken", ())), place=place)
    return scenario


@one_at_a_time
def drop_scenario(*, scenario: Scenario, by: Person) -> Scenario:
    """Nobody sees it any more; its saver drops it, a repeat changes nothing. Raises NotAllowed."""
    if scenario.by_id != by.pk:
        raise NotAllowed(_("%(person)s saved this and drops it.") % {"person": scenario.by.name})
    lock_row(scenario)
    if scenario.dropped_at is None:
        scenario.dropped_at = timezone.now()
        scenario.save(update_fields=["dropped_at"])
        trail.record("scenario.dropped", scenario, by=by)
    return scenario
