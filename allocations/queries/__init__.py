"""What pages, plans and rules ask about people, decisions and promises; nothing here writes."""

from allocations.queries.access import access_of, realm_of, untold_units
from allocations.queries.alike import LookAlike, look_alikes
from allocations.queries.barred import (
    barred_from,
    barred_from_loan,
    barred_from_pitch,
    conflicts_about,
    conflicts_now,
    in_conflict_with,
)
from allocations.queries.bookings import lendable, promised_until
from allocations.queries.counts import counts_of
from allocations.queries.idle import (
    agreed_rest,
    cases_to_answer,
    cases_visible_to,
    idle_grants,
    ladders,
    low_units,
    open_cases,
    phases_of,
    phases_visible_to,
)
from allocations.queries.leaving import Theirs, theirs
from allocations.queries.lending import (
    done_without,
    is_lent,
    lent_by_project,
    loan_of,
    loans_of,
    loans_visible_to,
    open_loans,
    with_due_gpus,
)
from allocations.queries.letters import Letters, letters
from allocations.queries.look import once_a_look, one_look
from allocations.queries.outcomes import delivered_at, late_gpu_days, results_due, results_of
from allocations.queries.people import (
    Mandate,
    acting,
    deputies_of,
    holders_of,
    mandates_of,
    people_with,
    permissions_on,
    projects_with,
    roles_held_by,
    roles_of,
    unplaced,
    without_signer,
)
from allocations.queries.plans import (
    NEED_LOOKAHEAD,
    ModelGpus,
    assignments_now,
    drift,
    holdings_now,
    needs,
    needs_to_come,
    open_moves,
    project_gpus,
    target,
)
from allocations.queries.policies import (
    Lane,
    Needed,
    Signing,
    Ways,
    fast_lane_gpu_hours,
    gpu_hours_of,
    open_lane,
    roles_for_pitch,
    roles_for_split,
    signing_of,
    ways_to_sign,
    with_split_signers,
)
from allocations.queries.promises import (
    DivisionCapacity,
    ModelCapacity,
    Percents,
    SplitEffect,
    capacities_of,
    capacity_of,
    coming_splits,
    divisions_of_lab,
    effective_split,
    percents_of,
    preview_split,
)
from allocations.queries.queue import (
    coming_to,
    counted_queue_of,
    projects_to_declare,
    queue_of,
    signable_by,
    waitlist_of,
)
from allocations.queries.renewals import RENEWS_WITHIN_DAYS, exception_renewed, loan_renewed
from allocations.queries.roster import (
    Vacancy,
    deputies_now_and_later,
    holders_to_stand_in_for,
    roles_without_holder,
)
from allocations.queries.sight import (
    grants_visible_to,
    pitches_of,
    pitches_visible_to,
    projects_visible_to,
    splits_visible,
)
from allocations.queries.signatures import (
    apart,
    in_turn,
    load_signatures,
    mandates_for,
    mandates_to_sign,
    needed_by,
    note_sign_off,
    overdue_roles,
    role_nobody_is_left_for,
    roles_in_turn,
    roles_that_wait,
    signers_of,
    unsigned_roles,
)
from allocations.queries.signers import (
    changes_to_answer,
    changes_waiting_for,
    due_by_policies,
    exceptions_waiting_for,
    loans_waiting_for,
    people_of,
    role_nobody_is_left_for_change,
    roles_for_change,
    roles_for_exception,
    roles_named,
    roles_that_wait_on_change,
    signature_fields,
    signers_for,
    signers_of_change,
    signing_rows,
    splits_waiting_for,
    with_signatures,
)
from allocations.queries.snapshot import build_snapshot, need_of
from allocations.queries.splitting import (
    DebtPlan,
    PitchShift,
    SplitPreview,
    debts_of,
    default_shares,
    exceptions_open,
    preview_for,
)
from allocations.queries.terms import Guarantees, OverTheQuota, guarantees_of, over_the_quota, terms_of
from allocations.queries.totals import DivisionTotal, Totals, held_by_division, measure_in_force, totals_of, weights_of
from allocations.queries.troubles import Hit, hit_by_cause, hits_of

__all__ = [
    "NEED_LOOKAHEAD", "RENEWS_WITHIN_DAYS", "DebtPlan", "DivisionCapacity", "DivisionTotal", "Guarantees", "Hit",
    "Lane", "Letters", "LookAlike", "Mandate", "ModelCapacity", "ModelGpus", "Needed", "OverTheQuota", "Percents",
    "PitchShift", "Signing", "SplitEffect", "SplitPreview", "Theirs", "Totals", "Vacancy", "Ways", "access_of",
    "acting", "agreed_rest", "apart", "assignments_now", "barred_from", "barred_from_loan", "barred_from_pitch",
    "build_snapshot", "capacities_of", "capacity_of", "cases_to_answer", "cases_visible_to", "changes_to_answer",
    "changes_waiting_for", "coming_splits", "coming_to", "conflicts_about", "conflicts_now", "counted_queue_of",
    "counts_of", "debts_of", "default_shares", "delivered_at", "deputies_now_and_later", "deputies_of",
    "divisions_of_lab", "done_without", "drift", "due_by_policies", "effective_split", "exception_renewed",
    "exceptions_open", "exceptions_waiting_for", "fast_lane_gpu_hours", "gpu_hours_of", "grants_visible_to",
    "guarantees_of", "held_by_division", "hit_by_cause", "hits_of", "holders_of", "holders_to_stand_in_for",
    "holdings_now", "idle_grants", "in_conflict_with", "in_turn", "is_lent", "ladders", "late_gpu_days", "lendable",
    "lent_by_project", "letters", "load_signatures", "loan_of", "loan_renewed", "loans_of", "loans_visible_to",
    "loans_waiting_for", "look_alikes", "low_units", "mandates_for", "mandates_of", "mandates_to_sign",
    "measure_in_force", "need_of", "needed_by", "needs", "needs_to_come", "note_sign_off", "once_a_look",
    "one_look", "open_cases", "open_lane", "open_loans", "open_moves", "over_the_quota", "overdue_roles",
    "people_of", "people_with", "percents_of", "permissions_on", "phases_of", "phases_visible_to", "pitches_of",
    "pitches_visible_to", "preview_for", "preview_split", "project_gpus", "projects_to_declare",
    "projects_visible_to", "projects_with", "promised_until", "queue_of", "realm_of", "results_due", "results_of",
    "role_nobody_is_left_for", "role_nobody_is_left_for_change", "roles_for_change", "roles_for_exception",
    "roles_for_pitch", "roles_for_split", "roles_held_by", "roles_in_turn", "roles_named", "roles_of",
    "roles_that_wait", "roles_that_wait_on_change", "roles_without_holder", "signable_by", "signature_fields",
    "signers_for", "signers_of", "signers_of_change", "signing_of", "signing_rows", "splits_visible",
    "splits_waiting_for", "target", "terms_of", "theirs", "totals_of", "unplaced", "unsigned_roles", "untold_units",
    "waitlist_of", "ways_to_sign", "weights_of", "with_due_gpus", "with_signatures", "with_split_signers",
    "without_signer",
]  # fmt: skip
