"""The orders on disk: what must not be forgotten stands in a file's name, so that torn content cannot lose it."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from inventory.node_agent.enforce.errors import Refused
from inventory.node_agent.enforce.layout import Step
from inventory.node_agent.protocol import Malformed, Mode, Order, dump_order, parse_order
from inventory.node_agent.protocol.orders import MODES

# uuid, generation, holder; "@" is escaped in the first and stands in no slug.
NAME = re.compile(r"(?P<uuid>[^@]+)@(?P<generation>\d+)@(?P<holder>[^@]*)\.order")
BESIDE = ".beside"


@dataclass(frozen=True, slots=True)
class Kept:
    """The newest order for a GPU, and the last one that its drain let come true (None: none ever).

    `is_torn`: only the generation and the holder are known, from the file's name; nobody gets in until the portal has
    sent the order again.
    """

    order: Order
    reached: Order | None = None
    is_torn: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether the order wants another holder than the one that the GPU had last."""
        return self.reached is None or self.reached.holder != self.order.holder


def accepted(known: Kept | None, order: Order) -> Kept:
    """What is kept once `order` has come. Raises Refused: an older generation, or another holder in the same one."""
    if known is None:
        return Kept(order)
    in_force = known.order
    if order.generation < in_force.generation:
        raise Refused("older_generation", f"generation {in_force.generation} is in force", in_force.generation)
    if order.generation == in_force.generation:
        if order.holder != in_force.holder:
            raise Refused("generation_conflict", f"this generation is {in_force.holder!r}'s", in_force.generation)
        if order.access_revision < in_force.access_revision and not known.is_torn:
            order = replace(order, access_revision=in_force.access_revision, unix_ids=in_force.unix_ids)
    return Kept(order, known.reached)


class OrdersKept:
    """A directory with one file for each GPU that was ever ordered, and one for the mode."""

    def __init__(self, state: Path, on_step: Callable[[Step], None]) -> None:
        self._orders = state / "orders"
        self._mode = state / "mode"
        self._on_step = on_step

    def load(self) -> dict[str, Kept]:
        """GPU uuid -> its newest order; what a crash left beside or behind is removed."""
        newest: dict[str, tuple[int, Path]] = {}
        for path in sorted(self._orders.glob("*")) if self._orders.is_dir() else ():
            match = NAME.fullmatch(path.name)
            if match is None:
                path.unlink()
                continue
            uuid, generation = unquote(match["uuid"]), int(match["generation"])
            known = newest.get(uuid)
            if known is not None and known[0] > generation:
                path.unlink()
                continue
            if known is not None:
                known[1].unlink()
            newest[uuid] = generation, path
        return {uuid: _read(path) for uuid, (_generation, path) in newest.items()}

    def keep(self, uuid: str, kept: Kept, before: Kept | None) -> None:
        """`kept` survives the power going off now; the file of `before` is gone. Raises OSError."""
        path = self._path(uuid, kept)
        body = dump_order(kept.order) + b"\n" + (dump_order(kept.reached) if kept.reached else b"null") + b"\n"
        write_durably(path, body, self._on_step)
        if before is not None and (older := self._path(uuid, before)) != path:
            older.unlink(missing_ok=True)
            self._on_step(Step.OLDER_REMOVED)

    def load_mode(self) -> Mode:
        """The mode that was last set; observe where none ever was."""
        try:
            said = self._mode.read_text().strip()
        except FileNotFoundError:
            return "observe"
        # A mode that cannot be read is the closed one.
        return MODES.get(said, "enforce")

    def keep_mode(self, mode: Mode) -> None:
        """`mode` is also that of the next start. Raises OSError."""
        write_durably(self._mode, mode.encode(), self._on_step)

    def _path(self, uuid: str, kept: Kept) -> Path:
        return self._orders / f"{quote(uuid, safe='')}@{kept.order.generation}@{kept.order.holder}.order"


def write_durably(path: Path, body: bytes, on_step: Callable[[Step], None]) -> None:
    """`path` holds `body`, whole or not at all, also after a crash. Raises OSError."""
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sync(path.parent.parent)
    beside = path.with_name(path.name + BESIDE)
    with beside.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    on_step(Step.ORDER_WRITTEN)
    beside.rename(path)
    on_step(Step.ORDER_NAMED)
    _sync(path.parent)
    on_step(Step.ORDER_KEPT)


def _sync(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _read(path: Path) -> Kept:
    match = NAME.fullmatch(path.name)
    assert match is not None
    named = Order(match["holder"], int(match["generation"]))
    try:
        ordered, reached, end = path.read_bytes().split(b"\n")
        order = parse_order(ordered)
        last = None if reached == b"null" else parse_order(reached)
    except (Malformed, ValueError):
        return Kept(named, is_torn=True)
    is_whole = end == b"" and (order.holder, order.generation) == (named.holder, named.generation)
    return Kept(order, last) if is_whole else Kept(named, is_torn=True)
