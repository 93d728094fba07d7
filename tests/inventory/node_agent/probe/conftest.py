"""A node without a GPU that has some."""

from tests.inventory.nvml_stub.library import node, nvml_library

__all__ = ["node", "nvml_library"]
