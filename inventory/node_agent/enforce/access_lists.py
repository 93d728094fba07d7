"""Who may open a device node: its POSIX access list, written in one atomic step and read back."""

import errno
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ATTRIBUTE = "system.posix_acl_access"
READ, READ_WRITE = 4, 6
# linux/posix_acl_xattr.h: version 2; tags of linux/posix_acl.h. Entries without an id carry 2^32 - 1.
HEADER = struct.Struct("<I")
ENTRY = struct.Struct("<HHI")
VERSION = 2
OWNER, USER, GROUP, NAMED_GROUP, MASK, OTHERS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
NO_ID = 2**32 - 1


@dataclass(frozen=True, slots=True)
class AccessList:
    """Permissions as in `ls -l` digits: of the owner, the owning group, everybody else, and of named users (uid -> it).

    `mask` limits named users and the owning group, None where the node has plain mode bits only. `named_groups`:
    whether any group has an entry of its own, which ours never do.
    """

    owner: int
    group: int
    others: int
    users: tuple[tuple[int, int], ...] = ()
    mask: int | None = None
    named_groups: bool = False

    def open_to(self, wanted: int) -> tuple[int, ...] | None:
        """The users whom an entry of their own lets do `wanted`; None where they cannot be listed."""
        if self.others & wanted or self.named_groups:
            return None
        mask = wanted if self.mask is None else self.mask
        return tuple(uid for uid, permission in self.users if permission & mask & wanted == wanted)

    def __str__(self) -> str:
        named = "".join(f" {uid}:{permission}" for uid, permission in self.users)
        return f"{self.owner}{self.group}{self.others}{named}" + ("" if self.mask is None else f" mask {self.mask}")


def wanted_list(node: os.stat_result, uids: Iterable[int], permission: int) -> AccessList:
    """Open to root and `uids` only. A node whose owner or group is not root is closed to that owner and group."""
    owner = permission if node.st_uid == 0 else 0
    group = permission if node.st_gid == 0 else 0
    users = tuple((uid, permission) for uid in sorted(set(uids)))
    return AccessList(owner, group, 0, users, permission if users else None)


def read_list(path: Path) -> AccessList:
    """The list of the node as the kernel has it now. Raises OSError."""
    try:
        raw = os.getxattr(path, ATTRIBUTE)
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        mode = stat.S_IMODE(path.stat().st_mode)
        return AccessList(mode >> 6 & 7, mode >> 3 & 7, mode & 7)
    return _decoded(raw)


def write_list(path: Path, access: AccessList) -> None:
    """The node has this list and the mode bits that go with it; in between it never had another. Raises OSError."""
    # One call of the kernel. setfacl would do the same call, and needs a program that a node may lack.
    os.setxattr(path, ATTRIBUTE, _encoded(access))


def _encoded(access: AccessList) -> bytes:
    entries = [(OWNER, access.owner, NO_ID)]
    entries += [(USER, permission, uid) for uid, permission in access.users]
    entries += [(GROUP, access.group, NO_ID)]
    entries += [] if access.mask is None else [(MASK, access.mask, NO_ID)]
    entries += [(OTHERS, access.others, NO_ID)]
    return HEADER.pack(VERSION) + b"".join(ENTRY.pack(*entry) for entry in entries)


def _decoded(raw: bytes) -> AccessList:
    (version,) = HEADER.unpack_from(raw)
    if version != VERSION:
        raise OSError(errno.EPROTO, f"an access list of version {version}")
    entries = list(ENTRY.iter_unpack(raw[HEADER.size :]))
    plain = {tag: permission for tag, permission, _id in entries}
    return AccessList(
        plain[OWNER],
        plain[GROUP],
        plain[OTHERS],
        tuple((uid, permission) for tag, permission, uid in entries if tag == USER),
        plain.get(MASK),
        NAMED_GROUP in plain,
    )
