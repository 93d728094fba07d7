"""What a node is told, about one GPU or its own work, and what it answers, to and from the wire."""

from datetime import datetime
from typing import Any

from inventory.node_agent.protocol.fields import (
    Malformed,
    holder,
    listed,
    optional_text,
    read_object,
    text,
    whole,
    write_object,
)
from inventory.node_agent.protocol.values import Applied, Eviction, Mode, Order, Refusal, Settings

# Code of a refusal -> HTTP status. The codes never change; the portal acts on them.
REFUSAL_STATUS = {
    "malformed": 400,
    "bad_token": 401,
    "unknown_gpu": 404,
    "unknown_path": 404,
    "older_generation": 409,
    "generation_conflict": 409,
    "gpu_lost": 410,
    # The node only looks (its own configuration), or lacks what enforcement needs; the detail says what.
    "observes_only": 409,
    "not_ready": 409,
}
MODES: dict[str, Mode] = {"observe": "observe", "shadow": "shadow", "enforce": "enforce"}
# A device's access list is one extended attribute, which ext4 and devtmpfs keep far below this many entries.
UNIX_IDS_MOST = 8192
# 2^32 - 1 means "no user" to the kernel.
UNIX_ID_MOST = 2**32 - 2


def parse_order(body: bytes) -> Order:
    """The order in `body`. Generations start at 1: 0 is a GPU that was never ordered. Raises Malformed."""
    raw = read_object(body)
    unix_ids = listed(raw, "unix_ids", UNIX_IDS_MOST)
    for index, unix_id in enumerate(unix_ids):
        if type(unix_id) is not int or not 0 < unix_id <= UNIX_ID_MOST:
            raise Malformed(f"unix_ids[{index}]", "not the id of a user other than root")
    return Order(
        holder(raw), whole(raw, "generation", 1), whole(raw, "access_revision"), tuple(unix_ids), _parse_eviction(raw)
    )


def _parse_eviction(raw: dict[str, Any]) -> Eviction | None:
    eviction = raw.get("eviction")
    if eviction is None:
        return None
    if type(eviction) is not dict:
        raise Malformed("eviction", "neither an object nor null")
    try:
        return Eviction(text(eviction, "by"), text(eviction, "with"), _instant(eviction, "until"))
    except Malformed as error:
        raise error.under("eviction") from error


def _instant(raw: dict[str, Any], field: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text(raw, field))
    except Malformed:
        raise
    except ValueError as error:
        raise Malformed(field, "not an ISO 8601 instant") from error
    if instant.tzinfo is None:
        raise Malformed(field, "an instant without a zone")
    return instant


def dump_order(order: Order) -> bytes:
    """The bytes that `parse_order` reads back as the same order."""
    eviction = order.eviction
    return write_object(
        {
            "holder": order.holder,
            "generation": order.generation,
            "access_revision": order.access_revision,
            "unix_ids": list(order.unix_ids),
            "eviction": eviction
            and {"by": eviction.by, "with": eviction.with_whom, "until": eviction.until.isoformat()},
        }
    )


def parse_applied(body: bytes) -> Applied:
    """The answer to an accepted order. Raises Malformed."""
    raw = read_object(body)
    state = raw.get("state")
    if state not in ("draining", "switched"):
        raise Malformed("state", "neither draining nor switched")
    return Applied(state, whole(raw, "running"), whole(raw, "generation"), whole(raw, "access_revision"))


def dump_applied(applied: Applied) -> bytes:
    """The bytes that `parse_applied` reads back."""
    return write_object(
        {
            "state": applied.state,
            "running": applied.running,
            "generation": applied.generation,
            "access_revision": applied.access_revision,
        }
    )


def parse_refusal(body: bytes) -> Refusal:
    """Why the node refused. Raises Malformed."""
    raw = read_object(body)
    generation = None if raw.get("generation") is None else whole(raw, "generation")
    detail = text(raw, "detail") if "detail" in raw else ""
    return Refusal(text(raw, "code"), detail, generation)


def dump_refusal(refusal: Refusal) -> bytes:
    """The bytes that `parse_refusal` reads back."""
    raw: dict[str, Any] = {"code": refusal.code, "detail": refusal.detail}
    if refusal.generation is not None:
        raw["generation"] = refusal.generation
    return write_object(raw)


def parse_mode(raw: dict[str, Any]) -> Mode:
    """The mode that stands under `mode`. Raises Malformed."""
    mode = MODES.get(text(raw, "mode"))
    if mode is None:
        raise Malformed("mode", f"none of {', '.join(MODES)}")
    return mode


def parse_settings(body: bytes) -> Settings:
    """How the portal wants the node to work. Raises Malformed."""
    raw = read_object(body)
    return Settings(parse_mode(raw), optional_text(raw, "token"))


def dump_settings(settings: Settings) -> bytes:
    """The bytes that `parse_settings` reads back as the same settings."""
    return write_object({"mode": settings.mode, "token": settings.token})
