"""Pitches: written, submitted to the roles that policies name that day, answered by them, offered and accepted."""

from allocations.pitches.answers import accept_offer, decline_offer
from allocations.pitches.drafts import resubmit_pitch, save_draft
from allocations.pitches.handover import hand_over_pitch
from allocations.pitches.revisions import changed_since
from allocations.pitches.signing import sign_off
from allocations.pitches.submission import submit_pitch, withdraw_pitch
from allocations.pitches.terms import is_accepted_beforehand, most_gpus
from allocations.pitches.undo import undo_sign_off
from allocations.pitches.waitlist import point_out_waitlisted, rank_waitlisted

__all__ = [
    "accept_offer",
    "changed_since",
    "decline_offer",
    "hand_over_pitch",
    "is_accepted_beforehand",
    "most_gpus",
    "point_out_waitlisted",
    "rank_waitlisted",
    "resubmit_pitch",
    "save_draft",
    "sign_off",
    "submit_pitch",
    "undo_sign_off",
    "withdraw_pitch",
]
