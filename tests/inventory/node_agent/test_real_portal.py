"""One agent and a whole portal, as people start them: web, worker and beat in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inventory.node_agent import bundle
from portal.services.home import CHECKOUT
from tests.inventory.node_agent.processes import HOST, AgentProcess, free_port
from tests.inventory.node_agent.test_bundle import bare_python
from tests.inventory.nvml_stub.library import StubNode, nvml_library  # noqa: F401 - a fixture
from tests.portal.services.runs import started, until

pytestmark = pytest.mark.faults
LIMIT_S = 240  # takes ten seconds alone on the machine
SEEN = """
import time
from inventory.models import Reading
ends_s = time.monotonic() + 60
while not Reading.objects.filter(gpu__node__name="gpu-1", util_pct={util_pct}).exists():
    assert time.monotonic() < ends_s, list(Reading.objects.values("util_pct"))
    time.sleep(0.2)
print(Reading.objects.filter(gpu__node__name="gpu-1").count())
"""


def managed(home: Path, *arguments: str) -> str:
    """What the management command says last, on the services of that portal."""
    env = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    told = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT, env=env | {"ALLOT_HOME": str(home)}, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return told.stdout.strip().splitlines()[-1]


def test_an_agent_joins_a_running_portal_and_its_workers_see_what_changes(nvml_library, tmp_path):  # noqa: F811
    home, port = tmp_path / "home", free_port()
    fleet = tmp_path / "fleet.csv"
    fleet.write_text("name,site,island,model,gpus\ngpu-1,here,pod-1,NVIDIA H100 80GB HBM3,8\n")
    bundle.build(tmp_path / "allot-agent")
    stub = StubNode(nvml_library, tmp_path)
    stub.example("h100x8")
    command = (str(bare_python(tmp_path)), str(tmp_path / "allot-agent"))
    agent = AgentProcess(tmp_path / "agent", stub.environment, command)

    with started(home, "manage.py", "up", env={"ALLOT_PORT": str(port), "ALLOT_POLL_INTERVAL_S": "2"}) as run:
        until(lambda: f"allot: ready http://{HOST}:{port}/" in run.said or run.popen.poll() is not None, LIMIT_S)
        managed(home, "import_fleet", str(fleet))
        code = managed(home, "join_code", "gpu-1").split()[1]
        joined = agent.call("join", f"http://{HOST}:{port}", "--code", code, "--port", str(agent.port))
        agent.start()
        try:
            first = managed(home, "shell", "-v", "0", "-c", SEEN.format(util_pct=97))
            stub.add("[gpu 0]\nutil.gpu = 37")
            then = managed(home, "shell", "-v", "0", "-c", SEEN.format(util_pct=37))
        finally:
            agent.kill()
        said = run.said

    assert (joined.returncode, first, then) == (0, "8", "8")
    assert (code in said, "Traceback" in said) == (False, False)
