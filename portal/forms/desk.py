"""What a decider has marked on the desk: ranks, numbers, reasons, what is taken and what is declined."""

from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict


@dataclass(frozen=True)
class Seen:
    """The round that the person saw and the role to sign in; no role where it is not the person's turn."""

    round: int
    role: str


@dataclass(frozen=True)
class Marks:
    """By the pitch's public id, as typed; what cannot be read is as if it was not there.

    `ended`: the public ids of grants that are left out of the budget to see what would fit then.
    """

    ranks: dict[str, str] = field(default_factory=dict)
    gpus: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    taken: dict[str, Seen] = field(default_factory=dict)
    declined: dict[str, Seen] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()

    @classmethod
    def of(cls, typed: QueryDict) -> Self:
        """The marks of a form that was sent."""
        return cls(
            ranks=_by_key(typed, "rank-"),
            gpus=_by_key(typed, "gpus-"),
            reasons=_by_key(typed, "reason-"),
            taken=_seen(typed.getlist("take")),
            declined=_seen(typed.getlist("decline")),
            ended=frozenset(key for key in typed.getlist("end") if _is_uuid(key)),
        )

    @property
    def kept(self) -> dict[str, Any]:
        """The marks as a scenario keeps them: what is taken and ended, ranks and numbers; no reasons, no roles."""
        kept = {"ranks": _holdable(self.ranks), "gpus": _holdable(self.gpus)}
        return {"taken": list(self.taken), "ended": sorted(self.ended), **kept}

    @classmethod
    def from_kept(cls, kept: dict[str, Any]) -> Self:
        """What a scenario kept; whose turn it is, the board says."""
        return cls(
            ranks=kept.get("ranks", {}),
            gpus=kept.get("gpus", {}),
            taken={key: Seen(0, "") for key in kept.get("taken", [])},
            ended=frozenset(kept.get("ended", [])),
        )

    def rank_of(self, key: str, place: int) -> int:
        """The typed rank; the place among those that wait where none was typed."""
        typed = self.ranks.get(key, "").strip()
        return int(typed) if typed.isdecimal() and len(typed) < 10 else place

    def gpus_of(self, key: str, *, most: int) -> int:
        """The typed number for the arithmetic, from 1 to what is on the table; all of it where none was typed."""
        typed = self.gpus.get(key, "").strip()
        return min(max(int(typed), 1), most) if typed.isdecimal() and len(typed) < 10 else most


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
