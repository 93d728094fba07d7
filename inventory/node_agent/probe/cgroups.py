"""What a process belongs to, from the text of /proc/PID/cgroup. Only what no user can write is believed."""

import re
from collections.abc import Iterable

CONTAINER = re.compile(r"(?:^|[-:/])([0-9a-f]{64})(?:\.scope)?$")
LEASE = re.compile(r"gpu-lease-([A-Za-z0-9_-]+)\.scope")
SLURM_SCOPE = re.compile(r"(?:.+_)?slurmstepd\.scope")
SLURM_V1 = re.compile(r"^/slurm(?:_[^/]+)?/uid_\d+/job_(\d+)(?:/|$)")
SERVICE = re.compile(r"([^/]+)\.service")
# Twelve digits are what docker and podman show.
SHORT = 12


def job_of(cgroup: str) -> str:
    """`lease:42`, `slurm:123`, `container:1f2e3d4c5b6a`, `service:x`, or "" for what stands for itself."""
    paths = [line.split(":", 2)[2] for line in cgroup.splitlines() if line.count(":") >= 2]
    for kind in (_lease, _slurm, _container, _service):
        for path in paths:
            if job := kind(path):
                return job
    return ""


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment not in ("", "..")]


def _under_slices_only(before: Iterable[str]) -> bool:
    # Below a user's own service manager, or inside a container, anybody may name a scope as they like.
    return all(segment.endswith(".slice") for segment in before)


def _lease(path: str) -> str:
    segments = _segments(path)
    for place, segment in enumerate(segments):
        if (found := LEASE.fullmatch(segment)) and _under_slices_only(segments[:place]):
            return f"lease:{found[1]}"
    return ""


def _slurm(path: str) -> str:
    if found := SLURM_V1.match(path):
        return f"slurm:{found[1]}"
    segments = _segments(path)
    for place, segment in enumerate(segments[:-1]):
        job = re.fullmatch(r"job_(\d+)", segments[place + 1])
        if SLURM_SCOPE.fullmatch(segment) and job and _under_slices_only(segments[:place]):
            return f"slurm:{job[1]}"
    return ""


def _container(path: str) -> str:
    # The innermost: a node that is itself a container runs others.
    ids = [found[1] for segment in _segments(path) if (found := CONTAINER.search(segment))]
    return f"container:{ids[-1][:SHORT]}" if ids else ""


def _service(path: str) -> str:
    segments = _segments(path)
    if segments[:1] != ["system.slice"]:
        return ""
    names = [found[1] for segment in segments[1:] if (found := SERVICE.fullmatch(segment))]
    return f"service:{names[-1]}" if names else ""
