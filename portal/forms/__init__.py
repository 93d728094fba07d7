"""What people type, turned into values; no rule of the business lives here."""

from portal.forms.asking import AskForm
from portal.forms.conflicts import ConflictForm, EndConflictForm
from portal.forms.deputies import DeputyForm, EndDeputyForm
from portal.forms.grants import (
    AnswerChangeForm,
    ChangeForm,
    EndGrantForm,
    ExtensionForm,
    ResultForm,
    SignChangeForm,
)
from portal.forms.idle import KeepForm, PhaseForm
from portal.forms.lending import AnswerLoanForm, ExceptionForm, LoanForm
from portal.forms.people import LeadForm, LetGoForm, MemberForm
from portal.forms.pitches import EmergencyForm, PitchForm, ReasonForm
from portal.forms.projects import EndProjectForm, ResumeForm, TermsForm, WindDownForm
from portal.forms.splits import SignSplitForm, SplitForm
from portal.forms.verdicts import OfferAnswerForm, RankForm, SignOffForm

__all__ = [
    "AnswerChangeForm",
    "AnswerLoanForm",
    "AskForm",
    "ChangeForm",
    "ConflictForm",
    "DeputyForm",
    "EmergencyForm",
    "EndConflictForm",
    "EndDeputyForm",
    "EndGrantForm",
    "EndProjectForm",
    "ExceptionForm",
    "ExtensionForm",
    "KeepForm",
    "LeadForm",
    "LetGoForm",
    "LoanForm",
    "MemberForm",
    "OfferAnswerForm",
    "PhaseForm",
    "PitchForm",
    "RankForm",
    "ReasonForm",
    "ResultForm",
    "ResumeForm",
    "SignChangeForm",
    "SignOffForm",
    "SignSplitForm",
    "SplitForm",
    "TermsForm",
    "WindDownForm",
]
