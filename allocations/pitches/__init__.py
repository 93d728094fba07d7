"""Pitches: written, submitted to the roles that policies name that day, signed by all of them or declined by one."""

from allocations.pitches.drafts import resubmit_pitch, save_draft
from allocations.pitches.handover import hand_over_pitch
from allocations.pitches.signing import sign_off
from allocations.pitches.submission import submit_pitch, withdraw_pitch

__all__ = [
    "hand_over_pitch",
    "resubmit_pitch",
    "save_draft",
    "sign_off",
    "submit_pitch",
    "withdraw_pitch",
]
