"""A node as a file declares it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeclaredNode:
    """One row. `site` and `island` "": the file does not say; `labels` are added to those the node has."""

    name: str
    model: str
    gpus: int
    line: int
    site: str = ""
    island: str = ""
    labels: dict[str, str | int] = field(default_factory=dict)
