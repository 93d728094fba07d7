"""How the pages of operation write things: what a GPU does, memory, why a plan is as it is."""

from django import template
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from allocations.models import Move
from allocations.queries.fleet import Doing
from allocations.queries.lanes import Group
from inventory.advice import Advice, advice_for
from inventory.models import Finding, Gpu, Reading
from portal.templatetags.marks import pill
from portal.why import SOURCES

register = template.Library()

MIB_A_GIB = 1024
SECONDS_A_MINUTE = 60
NOTHING = "\N{EN DASH}"
WAITS: dict[str, str | Promise] = {
    Move.State.PROPOSED: gettext_lazy("notice to whoever has it"),
    Move.State.NOTICED: gettext_lazy("consent"),
    Move.State.AGREED: gettext_lazy("the order to the node"),
    Move.State.DRAINING: gettext_lazy("the node to switch it"),
    Move.State.SWITCHING: gettext_lazy("a reading that shows the new holder"),
    Move.State.DONE: gettext_lazy("nothing: proved by a reading"),
    Move.State.FAILED: gettext_lazy("a repair: it was given up"),
    Move.State.SUPERSEDED: gettext_lazy("nothing: a later plan replaced it"),
}


@register.simple_tag
def doing_pill(doing: str) -> SafeString:
    """What a GPU does, as a pill."""
    return pill(doing, Doing(doing).label)


@register.filter
def reading_of(gpu: Gpu) -> Reading | None:
    """The newest reading, None where the GPU was never read."""
    return getattr(gpu, "reading", None)


@register.filter
def measured(value: float | str | None, unit: str) -> str:
    """A measured number in whole units; a dash for unknown."""
    return NOTHING if value is None or value == "" else f"{float(value):.0f} {unit}"


@register.filter
def gib(mib: int | str | None) -> str:
    """MiB as GiB with one digit; a dash for unknown."""
    return NOTHING if mib is None or mib == "" else f"{int(mib) / MIB_A_GIB:.1f} GiB"


@register.filter
def minutes(seconds: float) -> str:
    """Seconds in whole minutes."""
    return f"{seconds / SECONDS_A_MINUTE:.0f} min"


@register.filter
def advice(finding: Finding) -> Advice:
    """What a finding means, and what to do about it."""
    return advice_for(finding.code)


@register.filter
def fact_name(name: str) -> str:
    """The name of a fact as a person reads it."""
    return name.replace("_", " ")


@register.simple_tag
def fact(value: object) -> str | SafeString:
    """A fact of an event: plain text, lists with commas, nested ones as pairs; a dash for nothing."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, dict):
        pairs = ((key or _("nobody"), fact(inner)) for key, inner in value.items())
        return format_html_join("", '<span class="pair">{} <strong>{}</strong></span> ', pairs)
    if isinstance(value, list):
        return ", ".join(str(fact(inner)) for inner in value) if value else NOTHING
    return str(value)


@register.filter
def source_word(code: str) -> str:
    """Why a GPU is in a plan, in a word or two."""
    return str(SOURCES.get(code, code.replace("_", " ")))


@register.simple_tag
def waits_for(group: Group) -> str:
    """What the moves of a lane wait for."""
    if group.fault and group.state != Move.State.FAILED:
        return _("the node to answer (%(code)s); tried again by itself") % {"code": group.fault}
    if group.state == Move.State.DRAINING and group.running:
        count = {"n": group.running}
        return ngettext("%(n)d process to end", "%(n)d processes to end", group.running) % count
    return str(WAITS.get(group.state, ""))


@register.filter
def slot(pci_bus_id: str) -> str:
    """Where a card sits, without the PCI domain where that is 0, as it is nearly everywhere."""
    domain, _colon, rest = pci_bus_id.partition(":")
    return rest if domain and not domain.strip("0") and rest else pci_bus_id
