"""The agent's configuration: few keys, each of its type, and no surprise."""

import tomllib
from pathlib import Path

import pytest

from inventory.node_agent.config import BadConfig, Config, read_config
from inventory.node_agent.version import VERSION


def written(tmp_path, text: str) -> Path:
    path = tmp_path / "allot-agent.toml"
    path.write_text(text)
    return path


def test_what_the_file_says_holds_and_the_rest_is_as_shipped(tmp_path):
    path = written(
        tmp_path, 'state_dir = "/srv/agent"\nservice_accounts = ["root"]\ngrace_s = 30\nobserve_only = true\n'
    )

    config = read_config(path)

    assert config == Config(state_dir=Path("/srv/agent"), service_accounts=("root",), grace_s=30.0, observe_only=True)
    assert (config.policy(observe_only=False).observe_only, config.layout().state) == (True, Path("/srv/agent"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gracs_s = 3", "nothing is called gracs_s"),
        ("grace_s = true", "grace_s = True is not like 60.0"),
        ("grace_s = -1", "grace_s = -1 is not like 60.0"),
        ('observe_only = "yes"', "observe_only = 'yes' is not like False"),
        ('service_accounts = "dcgm"', "service_accounts = 'dcgm' is not like ()"),
        ("state_dir = 3", "state_dir = 3 is not like"),
        ("= 3", "Invalid statement"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_key(tmp_path, text, why):
    with pytest.raises(BadConfig, match=why.replace("(", r"\(").replace(")", r"\)")):
        read_config(written(tmp_path, text))


def test_a_file_that_was_named_must_be_there_the_usual_one_need_not(tmp_path, monkeypatch):
    monkeypatch.setattr("inventory.node_agent.config.CONFIG", tmp_path / "usual.toml")

    assert read_config(None) == Config()
    with pytest.raises(BadConfig):
        read_config(tmp_path / "named.toml")


def test_a_service_account_that_is_not_there_gets_no_right(caplog):
    config = Config(service_accounts=("nobody", "no-such-login"))

    assert config.policy(observe_only=False).service_uids == {65534}
    assert "no account is called no-such-login" in caplog.text


def test_the_agent_has_the_portals_version():
    assert tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"] == VERSION
