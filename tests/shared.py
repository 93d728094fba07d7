"""Real public data that lies beside the checkout on some machines, and is no part of the project."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data() -> Path:
    """The folder; the test is skipped where it is not there."""
    if not DATA.is_dir():
        pytest.skip("the public data of ../shared/data is not here")
    return DATA
