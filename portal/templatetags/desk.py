"""The rows of the decision desk, drawn at once: two hundred of them must feel instant."""

from itertools import product
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.board.words import day_of
from portal.templatetags.desk_terms import terms_of
from portal.templatetags.figures import busy, gpu_hours, money, number
from portal.templatetags.times import waited

register = template.Library()

ROW = (
    '<tr class="desk-row{}" data-key-of="{}">'
    '<td class="desk-rank"><input class="form-check-input" type="checkbox" name="take" value="{}"'
    ' aria-labelledby="st t{}"{}><input class="form-control" name="rank-{}" value="{}" inputmode="numeric"'
    ' aria-labelledby="sr t{}"></td>'
    '<th scope="row" class="desk-pitch"><a class="row-link" id="t{}" href="{}{}/" target="_blank" rel="noopener">{}</a>'
    '<span class="small quiet">{}</span><span class="small quiet">{}{}</span></th>'
    '<td class="desk-gpus"><input class="form-control" name="gpus-{}" value="{}" inputmode="numeric"'
    ' aria-labelledby="sg t{}"> <span class="small quiet">{}</span><span class="small quiet">{}</span></td>'
    '<td class="desk-cost">{}{}</td><td class="desk-record small">{}</td>'
    '<td class="desk-fit small"><strong data-desk-chosen>{}</strong>'
    '<span data-desk-outcome>{}</span><span class="quiet" data-desk-displaces{}>{}'
    " <span data-desk-displaced>{}</span></span></td>"
    '<td class="desk-answer">{}{}</td></tr>'
)
ANSWER = (
    '<label class="check small"><input class="form-check-input" type="checkbox" name="decline" value="{}"{}>'
    '<span>{}</span></label><input class="form-control desk-reason" name="reason-{}" value="{}" placeholder="{}"'
    ' aria-labelledby="sw t{}"{}>'
)
CHECKED, HIDDEN, NONE = mark_safe(" checked"), mark_safe(" hidden"), mark_safe("")
# (is taken, is declined, is waitlisted, fits) -> what the row's class says besides
LOOKS = {
    (taken, declined, waitlisted, fits): mark_safe(  # noqa: S308 - words of ours
        " is-taken" * taken + " is-declined" * declined + " is-waitlisted" * waitlisted + " is-out" * (not fits)
    )
    for taken, declined, waitlisted, fits in product((False, True), repeat=4)
}


@register.simple_tag
def desk_rows(board: Any) -> SafeString:
    """All rows of the board."""
    # What stands in a row again and again is escaped once: a board has thousands of such places.
    base = conditional_escape(reverse("pitches"))
    words = {"decline": _("Decline"), "reason": _("Reason"), "displaces": _("displaces"), "open": _("open it first")}
    words |= {"more": _("Open"), "not_yours": _("not your turn")}
    said = {name: conditional_escape(word) for name, word in words.items()}
    drawn = (
        _row(row, conditional_escape(place), base, said) + (terms_of(board, row) if row.is_open else NONE)
        for place, row in enumerate(board.rows)
    )
    return mark_safe("".join(drawn))  # noqa: S308 - parts are escaped


def _row(row: Any, place: SafeString, base: SafeString, said: dict[str, SafeString]) -> SafeString:
    pitch, key, seen = row.pitch, conditional_escape(row.key), conditional_escape(row.seen)
    look = LOOKS[row.is_taken, row.is_declined, row.is_waitlisted, row.finding.fits]
    cost = NONE if row.cost is None else format_html('<span class="small quiet">{}</span>', money(row.cost))
    return format_html(
        ROW, look, key, seen, place, CHECKED if row.is_taken else NONE, key, row.rank, place, place, base, key,
        pitch.title, _about(row), signatures(row), _open(place, said), key, row.typed["gpus"], place, _terms(row),
        _length(row), gpu_hours(row.gpu_hours),
        cost, _record(row), row.chosen, row.outcome, NONE if row.displaced else HIDDEN, said["displaces"],
        row.displaced, _answer(row, key, seen, place, said), _refusal(row, said),
    )  # fmt: skip


def _about(row: Any) -> str:
    words = {
        "project": row.pitch.project.name,
        "person": row.pitch.pitcher.name,
        "span": waited(row.pitch.submitted_at),
    }
    about = _("%(project)s · %(person)s · waits %(span)s") % words
    if row.pitch.waitlist_rank:
        about += " · " + _("waitlist %(n)s") % {"n": row.pitch.waitlist_rank}
    return about


def signatures(row: Any) -> str:
    """Who has signed these terms and who is still to."""
    mine = row.mandate.role if row.mandate else None
    told = [_signature(role, is_signed, row.mandate if role == mine else None) for role, is_signed in row.signers]
    return " · ".join([*told, _("overdue")] if row.is_overdue else told)


def _signature(role: Any, is_signed: bool, mandate: Any) -> str:
    if is_signed:
        return _("%(role)s signed") % {"role": role.name}
    if mandate is None:
        return _("%(role)s waits") % {"role": role.name}
    if mandate.is_own:
        return _("%(role)s: your turn") % {"role": role.name}
    return _("%(role)s: your turn for %(name)s") % {"role": role.name, "name": mandate.holder.name}


def _terms(row: Any) -> str:
    """What may be approved, and what was asked for at first where that was more."""
    pitch = row.pitch
    words = {"offered": number(pitch.offered_gpus), "least": number(row.ask.least)}
    told = _("all or none") if pitch.offered_gpus == row.ask.least else _("of %(offered)s, least %(least)s") % words
    if pitch.offered_gpus != pitch.ideal_gpus:
        told += " · " + _("asked %(ideal)s") % {"ideal": number(pitch.ideal_gpus)}
    return told


def _length(row: Any) -> str:
    return _("%(span)s from %(day)s") % {"span": _span(row.terms.days), "day": day_of(row.starts_at)}


def _open(place: SafeString, said: dict[str, SafeString]) -> SafeString:
    """The button that shows all of it under the row."""
    return format_html(
        ' <button type="button" class="link-btn needs-script" data-desk="open" aria-labelledby="so t{}">{}</button>',
        place, said["more"],
    )  # fmt: skip


def _span(days: int) -> str:
    """The length, in weeks where that is whole."""
    if days % 7:
        return ngettext("%(n)s day", "%(n)s days", days) % {"n": days}
    return ngettext("%(n)s week", "%(n)s weeks", days // 7) % {"n": days // 7}


def _record(row: Any) -> SafeString:
    """What the project has of this GPU model, and how its earlier asks went."""
    has = _("nothing of it")
    if row.record is not None:
        words = {
            "promised": number(row.record.promised), "held": number(row.record.held), "used": busy(row.record)
        }  # fmt: skip
        has = _("%(promised)s promised, %(held)s held, %(used)s busy") % words
    past = row.past
    if not past.granted and not past.declined:
        return format_html("{}", has)
    words = {"granted": past.granted, "cut": past.cut, "declined": past.declined}
    before = _("before: %(granted)s granted") % words
    before += _(", %(cut)s of them cut") % words if past.cut else ""
    before += _(", %(declined)s declined") % words if past.declined else ""
    return format_html('{}<span class="quiet">{}</span>', has, before)


def _answer(row: Any, key: SafeString, seen: SafeString, place: SafeString, said: dict[str, SafeString]) -> SafeString:
    if not row.role:
        return format_html('<span class="small quiet">{}</span>', said["not_yours"])
    described = format_html(' aria-describedby="refused-{}"', key) if row.refusal else NONE
    declined = CHECKED if row.is_declined else NONE
    return format_html(ANSWER, seen, declined, said["decline"], key, row.reason, said["reason"], place, described)


def _refusal(row: Any, said: dict[str, SafeString]) -> SafeString:
    if row.refusal:
        return format_html('<span class="field-error" id="refused-{}">{}</span>', row.key, row.refusal)
    if row.must_open:
        return format_html('<span class="small quiet" data-desk-unopened>{}</span>', said["open"])
    return NONE
