"""Where people are told, and what became of each message."""

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from allocations import outbox
from allocations.models import (
    NoticePreference,
    OutboxMessage,
)
from inventory.admin import Recorded, Shown


class ChatAddress(forms.ModelForm):
    """An address that some chat service understands."""

    def clean_chat_url(self) -> str:
        """The address as it was typed."""
        chat_url: str = self.cleaned_data["chat_url"]
        if chat_url and not outbox.hidden_address(chat_url):
            raise forms.ValidationError(_("No chat service has such an address."))
        return chat_url


@admin.register(NoticePreference)
class NoticePreferenceAdmin(Recorded):
    """Where the chat of a person is; the rest is the person's own choice."""

    form = ChatAddress
    secrets = ("chat_url",)
    fields = ("person", "chat_url")
    list_display = ("person", "by_mail", "by_chat")
    list_select_related = ("person",)

    def get_readonly_fields(self, request: HttpRequest, obj: NoticePreference | None = None) -> tuple[str, ...]:
        """Whose it is stays."""
        return ("person",) if obj else ()


@admin.register(OutboxMessage)
class OutboxMessageAdmin(Shown):
    """Why a message was put off or parked."""

    list_display = ("subject", "person", "channel", "not_before", "attempts", "sent_at", "parked_at", "fault")
    list_filter = (("parked_at", admin.EmptyFieldListFilter), ("sent_at", admin.EmptyFieldListFilter))
    list_select_related = ("person",)
