"""What people type, turned into values; no rule of the business lives here."""

from portal.forms.asking import AskForm
from portal.forms.deputies import DeputyForm, EndDeputyForm
from portal.forms.grants import EndGrantForm
from portal.forms.people import LeadForm, LetGoForm, MemberForm
from portal.forms.pitches import PitchForm, ReasonForm, SignOffForm
from portal.forms.projects import EndProjectForm, ResumeForm, WindDownForm
from portal.forms.splits import SignSplitForm, SplitForm

__all__ = [
    "AskForm",
    "DeputyForm",
    "EndDeputyForm",
    "EndGrantForm",
    "EndProjectForm",
    "LeadForm",
    "LetGoForm",
    "MemberForm",
    "PitchForm",
    "ReasonForm",
    "ResumeForm",
    "SignOffForm",
    "SignSplitForm",
    "SplitForm",
    "WindDownForm",
]
