"""The why of a plan in words: reason codes and numbers become sentences in the viewer's language."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

SKIPPED: dict[str, str | Promise] = {
    "other_model": gettext_lazy("of another model"),
    "other_labels": gettext_lazy("on nodes without the asked labels"),
    "already_yours": gettext_lazy("already this project's"),
    "held": gettext_lazy("held by right"),
    "moving": gettext_lazy("in a move already"),
    "not_yet_released": gettext_lazy("promised, but for later"),
    "node_fragment": gettext_lazy("on nodes that are not whole"),
    "other_island": gettext_lazy("in another island"),
    "not_needed": gettext_lazy("not needed"),
    "cordoned": gettext_lazy("cordoned"),
    "lost": gettext_lazy("lost"),
    "stale": gettext_lazy("without a fresh reading"),
    "ghost": gettext_lazy("in use by nobody known"),
    "unknown": gettext_lazy("unknown"),
    "protected": gettext_lazy("of protected projects"),
    "drift": gettext_lazy("held by another than intended"),
    "unusable": gettext_lazy("not usable"),
}
SHORT: dict[str, str | Promise] = {
    "not_enough": gettext_lazy("There are too few that may be taken."),
    "uneven_size": gettext_lazy("No sum of whole nodes is exactly that number."),
    "no_whole_nodes": gettext_lazy("There are enough GPUs, but not enough whole nodes."),
    "no_single_island": gettext_lazy("No single island has that many."),
    "no_such_shape": gettext_lazy("Whole nodes in one island: no place has that many."),
    "already_spread": gettext_lazy("The grant already lies on several islands."),
}
LEFT: dict[str, str | Promise] = {
    **SKIPPED,
    "assigned_on": gettext_lazy("moved on by a later plan"),
    "gone": gettext_lazy("lost or retired"),
    "unknown holder": gettext_lazy("held by somebody who is no project"),
    "grant_full": gettext_lazy("whose grant got another GPU meanwhile"),
}
SOURCES: dict[str, str | Promise] = {
    "free": gettext_lazy("free"),
    "ended": gettext_lazy("ended"),
    "winding_down": gettext_lazy("winding down"),
    "undo": gettext_lazy("as before"),
    "drift": gettext_lazy("drift"),
    "failed": gettext_lazy("failed move"),
    "adopted": gettext_lazy("as the node shows"),
    "kept": gettext_lazy("goes on"),
}


def reasons(why: Mapping[str, Any]) -> list[str]:
    """Why these GPUs, one sentence each."""
    lines = [_taken(row) for row in why.get("taken", [])]
    lines += _counted(why)
    if why.get("shape"):
        lines.append(_shape(why["shape"]))
    return lines


def left_out(why: Mapping[str, Any]) -> list[tuple[int, str]]:
    """What was not taken: how many, and why; the most first."""
    counts = {**why.get("skipped", {}), **{code: len(gpus) for code, gpus in why.get("left", {}).items()}}
    told = [(gpus, str(LEFT.get(code, code.replace("_", " ")))) for code, gpus in counts.items() if gpus]
    return sorted(told, key=lambda row: -row[0])


def shortfall(why: Mapping[str, Any]) -> list[str]:
    """Why GPUs are still missing, and what would help; nothing where none are."""
    short = why.get("shortfall")
    if not short:
        return []
    lines = [f"{_missing(short['gpus'])} {SHORT.get(short['code'], '')}".strip()]
    if short.get("next_lower_gpus") is not None:
        sums = {"lower": short["next_lower_gpus"], "higher": short["next_higher_gpus"]}
        lines.append(_("The nearest sums of whole nodes are %(lower)d and %(higher)d.") % sums)
    return lines + [_help(row) for row in short.get("helps", [])]


def _taken(row: Mapping[str, Any]) -> str:
    numbers = {
        "gpus": row["gpus"],
        "holder": row["holder"],
        "running": row["running_gpus"],
        "age": round(row["oldest_seen_s"]),
        "on": _day(row.get("releases_at")),
    }
    sentences = {
        "own_ended": _("%(gpus)d that an ended grant of the same project left there: nothing moves."),
        "free": _("%(gpus)d free: nobody has them and nothing runs on them."),
        "grant_ended": _("%(gpus)d of %(holder)s: its right has ended; %(running)d still have processes."),
        "winding_down": _(
            "%(gpus)d of %(holder)s: it winds down and promised them for %(on)s; %(running)d still have processes."
        ),
    }
    return f"{sentences[row['code']] % numbers} {_('Oldest reading: %(age)d s.') % numbers}"


def _counted(why: Mapping[str, Any]) -> list[str]:
    sentences = {
        "released_gpus": _("%(gpus)d whose right has ended: back to nobody."),
        "restored_gpus": _("%(gpus)d as they were assigned before."),
        "drifting_gpus": _("%(gpus)d held by another than intended: the intended holder is ordered again."),
        "adopted_gpus": _("%(gpus)d held by another than intended: that is accepted, and nothing moves."),
        "failed_gpus": _("%(gpus)d whose last move failed: ordered again."),
    }
    return [sentence % {"gpus": why[name]} for name, sentence in sentences.items() if why.get(name)]


def _shape(shape: Mapping[str, Any]) -> str:
    places = ngettext("On %(nodes)d node", "On %(nodes)d nodes", shape["nodes"]) % shape
    islands = ngettext("in %(islands)d island", "in %(islands)d islands", shape["islands"]) % shape
    line = f"{places} {islands}; {_broken(shape['broken_nodes'])}"
    return f"{line} {_('No other plan takes GPUs from fewer projects.')}" if shape.get("fewest_donors") else line


def _broken(nodes: int) -> str:
    if not nodes:
        return _("no whole node is broken up.")
    return ngettext("%(n)d whole node is broken up.", "%(n)d whole nodes are broken up.", nodes) % {"n": nodes}


def _missing(gpus: int) -> str:
    return ngettext("%(gpus)d GPU is still missing.", "%(gpus)d GPUs are still missing.", gpus) % {"gpus": gpus}


def _help(row: Mapping[str, Any]) -> str:
    sentences = {
        "ask_for": _("An ask for %(gpus)d could be met now."),
        "without_whole_nodes": _("Without whole nodes: %(gpus)d."),
        "without_one_island": _("Across islands: %(gpus)d."),
        "wait": _("From %(on)s on all of it, if everybody releases as promised."),
        "first_release": _("From %(on)s on %(gpus)d, if everybody releases as promised."),
    }
    return sentences[row["code"]] % {"gpus": row["gpus"], "on": _day(row.get("at"))}


def _day(text: str | None) -> str:
    return date_format(timezone.localtime(datetime.fromisoformat(text)), "j M, H:i") if text else _("no date")
