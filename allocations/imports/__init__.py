"""Pitches that were written elsewhere come in as drafts, each with what is missing or unclear in it."""

from allocations.imports.read import BadPitchFile, PitchRow, Unreadable, read_pitch_file
from allocations.imports.store import ImportedPitches, import_pitches

__all__ = ["BadPitchFile", "ImportedPitches", "PitchRow", "Unreadable", "import_pitches", "read_pitch_file"]
