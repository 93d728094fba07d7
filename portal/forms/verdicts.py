"""A signer's answer to a pitch, the pitcher's answer to a counter-offer, a rank on a waitlist."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from allocations.models.pitches import LONGEST_DAYS
from inventory.models import GpuModel
from portal.forms.asking import MOST_GPUS
from portal.forms.fields import day_field, reason_field

MOST_RANKS = 10_000  # keeps a typing slip inside the database's integers


class TermsFields(forms.Form):
    """Other terms and a rank, as somebody types them; what they leave open is as on the table."""

    model = forms.ModelChoiceField(label=_("GPU model"), required=False, queryset=GpuModel.objects.all())
    start_on = day_field(_("First day"), required=False)
    days = forms.IntegerField(label=_("Length in days"), required=False, min_value=1, max_value=LONGEST_DAYS)
    rank = forms.IntegerField(label=_("Rank"), required=False, min_value=1, max_value=MOST_RANKS)
    reason = reason_field(required=False)


class SignOffForm(TermsFields):
    """A signer's answer; `round` is the round that the signer saw. What other terms leave open is as on the table."""

    APPROVE, LESS, CHANGES, DECLINE, WAITLIST, RECUSE = "approve", "less", "changes", "decline", "waitlist", "recuse"
    ANSWERS = (APPROVE, LESS, CHANGES, DECLINE, WAITLIST, RECUSE)

    answer = forms.ChoiceField(choices=[(each, "") for each in ANSWERS], widget=forms.HiddenInput)
    round = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    role = forms.SlugField(widget=forms.HiddenInput)
    gpus = forms.IntegerField(label=_("GPUs"), required=False, min_value=1, max_value=MOST_GPUS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        answer = self.data.get("answer")
        self.fields["gpus"].required = answer == self.LESS
        self.fields["reason"].required = answer in (self.CHANGES, self.DECLINE, self.RECUSE)

    @property
    def said(self) -> dict[str, Any]:
        """What is typed beside verdict and reason, as `sign_off` takes it; of a valid form."""
        names = {self.LESS: ("gpus", "model", "start_on", "days"), self.WAITLIST: ("rank",)}
        return {name: self.cleaned_data[name] for name in names.get(self.cleaned_data["answer"], ())}


class OfferAnswerForm(forms.Form):
    """What the pitcher says to a counter-offer of the round that it saw."""

    ACCEPT, DECLINE = "accept", "decline"

    answer = forms.ChoiceField(choices=[(ACCEPT, ""), (DECLINE, "")], widget=forms.HiddenInput)
    round = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    reason = reason_field(required=False, label=_("Why: those who signed the offer read this"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = self.data.get("answer") == self.DECLINE


class RankForm(forms.Form):
    """A place on a waitlist."""

    rank = forms.IntegerField(label=_("Rank"), min_value=1, max_value=MOST_RANKS)
