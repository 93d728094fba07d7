"""What the tests of the services share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that somebody else may use."""
    folder = Path(tempfile.mkdtemp(prefix="allot-open-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)
