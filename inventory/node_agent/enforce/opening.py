"""Devices get the access lists that the orders want, and what holds afterwards is proven as the users it is about."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from inventory.node_agent.enforce import doctor
from inventory.node_agent.enforce.access_lists import AccessList, read_list, wanted_list, write_list
from inventory.node_agent.enforce.access_test import access_of, differences
from inventory.node_agent.enforce.devices import DeviceNode, Unit
from inventory.node_agent.enforce.layout import Layout
from inventory.node_agent.enforce.orders_kept import Kept
from inventory.node_agent.enforce.passes import Proof

# nvidia-modprobe's repairs come and go within a second of some user's CUDA start; people look at pages.
CHANGE_SHOWN_S = 600
PROVE_EVERY_S = 60
LOCAL_USERS = Path("/etc/passwd")
FIRST_UID_OF_PEOPLE, LAST_UID_OF_PEOPLE = 1000, 60_000


def wanted_users(
    units: Iterable[Unit], nobodys: Iterable[DeviceNode], kept: Mapping[str, Kept], service_uids: Collection[int]
) -> dict[Path, frozenset[int]]:
    """Device -> the users whom it is to be open for. A GPU that drains, or has no order, is open for services only."""
    wanted = {node.path: set(service_uids) for node in nobodys}
    for unit in units:
        order = kept.get(unit.uuid)
        is_open = order is not None and not order.is_switch and not order.is_torn and order.order.holder != ""
        for node in (*unit.nodes, *unit.shared):
            users = wanted.setdefault(node.path, set(service_uids))
            if order is not None and is_open:
                users.update(order.order.unix_ids)
    return {path: frozenset(users) for path, users in wanted.items()}


class Devices:
    """The access lists of this node's devices, and what others did to them meanwhile."""

    def __init__(self, layout: Layout, steady: Callable[[], float]) -> None:
        self._layout, self._steady = layout, steady
        self._proven: tuple[object, float, dict[Path, Proof]] = None, 0.0, {}
        # Device -> its inode and the list that we gave it; and when somebody else was seen to have changed it.
        self._given: dict[Path, tuple[tuple[int, int], AccessList]] = {}
        self._changed: dict[Path, tuple[float, str]] = {}

    def set_lists(self, nodes: Iterable[DeviceNode], wanted: Mapping[Path, frozenset[int]]) -> dict[Path, str]:
        """Each device has the list that is wanted; device -> why it has not."""
        failed = {}
        for node in nodes:
            access = wanted_list(node.status, wanted[node.path], node.permission)
            try:
                self._set(node, access)
            except OSError as error:
                failed[node.path] = f"{node.path}: {error.strerror}"
        return failed

    def differ(self, nodes: Iterable[DeviceNode], wanted: Mapping[Path, frozenset[int]]) -> bool:
        """Whether any device has another list now than is wanted."""
        try:
            return any(
                read_list(node.path) != wanted_list(node.status, wanted[node.path], node.permission) for node in nodes
            )
        except OSError:
            return True

    def changes(self, nodes: Iterable[DeviceNode]) -> list[str]:
        """What somebody else lately did to these devices and was put right."""
        now = self._steady()
        return [
            text
            for node in nodes
            for at, text in filter(None, [self._changed.get(node.path)])
            if now - at < CHANGE_SHOWN_S
        ]

    def prove(self, nodes: Iterable[DeviceNode], wanted: Mapping[Path, frozenset[int]]) -> dict[Path, Proof]:
        """Each device's list as read back, and who is let in by it, asked as all users it is about and strangers."""
        read = {}
        for node in nodes:
            with suppress(OSError):
                read[node.path] = node.inode, node.permission, read_list(node.path)
        asked, (known, at, proofs) = (read, wanted), self._proven
        # Groups may change under an access list that does not, and what was wrong may be right by now.
        is_old = self._steady() - at >= PROVE_EVERY_S or any(proof.wrong for proof in proofs.values())
        if known != asked or is_old:
            uids = set(_a_local_user()).union(*wanted.values())
            answers = access_of(uids, {path: permission for path, (_inode, permission, _access) in read.items()})
            proofs = {
                path: Proof(inode, access, differences(answers, path, wanted[path]))
                for path, (inode, _permission, access) in read.items()
            }
            self._proven = asked, self._steady(), proofs
        return proofs

    def hold_capabilities(self) -> None:
        """nvidia-modprobe leaves the devices of MIG instances alone from now on, where the driver lets us say so."""
        for path, text in doctor.capability_files(self._layout):
            if "DeviceFileModify: 1" in text:
                with suppress(OSError):
                    path.write_text("DeviceFileModify: 0\n")

    def _set(self, node: DeviceNode, access: AccessList) -> None:
        now = read_list(node.path)
        if now != access:
            if self._given.get(node.path) == (node.inode, access):
                self._changed[node.path] = self._steady(), f"{node.path} was {now}, put right to {access}"
            write_list(node.path, access)
        self._given[node.path] = node.inode, access


def _a_local_user() -> list[int]:
    """A person of this machine, if it has one: a stranger to most devices."""
    lines = LOCAL_USERS.read_text(errors="replace").splitlines()
    uids = [int(fields[2]) for line in lines if len(fields := line.split(":")) == 7 and fields[2].isdigit()]
    return [uid for uid in sorted(uids) if FIRST_UID_OF_PEOPLE <= uid < LAST_UID_OF_PEOPLE][:1]
