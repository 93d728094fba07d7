"""Build the agent as one file that runs wherever python3 is: `python -m inventory.node_agent.bundle allot-agent`.

The installed packages are taken as they are, without their compiled parts, which are optional in all of them: so one
file fits every processor and every Python from 3.11 on, and is the same however often it is built.
"""

import argparse
import re
import stat
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements-agent.txt"
INTERPRETER = b"#!/usr/bin/env python3\n"
START = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("allot-agent needs Python 3.11 or later; this is " + sys.version.split()[0])

from inventory.node_agent.__main__ import main

sys.exit(main())
"""
OWN = (".py", ".service", ".rules")
# The earliest that a zip file can say.
BUILT_AT = (1980, 1, 1, 0, 0, 0)
EXECUTABLE = stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH
LEFT_OUT = re.compile(
    r"__pycache__|\.(so|pyd|pyx|pxd|pxi|c|h|pyi|hash)$|\.dist-info/(RECORD|INSTALLER|REQUESTED)|^\.\.|^bin/"
)


def build(target: Path) -> None:
    """`target` is the agent, executable. Raises PackageNotFoundError where the environment lacks a requirement."""
    files = dict(sorted([*_own(), *_packages(), ("__main__.py", START.encode())]))
    beside = target.with_name(target.name + ".beside")
    with beside.open("wb") as file:
        file.write(INTERPRETER)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name, BUILT_AT), content, zipfile.ZIP_DEFLATED)
    beside.chmod(EXECUTABLE)
    beside.replace(target)


def _own() -> Iterator[tuple[str, bytes]]:
    yield "inventory/__init__.py", (ROOT / "inventory/__init__.py").read_bytes()
    for path in (ROOT / "inventory/node_agent").rglob("*"):
        if path.suffix in OWN and path != Path(__file__):
            yield str(path.relative_to(ROOT)), path.read_bytes()


def _packages() -> Iterator[tuple[str, bytes]]:
    for package in needed(REQUIREMENTS.read_text()):
        for file in package.files or ():
            if not LEFT_OUT.search(str(file)):
                yield str(file), Path(str(file.locate())).read_bytes()


def needed(requirements: str) -> list[Distribution]:
    """The installed packages that these lines name, with all that they need in turn, by name."""
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    waiting = [Requirement(line) for line in lines if line]
    found: dict[str, Distribution] = {}
    while waiting:
        requirement = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        package = distribution(requirement.name)
        assert requirement.specifier.contains(package.version), f"{requirement} is wanted, {package.version} is here"
        if package.name not in found:
            found[package.name] = package
            waiting += [Requirement(line) for line in package.requires or ()]
    return [found[name] for name in sorted(found)]


def main() -> None:
    """Builds, and says what it built."""
    parser = argparse.ArgumentParser(prog="python -m inventory.node_agent.bundle", description=__doc__)
    parser.add_argument("target", type=Path)
    target: Path = parser.parse_args().target
    build(target)
    sys.stdout.write(f"{target}: {target.stat().st_size // 1024} KiB\n")


if __name__ == "__main__":
    main()
