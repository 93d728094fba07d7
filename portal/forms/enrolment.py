"""What ops type about a node's agent, and how far an island's agents are to go."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from inventory.models import Node
from portal.forms.operate import REASON_LENGTH

LOOKS = _("Look only. Nothing on the nodes changes: Allot shows what runs where.")
SAYS = _("Say what it would do. Nothing changes either; who uses a GPU without a right is listed here.")
ENFORCES = _(
    "Open GPUs for their holders only. Nobody else can start work on them; work without a right is ended after notice."
)


class RevokeForm(forms.Form):
    """Why a node is believed no longer."""

    reason = forms.CharField(label=_("Why"), max_length=REASON_LENGTH)


class ModeForm(forms.Form):
    """A mode for all nodes of an island, with the reason; enforcing is confirmed by a box of its own."""

    mode = forms.ChoiceField(
        label=_("From now on its agents"),
        choices=[(Node.Mode.OBSERVE, LOOKS), (Node.Mode.SHADOW, SAYS), (Node.Mode.ENFORCE, ENFORCES)],
        widget=forms.RadioSelect,
    )
    reason = forms.CharField(label=_("Why"), max_length=REASON_LENGTH)
    confirmed = forms.BooleanField(
        label=_("I have looked at who would lose access, and they know."),
        required=False,
        help_text=_("Needed for the third only."),
    )

    def clean(self) -> dict[str, Any]:
        """Enforcing is never an accident."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if given.get("mode") == Node.Mode.ENFORCE and not given.get("confirmed"):
            self.add_error("confirmed", _("Look at the list below first, then tick this."))
        return given
