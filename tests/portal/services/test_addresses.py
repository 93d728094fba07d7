"""Where the database and the broker answer, before and after a start."""

from pathlib import Path

import environ
import psycopg
import pytest
import redis
from kombu import Connection

from portal.services import addresses
from portal.services.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")
    monkeypatch.setenv("ALLOT_HOME", str(tmp_path / "a home"))
    home = Home(tmp_path / "a home")
    home.create()
    return home


def test_addresses_from_the_environment_win(home, monkeypatch):
    addresses.note_address(home, "database_url", "postgres://allot@/allot?host=/embedded")
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example/allot")
    monkeypatch.setenv("REDIS_URL", "redis://broker.example/3")

    found = addresses.database_url(), addresses.redis_url()

    assert found == ("postgres://db.example/allot", "redis://broker.example/3")


def test_noted_addresses_are_found_and_closed_to_others(home):
    addresses.note_address(home, "database_url", "postgres://allot@/allot?host=/embedded")
    addresses.note_address(home, "redis_url", "redis://:secret@127.0.0.1:20001/0")

    found = addresses.database_url(), addresses.redis_url()

    assert found == ("postgres://allot@/allot?host=/embedded", "redis://:secret@127.0.0.1:20001/0")
    assert {oct((home.run / name).stat().st_mode) for name in ("database_url", "redis_url")} == {"0o100600"}
    assert oct(home.root.stat().st_mode) == "0o40700"


def test_before_any_start_nothing_listens_at_the_addresses(home):
    found = environ.Env.db_url_config(addresses.database_url())

    assert found["OPTIONS"] == {"host": str(home.run)}
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(addresses.database_url())
    client = redis.Redis.from_url(addresses.redis_url())
    with pytest.raises(redis.ConnectionError):
        client.ping()
    client.close()


def test_the_embedded_database_is_reached_by_the_address_as_libpq_and_as_django_read_it():
    url = addresses.database_url()
    parsed = environ.Env.db_url_config(url)

    with (
        psycopg.connect(url) as by_libpq,
        psycopg.connect(dbname=parsed["NAME"], user=parsed["USER"], **parsed["OPTIONS"]) as by_parts,
    ):
        said = [link.execute("SELECT current_database()").fetchone() for link in (by_libpq, by_parts)]

    assert said == [("allot",), ("allot",)]


def test_the_embedded_broker_is_reached_by_the_same_address_from_celery_and_redis_py():
    url = addresses.redis_url()

    with Connection(url) as by_celery:
        by_celery.ensure_connection(max_retries=1)
        reached = by_celery.connected
    client = redis.Redis.from_url(url)
    policy = client.config_get("maxmemory-policy")
    client.close()

    assert reached
    assert policy == {"maxmemory-policy": "noeviction"}


def test_the_embedded_broker_refuses_who_has_no_password():
    url = addresses.redis_url()
    client = redis.Redis.from_url(f"redis://{url.rpartition('@')[2]}")

    with pytest.raises(redis.AuthenticationError):
        client.ping()

    client.close()
