"""The read-back as users: each holder gets in, strangers do not."""

import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from inventory.node_agent.enforce.as_user import NOBODY

# One fork a user; looking up groups at a directory server takes longest.
TIMEOUT_S = 20
# More members than that on one node are tested in part.
USERS_MOST = 256


def access_of(uids: Iterable[int], nodes: Mapping[Path, int]) -> dict[int, dict[Path, bool] | None]:
    """User (and nobody) -> node -> whether they get in; None: not known. `nodes`: path -> permission wanted."""
    users, paths = [*sorted({*uids} - {NOBODY})[:USERS_MOST], NOBODY], list(nodes.items())
    asked = [[uid, [[str(path), permission] for path, permission in paths]] for uid in users]
    program = pkgutil.get_data(__package__, "as_user.py")
    assert program is not None
    try:
        # A fresh interpreter: the agent has threads, and a fork among them is not safe. Its source travels along, since
        # the agent may be one zip file.
        told = subprocess.run(
            [sys.executable, "-I", "-c", program.decode()],
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        answers = json.loads(told.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return dict.fromkeys(users)
    return {
        uid: None if answer is None else {path: may for (path, _permission), may in zip(paths, answer, strict=True)}
        for uid, answer in zip(users, answers, strict=True)
    }


def differences(answers: Mapping[int, Mapping[Path, bool] | None], path: Path, allowed: Iterable[int]) -> str:
    """Who gets in against the list or is kept out in spite of it; "" if nobody."""
    let_in = set(allowed)
    wrong = []
    for uid, answer in answers.items():
        who = "nobody" if uid == NOBODY else f"uid {uid}"
        if answer is None:
            wrong.append(f"{who} could not be asked")
        elif answer[path] != (uid in let_in):
            wrong.append(f"{who} {'gets in' if answer[path] else 'is kept out'}")
    return ", ".join(wrong)
