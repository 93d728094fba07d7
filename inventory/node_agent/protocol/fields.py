"""Single fields of the wire, checked strictly: each refusal names its field."""

import json
import re
from typing import Any

# 1: what a node sees. 2: and its mode, faults, gap-free values, and who uses it; what 1 leaves out is "not reported".
PROTOCOL = 2
OLDEST_PROTOCOL = 1
# PostgreSQL's bigint, where generations and sequences end up.
LARGEST_INT = 2**63 - 1
# Longest text that any field of ours needs (a GPU model name has about 40 characters); more is not ours.
LONGEST_TEXT = 200
# A project's slug as the portal makes it.
HOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class Malformed(ValueError):
    """The other side's bytes do not say what the wire wants; `field` is where."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(field, why)
        self.field = field
        self.why = why

    def __str__(self) -> str:
        return f"{self.field}: {self.why}"

    def under(self, parent: str) -> "Malformed":
        """The same, with its field named from further out."""
        return Malformed(f"{parent}.{self.field}", self.why)


def read_object(body: bytes) -> dict[str, Any]:
    """The one JSON object in `body`. Raises Malformed."""
    try:
        raw = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        # RecursionError: a few kilobytes of "[[[[" are enough.
        raise Malformed("body", f"not JSON ({type(error).__name__})") from error
    if type(raw) is not dict:
        raise Malformed("body", "not an object")
    return raw


def write_object(raw: dict[str, Any]) -> bytes:
    """`raw` as the bytes of one JSON object."""
    return json.dumps(raw, separators=(",", ":"), allow_nan=False).encode()


def text(raw: dict[str, Any], field: str) -> str:
    """A printable text that is not empty. Not printable are NUL and lone surrogates too, which no database stores."""
    value = raw.get(field)
    if type(value) is str and 0 < len(value) <= LONGEST_TEXT and value.isprintable():
        return value
    raise Malformed(field, f"not a printable text of 1 to {LONGEST_TEXT} characters")


def whole(raw: dict[str, Any], field: str, least: int = 0) -> int:
    """A whole number from `least` up to what a bigint holds; true and 1.0 are none."""
    value = raw.get(field)
    if type(value) is int and least <= value <= LARGEST_INT:
        return value
    raise Malformed(field, f"not a whole number of at least {least}")


def seconds(raw: dict[str, Any], field: str) -> float:
    """A number of seconds, zero or more, finite."""
    value: Any = raw.get(field)
    if type(value) in (int, float) and 0 <= value <= 1e12:
        return float(value)
    raise Malformed(field, "not a number of seconds")


def truth(raw: dict[str, Any], field: str) -> bool:
    """true or false, nothing that merely looks like it."""
    value = raw.get(field)
    if type(value) is bool:
        return value
    raise Malformed(field, "neither true nor false")


def optional_text(raw: dict[str, Any], field: str) -> str:
    """The printable text, "" where the other side does not say it."""
    return text(raw, field) if raw.get(field) else ""


def optional_whole(raw: dict[str, Any], field: str) -> int | None:
    """The whole number, None where the other side does not say it."""
    return None if raw.get(field) is None else whole(raw, field)


def optional_truth(raw: dict[str, Any], field: str) -> bool | None:
    """true or false, None where the other side does not say it."""
    return None if raw.get(field) is None else truth(raw, field)


def holder(raw: dict[str, Any], field: str = "holder") -> str:
    """A project's slug, or "" for nobody."""
    value = raw.get(field)
    if type(value) is str and (value == "" or HOLDER.fullmatch(value)):
        return value
    raise Malformed(field, 'neither a slug nor ""')


def listed(raw: dict[str, Any], field: str, most: int) -> list[Any]:
    """A list of at most `most` things."""
    value = raw.get(field)
    if type(value) is list and len(value) <= most:
        return value
    raise Malformed(field, f"not a list of at most {most}")


def known_protocol(raw: dict[str, Any]) -> None:
    """Pass if the other side speaks a version that we know. A newer one adds fields only, which are passed over."""
    version = raw.get("protocol")
    if type(version) is not int or version < OLDEST_PROTOCOL:
        raise Malformed("protocol", f"not {OLDEST_PROTOCOL} or newer")
