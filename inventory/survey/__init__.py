"""Ask nodes what they see, and record what they said: facts, with their instants, and nothing else."""

from inventory.survey.asking import Answer, ask
from inventory.survey.history import forget_surveys, keep_history
from inventory.survey.slices import SLICE_NODES, due_nodes, jitter_s, slices_in_turn, survey_slice
from inventory.survey.store import store_survey
from inventory.survey.surveying import survey_nodes

__all__ = [
    "SLICE_NODES",
    "Answer",
    "ask",
    "due_nodes",
    "forget_surveys",
    "jitter_s",
    "keep_history",
    "slices_in_turn",
    "store_survey",
    "survey_nodes",
    "survey_slice",
]
