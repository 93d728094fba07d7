"""What a decider has marked on the desk: ranks, terms, reasons, what is taken, declined or put on the waitlist."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Self
from urllib.parse import urlencode
from uuid import UUID

from django.forms import ModelChoiceField
from django.http import QueryDict

from inventory.models import GpuModel
from portal.forms.verdicts import TermsFields

KEPT = (
    "ranks",
    "gpus",
    "starts",
    "days",
    "models",
    "keeps",
)  # of what is typed; a scenario decides nothing, so no reasons


@dataclass(frozen=True)
class Seen:
    """The round that the person saw and the role to sign in; no role where it is not the person's turn."""

    round: int
    role: str


@dataclass(frozen=True)
class Marks:
    """By the pitch's public id, as typed; what cannot be read is as if it was not there.

    `starts`, `days` and `models` (names) are the other terms, `places` the ranks on a waitlist. `ended`: the public ids
    of grants that are left out of the budget to see what would fit then, less what `keeps` says. `opened`: whose other
    terms are on the screen.
    """

    ranks: dict[str, str] = field(default_factory=dict)
    gpus: dict[str, str] = field(default_factory=dict)
    starts: dict[str, str] = field(default_factory=dict)
    days: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    taken: dict[str, Seen] = field(default_factory=dict)
    declined: dict[str, Seen] = field(default_factory=dict)
    waitlisted: dict[str, Seen] = field(default_factory=dict)
    keeps: dict[str, str] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    opened_rank: str = ""

    @classmethod
    def of(cls, typed: QueryDict) -> Self:
        """The marks of a form that was sent."""
        return cls(
            ranks=_by_key(typed, "rank-"),
            gpus=_by_key(typed, "gpus-"),
            starts=_by_key(typed, "start-"),
            days=_by_key(typed, "days-"),
            models=_by_key(typed, "model-"),
            places=_by_key(typed, "place-"),
            reasons=_by_key(typed, "reason-"),
            taken=_seen(typed.getlist("take")),
            declined=_seen(typed.getlist("decline")),
            waitlisted=_seen(typed.getlist("waitlist")),
            keeps=_by_key(typed, "keeps-"),
            ended=frozenset(key for key in typed.getlist("end") if _is_uuid(key)),
            opened=frozenset(key for key in typed.getlist("opened") if _is_uuid(key)),
            opened_rank=typed.get("opened_rank", "").strip(),
        )

    @property
    def kept(self) -> dict[str, Any]:
        """The marks as a scenario keeps them: what is taken and ended, ranks and terms; no reasons, no roles."""
        kept = {name: _holdable(getattr(self, name)) for name in KEPT}
        return {"taken": list(self.taken), "ended": sorted(self.ended), **kept}

    @classmethod
    def from_kept(cls, kept: dict[str, Any]) -> Self:
        """What a scenario kept; whose turn it is, the board says."""
        return cls(
            taken={key: Seen(0, "") for key in kept.get("taken", [])},
            ended=frozenset(kept.get("ended", [])),
            **{name: kept.get(name, {}) for name in KEPT},
        )

    def without(self, keys: Collection[str]) -> Self:
        """The marks of all other pitches; the ranks stay."""
        names = ("taken", "declined", "waitlisted", "reasons", "gpus", "starts", "days", "models", "places")
        left = {name: {key: value for key, value in getattr(self, name).items() if key not in keys} for name in names}
        return replace(self, opened=self.opened - set(keys), opened_rank="", **left)

    def answers_to(self, key: str) -> int:
        """How many answers are marked for it; more than one is none."""
        return sum(key in marked for marked in (self.taken, self.declined, self.waitlisted))

    def start_of(self, key: str) -> date | None:
        """The typed first day for the arithmetic."""
        try:
            return date.fromisoformat(self.starts.get(key, "").strip())
        except ValueError:
            return None

    def days_of(self, key: str, *, most: int) -> int | None:
        """The typed length for the arithmetic."""
        typed = self.days.get(key, "").strip()
        return int(typed) if typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= most else None

    def kept_gpus(self, key: str, *, of: int) -> int:
        """How many a grant that is left out would keep, fewer than it has; none where none were typed."""
        typed = self.keeps.get(key, "").strip()
        return min(int(typed), of) if typed.isdecimal() and len(typed) < 10 else 0

    def rank_of(self, key: str, place: int) -> int:
        """The typed rank; the place among those that wait where none was typed."""
        typed = self.ranks.get(key, "").strip()
        return int(typed) if typed.isdecimal() and len(typed) < 10 else place

    def gpus_of(self, key: str, *, table: int, most: int) -> int:
        """The typed number for the arithmetic, from 1 to the most; what is on the table where none was typed."""
        typed = self.gpus.get(key, "").strip()
        return min(max(int(typed), 1), most) if typed.isdecimal() and len(typed) < 10 else table


class AnswerForm(TermsFields):
    """What is typed beside an answer of the desk; the model by its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"] = ModelChoiceField(required=False, queryset=GpuModel.objects.all(), to_field_name="name")


def place_of(typed: Any) -> str:
    """The budget that a form was about, as the desk's filter in its address."""
    return urlencode({name: typed.get(name, "")[:120] for name in ("division", "model") if typed.get(name)})


def _by_key(typed: QueryDict, prefix: str) -> dict[str, str]:
    """None for what is no pitch."""
    named = {name.removeprefix(prefix): typed[name] for name in typed if name.startswith(prefix)}
    return {key: text for key, text in named.items() if _is_uuid(key)}


def _holdable(texts: dict[str, str]) -> dict[str, str]:
    """Without the one letter that the database cannot hold."""
    return {key: text.replace("\0", "") for key, text in texts.items()}


def _seen(values: list[str]) -> dict[str, Seen]:
    """Each value is `public id:round:role`."""
    found = {}
    for value in values:
        key, _, rest = value.partition(":")
        seen_round, _, role = rest.partition(":")
        if _is_uuid(key) and seen_round.isdecimal() and role.isprintable():
            found[key] = Seen(int(seen_round[:9]), role)
    return found


def _is_uuid(text: str) -> bool:
    """Whether it is written as we write it: it is compared with ours as text."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
