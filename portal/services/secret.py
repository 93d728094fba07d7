"""The secret key of one machine, made at the first start where the environment names none."""

import os
import secrets
from pathlib import Path


def secret_key(home: Path) -> str:
    """The key kept in `home`, readable by its owner only; made by whoever comes first."""
    path = home / "secret_key"
    home.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return path.read_text()
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(48))
    return path.read_text()
