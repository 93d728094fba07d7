"""Who runs on a GPU: the processes of its newest reading, with the people behind their Unix ids."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.utils import timezone

from allocations.models import UnixAccount
from inventory.models import Gpu


class Occupant(NamedTuple):
    """A process. `person` "" is nobody known; `allowed` None: the node did not say."""

    pid: int
    user: str
    person: str
    name: str
    job: str
    mem_mib: int | None
    started_at: datetime | None
    allowed: bool | None
    zombie: bool


def occupants_of(gpu: Gpu, *, now: datetime | None = None) -> list[Occupant] | None:
    """The processes in the newest reading, largest memory first; None where it tells none. At most one query."""
    reading = getattr(gpu, "reading", None)
    if reading is None or reading.processes is None:
        return None
    uids = {process["uid"] for process in reading.processes if process.get("uid") is not None}
    people = _people(uids, str(gpu.node.labels.get("realm", "")), now or timezone.now()) if uids else {}
    found = [_occupant(process, people) for process in reading.processes]
    return sorted(found, key=lambda one: (-(one.mem_mib or 0), one.pid))


def _people(uids: Iterable[int], realm: str, now: datetime) -> dict[int, str]:
    accounts = UnixAccount.objects.filter(uid__in=uids, realm=realm, during__contains=now).select_related("person")
    return {account.uid: account.person.name for account in accounts}


def _occupant(process: dict[str, Any], people: dict[int, str]) -> Occupant:
    started_at_s = process.get("started_at_s")
    return Occupant(
        process["pid"],
        process.get("user") or "",
        people.get(process.get("uid", -1), ""),
        process.get("name") or "",
        process.get("job") or "",
        process.get("mem_mib"),
        datetime.fromtimestamp(started_at_s, UTC) if started_at_s else None,
        process.get("allowed"),
        bool(process.get("zombie")),
    )
