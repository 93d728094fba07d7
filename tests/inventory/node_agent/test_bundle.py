"""The one file: what is in it, that it is the same each time, and that it needs nothing but a python3."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from inventory.node_agent import bundle

FORBIDDEN = ("django", "cryptography", "rest_framework", "psycopg", "celery")
COMPILED = (".so", ".pyd", ".pyc")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "allot-agent"
    bundle.build(path)
    return path


def test_it_holds_the_agent_and_what_it_needs_and_nothing_compiled(built):
    names = zipfile.ZipFile(built).namelist()

    tops = {name.split("/")[0] for name in names}
    assert {"inventory", "aiohttp", "pynvml.py", "yarl", "__main__.py"} <= tops
    assert [name for name in names if name.lower().startswith(FORBIDDEN) or name.endswith(COMPILED)] == []
    assert {name.split("/")[1] for name in names if name.startswith("inventory/")} == {"__init__.py", "node_agent"}


def test_it_is_the_same_however_often_it_is_built(built, tmp_path):
    bundle.build(tmp_path / "again")

    assert (tmp_path / "again").read_bytes() == built.read_bytes()


def test_it_runs_on_a_python_without_any_package(built, tmp_path):
    bare = bare_python(tmp_path)
    (tmp_path / "empty").mkdir()

    said = subprocess.run(
        [bare, built, "--version"], cwd=tmp_path / "empty", capture_output=True, text=True, check=True, env={}
    )
    packages = subprocess.run([bare, "-c", "import aiohttp"], capture_output=True, text=True)

    assert said.stdout == "allot-agent 0.1.0\n"
    assert "No module named 'aiohttp'" in packages.stderr


def test_it_installs_itself_with_its_service(built, tmp_path):
    told = [sys.executable, "-I", built, "install", "--root", tmp_path / "image"]

    said = [subprocess.run(told, capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)]

    image = tmp_path / "image"
    program, unit = image / "usr/local/bin/allot-agent", image / "etc/systemd/system/allot-agent.service"
    files = sorted(str(path) for path in image.rglob("*") if path.is_file())
    assert (sorted(said[0]), said[0]) == (files, said[1])
    assert (program.read_bytes(), program.stat().st_mode & 0o777) == (built.read_bytes(), 0o755)
    assert "ExecStart=/usr/local/bin/allot-agent run\n" in unit.read_text()


def test_the_source_does_not_install_itself(tmp_path):
    told = [sys.executable, "-m", "inventory.node_agent", "install", "--root", tmp_path]

    ended = subprocess.run(told, capture_output=True, text=True)

    assert (ended.returncode, ended.stdout) == (1, "only the built file installs itself: make agent\n")


def bare_python(folder: Path) -> Path:
    """The interpreter of a new environment with nothing installed, not even pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    return folder / "bare/bin/python"


def test_an_older_python_is_told_so_in_a_sentence():
    began = bundle.START.replace("sys.version_info < (3, 11)", "sys.version_info > (3, 11)")

    ended = subprocess.run([sys.executable, "-c", began], capture_output=True, text=True)

    assert (ended.returncode, ended.stderr.startswith("allot-agent needs Python 3.11 or later")) == (1, True)


def test_a_requirement_that_is_not_installed_stops_the_build():
    with pytest.raises(ModuleNotFoundError):
        bundle.needed("no-such-package\n")


def test_a_version_that_does_not_fit_stops_the_build():
    with pytest.raises(AssertionError, match="aiohttp<2 is wanted"):
        bundle.needed("aiohttp<2\n")
