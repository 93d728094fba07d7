"""Executables that a person names in the environment, and those that are no good."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.services import postgres, valkey
from portal.services.errors import CannotStart
from portal.services.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    home.create()
    yield home
    home.remove()


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def refusal(prepare, home: Home) -> str:
    with pytest.raises(CannotStart) as caught:
        prepare(home)
    return str(caught.value)


def test_a_folder_without_postgres_is_refused(home, tmp_path, monkeypatch):
    monkeypatch.setenv("ALLOT_POSTGRES_BIN", str(tmp_path))

    sentence = refusal(postgres.prepare, home)

    assert sentence == f"ALLOT_POSTGRES_BIN names the folder {tmp_path}, but there is no executable postgres in it."


def test_something_that_is_not_postgres_is_refused(home, tmp_path, monkeypatch):
    for name in ("postgres", "initdb"):
        script(tmp_path / "bin" / name, "echo frog 1.0")
    monkeypatch.setenv("ALLOT_POSTGRES_BIN", str(tmp_path / "bin"))

    sentence = refusal(postgres.prepare, home)

    assert sentence == f"{tmp_path}/bin/postgres is not a PostgreSQL server: --version says 'frog 1.0\\n'."


def test_an_old_postgres_is_refused(home, tmp_path, monkeypatch):
    for name in ("postgres", "initdb"):
        script(tmp_path / "bin" / name, "echo 'postgres (PostgreSQL) 15.8'")
    monkeypatch.setenv("ALLOT_POSTGRES_BIN", str(tmp_path / "bin"))

    sentence = refusal(postgres.prepare, home)

    assert sentence == f"{tmp_path}/bin/postgres is PostgreSQL 15; 17 or newer is needed."


def test_a_data_folder_of_another_major_version_is_refused(home):
    command = postgres.prepare(home, durable=False).command
    data = Path(command[command.index("-D") + 1])
    (data / "PG_VERSION").write_text("17\n")

    sentence = refusal(postgres.prepare, home)

    assert sentence == (
        f"{data} was made by PostgreSQL 17, but {Path(command[0]).parent} is 18: "
        "move the data with pg_dump and pg_restore, or name the older executables in ALLOT_POSTGRES_BIN."
    )


def test_an_initdb_that_fails_leaves_no_data_folder_and_says_why(home, open_folder, monkeypatch):
    script(open_folder / "bin" / "postgres", "echo 'postgres (PostgreSQL) 18.1'")
    script(open_folder / "bin" / "initdb", "echo no space left; exit 1")
    monkeypatch.setenv("ALLOT_POSTGRES_BIN", str(open_folder / "bin"))

    sentence = refusal(postgres.prepare, home)

    fresh = Path(sentence.partition("its data folder ")[2].partition(": ")[0])
    assert sentence == f"PostgreSQL could not make its data folder {fresh}: no space left\n"
    assert not fresh.with_suffix("").exists()


def test_a_valkey_that_is_not_there_is_refused(home, tmp_path, monkeypatch):
    monkeypatch.setenv("ALLOT_VALKEY_BIN", str(tmp_path / "none"))

    sentence = refusal(valkey.prepare, home)

    assert sentence == (
        f"{tmp_path}/none (ALLOT_VALKEY_BIN) cannot be run: [Errno 2] No such file or directory: '{tmp_path}/none'."
    )


def test_something_that_is_not_valkey_is_refused(home, tmp_path, monkeypatch):
    monkeypatch.setenv("ALLOT_VALKEY_BIN", str(script(tmp_path / "frog", "echo frog 1.0")))

    sentence = refusal(valkey.prepare, home)

    assert sentence == f"{tmp_path}/frog is not a Valkey or Redis server: --version says 'frog 1.0\\n'."


def test_named_executables_are_the_ones_that_run(home, tmp_path, monkeypatch):
    (tmp_path / "pg").symlink_to(postgres.executables_folder().parent)
    server = tmp_path / "valkey"
    server.symlink_to(valkey.executable())
    monkeypatch.setenv("ALLOT_POSTGRES_BIN", str(tmp_path / "pg" / "bin"))
    monkeypatch.setenv("ALLOT_VALKEY_BIN", str(server))

    found = postgres.executables_folder(), valkey.executable()

    assert found == (tmp_path / "pg" / "bin", server)


def test_a_taken_port_is_replaced_and_a_free_one_kept(home):
    first = valkey.prepare(home)
    before = (home.run / "redis_url").read_text()
    again = valkey.prepare(home)
    kept = (home.run / "redis_url").read_text()

    with valkey.socket.socket() as stranger:
        stranger.bind((valkey.HOST, int(before.rpartition(":")[2].removesuffix("/0"))))
        stranger.listen()
        valkey.prepare(home)
    moved = (home.run / "redis_url").read_text()

    assert first.about == again.about
    assert kept == before
    assert moved != before
