"""Decisions on a grant that runs: a longer time, fewer GPUs, an earlier end; they hold with the last signature."""

from allocations.changes.answers import answer_change
from allocations.changes.asking import ask_change, ask_extension, signers_needed, withdraw_change
from allocations.changes.due import tend
from allocations.changes.signing import sign_change

__all__ = ["answer_change", "ask_change", "ask_extension", "sign_change", "signers_needed", "tend", "withdraw_change"]
