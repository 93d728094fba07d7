"""Fleets declared by files: read, compared with what is known, written in one transaction."""

from inventory.imports.declared import DeclaredCard, DeclaredNode, FleetFile
from inventory.imports.recognised import read_fleet_file
from inventory.imports.store import Change, ImportReport, LeftOut, import_fleet

__all__ = [
    "Change",
    "DeclaredCard",
    "DeclaredNode",
    "FleetFile",
    "ImportReport",
    "LeftOut",
    "import_fleet",
    "read_fleet_file",
]
