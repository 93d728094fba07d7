"""Events of the trail as a person says them: what was done, without who did it and when."""

from collections.abc import Callable
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.timezone import localtime
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from inventory.models import Event

# verb -> the sentence; a key is a fact of the event, or one of those that `_words` adds.
SENTENCES: dict[str, str | Promise] = {
    "pitch.drafted": _("began a draft"),
    "pitch.edited": _("wrote on a draft"),
    "pitch.reminded": _("reminded the signers of %(about)s"),
    "pitch.escalated": _("told the %(to)s that %(about)s is overdue"),
    "pitch.answer_reminded": _("reminded the pitcher of %(about)s"),
    "change.reminded": _("reminded the signers of %(about)s"),
    "change.escalated": _("told those above that %(about)s is overdue"),
    "pitch.submitted": _("submitted %(about)s: %(gpus)s %(model)s for %(days)s days from %(start_on)s"),
    "pitch.revised": _("changed and submitted %(about)s again: %(gpus)s %(model)s for %(days)s days from %(start_on)s"),
    "pitch.changes": _("asked for changes of %(about)s"),
    "pitch.offered": _("offered %(gpus)s %(model)s for %(days)s days from %(start_on)s to the pitcher of %(about)s"),
    "pitch.offer_declined": _("declined the offer of %(gpus)s %(model)s for %(about)s"),
    "pitch.waitlisted": _("put %(about)s on the waitlist at rank %(rank)s"),
    "pitch.ranked": _("moved %(about)s on the waitlist from rank %(before)s to %(after)s"),
    "pitch.fits": _("told the signers that %(about)s fits now"),
    "pitch.granted": _("granted %(about)s: %(gpus)s of %(asked_gpus)s GPUs"),
    "pitch.declined": _("declined %(about)s"),
    "pitch.withdrawn": _("withdrew %(about)s"),
    "pitch.recused": _("stepped aside from %(about)s"),
    "pitch.held": _("said that nobody is left to sign %(about)s as %(role)s"),
    "change.held": _("said that nobody is left to sign %(about)s as %(role)s"),
    "conflict.declared": _("declared a conflict of interest of %(person_name)s with %(about)s"),
    "conflict.ended": _("ended the conflict of interest of %(person_name)s with %(about)s"),
    "pitch.handed_over": _("handed over %(about)s from %(before)s to %(after)s"),
    "sign_off.given": _("%(verdict)s %(about)s as %(role)s: %(gpus)s GPUs"),
    "sign_off.undone": _("took back a signature under %(about)s"),
    "grant.issued": _("promised %(about)s from %(starts_at)s to %(ends_at)s"),
    "grant.withdrawn": _("withdrew %(about)s: the last signature was taken back"),
    "grant.complete": _("proved that all %(gpus)s %(model)s of %(about)s are there"),
    "grant.ended": _("ended %(about)s early"),
    "grant.emergency": _("promised %(about)s as an emergency, to be ratified by others"),
    "emergency.lapsed": _("ended %(about)s: nobody ratified it in time"),
    "grant.kept": _("let %(about)s go on for a day, since its extension waits"),
    "grant.not_kept": _("could not let the grant go on for: %(about)s"),
    "grant.let_go": _("let %(about)s end, since its extension was not approved"),
    "grant.shrunk": _("made the grant %(about)s smaller, from %(before)s to %(after)s GPUs"),
    "grant.delivered": _("the minimum of %(about)s was delivered"),
    "change.asked": _("asked for the %(about)s"),
    "change.answered": _("answered as the lead to the %(about)s"),
    "change.signed": _("%(verdict)s the %(about)s as %(role)s"),
    "change.approved": _("signed last for the %(about)s"),
    "change.declined": _("declined the %(about)s"),
    "change.withdrawn": _("withdrew the %(about)s"),
    "idle.warned": _("asked about idle GPUs: %(about)s"),
    "idle.asked_again": _("asked a second time about idle GPUs: %(about)s"),
    "idle.on_desk": _("showed idle GPUs to ops: %(about)s"),
    "idle.kept": _("kept idle GPUs until %(until)s: %(about)s"),
    "idle.ended": _("asks no more about idle GPUs: %(about)s"),
    "idle.phase_declared": _("said that a project will be quiet from %(starts_at)s to %(ends_at)s: %(about)s"),
    "idle.phase_ended": _("ended a quiet phase: %(about)s"),
    "account.begun": _("gave the Unix account %(about)s"),
    "account.ended": _("ended the Unix account %(about)s"),
    "access.changed": _("brought the Unix ids that may open the GPUs of %(about)s up to date"),
    "gpu.declared": _("declared the card %(about)s in %(node)s"),
    "result.asked": _("asked what came of %(about)s"),
    "result.answered": _("said what came of %(about)s"),
    "loan.proposed": _("proposed to lend %(about)s until %(ends_at)s"),
    "loan.agreed": _("agreed to lend %(about)s until %(ends_at)s"),
    "loan.signed": _("signed the renewal of a loan, %(about)s until %(ends_at)s, as %(role)s"),
    "loan.declined": _("declined to lend %(about)s"),
    "loan.withdrawn": _("withdrew the loan of %(about)s"),
    "loan.reminded": _("reminded both leads of the loan of %(about)s"),
    "loan.returned": _("returned %(about)s"),
    "exception.proposed": _("proposed an exception above the split, %(about)s until %(ends_at)s"),
    "exception.signed": _("signed the exception above the split, %(about)s until %(ends_at)s"),
    "exception.withdrawn": _("withdrew the exception above the split, %(about)s"),
    "split.proposed": _("proposed the split %(percents)s from %(starts_at)s"),
    "split.signed": _("signed the split %(percents)s from %(starts_at)s as %(role)s"),
    "split.withdrawn": _("took back the proposed split of %(about)s"),
    "target.lifted": _("lifted the generation from %(before)s to %(after)s after a restore"),
    "plan.proposed": _("proposed a plan for %(gpus)s GPUs: %(about)s"),
    "plan.committed": _("committed a plan for %(gpus)s GPUs: %(about)s"),
    "move.done": _("%(gpu)s is proved with %(after)s"),
    "move.failed": _("%(gpu)s to %(to)s failed: %(code)s"),
    "project.created": _("created the project %(about)s, led by %(lead)s"),
    "project.led": _("made %(after)s the lead of %(about)s"),
    "project.winding_down": _("winds down %(about)s until %(releases_at)s"),
    "project.resumed": _("goes on with %(about)s"),
    "project.ended": _("ended the project %(about)s"),
    "project.terms": _("set the terms of %(about)s from %(starts_at)s"),
    "member.joined": _("added %(person)s to %(about)s"),
    "member.left": _("took %(person)s out of %(about)s"),
    "person.left": _("let %(about)s go"),
    "person.password_set": _("set a password for %(about)s"),
    "role.given": _("gave the role %(about)s to %(person)s"),
    "role.ended": _("ended the role %(about)s of %(person)s"),
    "deputy.set": _("made %(deputy)s the deputy of %(principal)s as %(role)s"),
    "deputy.ended": _("ended the deputyship of %(deputy)s for %(principal)s"),
    "cordon.set": _("cordoned %(about)s"),
    "cordon.lifted": _("lifted the cordon of %(about)s"),
    "node.added": _("declared the node %(about)s: %(expected_gpus)s %(model)s"),
    "node.changed": _("changed the node %(about)s"),
    "node.code_made": _("made a join code for %(about)s"),
    "node.code_revoked": _("revoked the join code of %(about)s"),
    "node.joined": _("%(about)s joined"),
    "node.token_renewed": _("renewed the token of %(about)s"),
    "node.revoked": _("revoked %(about)s: its agent is asked no longer"),
    "node.mode": _("wants %(about)s in mode %(after)s, was %(before)s"),
    "node.silent": _("%(about)s fell silent: %(fault)s"),
    "node.answers": _("%(about)s answers again"),
    "arrival.announced": _("announced %(gpus)s %(model)s for %(arrives_on)s"),
    "arrival.moved": _("moved the arrival of %(gpus)s %(model)s from %(before)s to %(arrives_on)s"),
    "trouble.told": _("told those it concerns: %(what)s, %(place)s"),
    "arrival.cancelled": _("cancelled the arrival of %(gpus)s %(model)s, due %(arrives_on)s"),
    "arrival.arrived": _("received %(gpus)s %(model)s, due %(arrives_on)s"),
    "finding.opened": _("found %(code)s on %(about)s of %(node)s: %(evidence)s"),
    "finding.ended": _("found no more %(code)s on %(about)s of %(node)s"),
    "gpu.intruded": _("%(user)s uses a GPU of %(holder)s without a right (%(mode)s)"),
    "gpu.appeared": _("%(model)s appeared in %(node)s, slot %(slot)s"),
    "gpu.lost": _("a GPU of %(node)s is lost, slot %(slot)s"),
}
VERDICTS = {
    "approve": _("approved"),
    "decline": _("declined"),
    "changes": _("asked for changes of"),
    "waitlist": _("put on the waitlist"),
}


def sentence(event: Event) -> str:
    """What the event did, as the row says it; a verb without a sentence of its own reads as its words."""
    words = _words(event)
    try:
        return str(SENTENCES[event.verb]) % words
    except KeyError:  # an event of another version may lack a fact
        return f"{event.verb.replace('.', ' ').replace('_', ' ')}: {event.subject_label}"


def _words(event: Event) -> dict[str, Any]:
    words = {name: _spoken(name, value) for name, value in event.facts.items()}
    percents = event.facts.get("percents") or event.facts.get("after")
    return {**words, "about": event.subject_label, "percents": _percents(percents)}


def _spoken(name: str, value: object) -> object:
    speak: dict[str, Callable[[str], object]] = {
        "_at": lambda text: date_format(localtime(parse_datetime(text)), "j M Y"),
        "_on": lambda text: date_format(parse_date(text), "j M Y"),
    }
    if name == "verdict":
        return VERDICTS.get(str(value), value)
    if name in ("after", "before", "to") and value == "":
        return __("nobody")
    if isinstance(value, str) and name[-3:] in speak:
        return speak[name[-3:]](value)
    return value


def _percents(shares: object) -> str:
    """The default line of a split: "55/40"."""
    default = shares.get("", {}) if isinstance(shares, dict) else {}
    return "/".join(str(percent).removesuffix(".00") for _slug, percent in sorted(default.items(), reverse=True))
