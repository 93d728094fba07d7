"""The state folder of one Allot on one machine (ALLOT_HOME): what lies where in it."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from portal.services.errors import CannotStart

CHECKOUT = Path(__file__).resolve().parents[2]
# Where `nobody` keeps its data when root's own folders are closed to it. The system's place for state that survives a
# reboot; the folder for temporary files is taken where that one cannot be written.
OUTSIDE = (Path("/var/lib/allot"), Path(tempfile.gettempdir()))


def allot_home() -> Path:
    """The state folder: ALLOT_HOME, or `.allot` in the checkout. It need not exist."""
    return Path(os.environ.get("ALLOT_HOME") or CHECKOUT / ".allot").absolute()


@dataclass(frozen=True)
class Home:
    """A state folder. Only its owner may enter, for it holds the broker's password and the logs."""

    root: Path

    @property
    def run(self) -> Path:
        """Locks, addresses and, where the path is short enough, PostgreSQL's socket."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def people(self) -> Path:
        """Whom to log in as in the demo lab; written by `manage.py seed_demo`."""
        return self.root / "people.txt"

    def create(self) -> None:
        """The folders are there and closed to others.

        Raises CannotStart.
        """
        try:
            for folder in (self.root, self.run, self.logs):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.root.chmod(0o700)
        except OSError as error:
            raise CannotStart(
                f"The state folder {self.root} cannot be used ({error.strerror}): set ALLOT_HOME."
            ) from error

    def outside(self) -> Path:
        """A folder that root owns and anyone may pass through, for what `nobody` must reach; the same at each call."""
        pointer = self.root / "outside"
        if pointer.exists() and (kept := Path(pointer.read_text())).is_dir():
            return kept
        for parent in OUTSIDE:
            try:
                parent.mkdir(mode=0o711, exist_ok=True)
                folder = Path(tempfile.mkdtemp(prefix="allot-", dir=parent))
            except OSError:
                continue
            folder.chmod(0o711)
            pointer.write_text(str(folder))
            return folder
        raise CannotStart(f"Neither {OUTSIDE[0]} nor {OUTSIDE[1]} can be written, and PostgreSQL needs one of them.")

    def remove(self) -> None:
        """The state folder and what it keeps outside are gone. Nothing may run from it."""
        pointer = self.root / "outside"
        if pointer.exists() and (kept := Path(pointer.read_text())).parent in OUTSIDE:
            shutil.rmtree(kept, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)


def write_private(path: Path, text: str) -> None:
    """The file holds `text` and only its owner may read it; a reader never sees half of it."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)
