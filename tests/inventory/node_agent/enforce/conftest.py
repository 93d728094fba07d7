"""Enforcement is tested as root with real device nodes and real users.

Skipped with the reason where that is not possible; ALLOT_REQUIRE_ROOT_TESTS=1 makes that a failure.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.node_agent.enforce.doctor import own_capability_check
from tests.inventory.node_agent.enforce.machine import NULL, Machine, make_node

IS_REQUIRED = os.environ.get("ALLOT_REQUIRE_ROOT_TESTS") == "1"


def why_not(folder: Path) -> str:
    """Why devices cannot be made and opened in `folder`; "" if they can."""
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("useradd") is None:
        return "no useradd"
    rights = own_capability_check(Path("/proc"))
    if not rights.passed:
        return f"root without {rights.found}"
    try:
        make_node(folder / "trial", 0o660, NULL)
        os.close(os.open(folder / "trial", os.O_RDWR))
        os.setxattr(folder / "trial", "system.posix_acl_access", os.getxattr(folder, "system.posix_acl_default"))
    except OSError as error:
        # ENODATA: the folder has no default list, as it should be, and its file system knows access lists.
        return "" if error.errno == 61 else f"device nodes with access lists in {folder}: {error.strerror}"
    return ""


def skip_or_fail(reason: str) -> None:
    if IS_REQUIRED:
        pytest.fail(f"ALLOT_REQUIRE_ROOT_TESTS=1, and: {reason}")
    pytest.skip(reason)


@pytest.fixture
def machine() -> Iterator[Machine]:
    # Not pytest's own folder, which only its maker may enter.
    root = Path(tempfile.mkdtemp(prefix="allot-enforce-"))
    root.chmod(0o755)
    try:
        if reason := why_not(root):
            skip_or_fail(reason)
        made = Machine(root)
        yield made
        for opener in made.openers:
            opener.end()
    finally:
        shutil.rmtree(root)


@pytest.fixture(scope="package")
def users() -> Iterator[tuple[int, int]]:
    """Two Unix users made for this run: neither is in a group that the other is in."""
    if os.geteuid() != 0 or shutil.which("useradd") is None:
        skip_or_fail("not root, or no useradd")
    names = [f"allot-{letter}-{os.getpid()}" for letter in "ab"]
    try:
        for name in names:
            subprocess.run(["useradd", "--no-create-home", "--user-group", name], check=True, capture_output=True)
        told = [subprocess.run(["id", "-u", name], check=True, capture_output=True, text=True) for name in names]
        yield int(told[0].stdout), int(told[1].stdout)
    finally:
        for name in names:
            subprocess.run(["userdel", name], check=False, capture_output=True)


@pytest.fixture
def ada(users: tuple[int, int]) -> int:
    return users[0]


@pytest.fixture
def bob(users: tuple[int, int]) -> int:
    return users[1]
