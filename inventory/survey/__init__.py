"""Ask nodes what they see, and record what they said: facts, with their instants, and nothing else."""

from inventory.survey.asking import Answer, ask
from inventory.survey.history import keep_history
from inventory.survey.slices import SLICE_NODES, count_slices, due_nodes, survey_slice
from inventory.survey.store import store_survey
from inventory.survey.surveying import survey_nodes

__all__ = [
    "SLICE_NODES",
    "Answer",
    "ask",
    "count_slices",
    "due_nodes",
    "keep_history",
    "store_survey",
    "survey_nodes",
    "survey_slice",
]
