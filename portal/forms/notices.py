"""How somebody wants to be told, and up to which notice the inbox was read."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.pages import LARGEST_KEY


class NoticePreferenceForm(forms.Form):
    """Mail, chat, and the hours in which neither comes."""

    by_mail = forms.BooleanField(label=_("By mail"), required=False)
    by_chat = forms.BooleanField(label=_("By chat"), required=False)
    quiet_from = forms.TimeField(
        label=_("From"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    quiet_until = forms.TimeField(
        label=_("Until"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )

    def __init__(self, *args: Any, has_chat: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["by_chat"].disabled = not has_chat


class ReadForm(forms.Form):
    """The newest notice that the person saw."""

    up_to = forms.IntegerField(min_value=0, max_value=LARGEST_KEY)
