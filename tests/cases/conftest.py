"""The lab and the machines of the decisions' tests: a report's case plays in the same world."""

from tests.allocations.conftest import machines, noon, world

__all__ = ["machines", "noon", "world"]
