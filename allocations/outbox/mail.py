"""Mail, through the server that the settings name."""

from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend

from allocations.outbox.letters import AT_ONCE, PARKED_AFTER, PATIENT, Letter, Out, Refused

MAIL_TIMEOUT_S = 10  # a server that says nothing for so long is out; the rows of one person are locked meanwhile
FOR_GOOD = 500  # replies from here on say that a repeat will be refused, too (RFC 5321, 4.2.1)


class Mail:
    """One conversation with the mail server, begun with the first letter and anew after a refusal."""

    def __init__(self) -> None:
        self._connection: BaseEmailBackend = get_connection(timeout=MAIL_TIMEOUT_S)

    def send(self, letter: Letter) -> None:
        """The mail server has taken it. Raises Out, Refused."""
        if not letter.person.email:
            raise Refused("the person has no mail address", park_after=AT_ONCE)
        try:
            self._connection.open()
        except OSError as error:  # SMTPException is one
            raise Out(str(error)) from error
        try:
            self._mail(letter).send()
        except (SMTPException, OSError) as error:
            self._connection.close()  # what follows needs a fresh conversation
            raise Refused(str(error), park_after=PARKED_AFTER if _is_final(error) else PATIENT) from error
        except ValueError as error:
            # An address or a header that no mail can have: no repeat helps, and no other mail shall wait behind it.
            raise Refused(f"no mail can be made of it: {error}", park_after=AT_ONCE) from error

    def close(self) -> None:
        """The conversation is over."""
        self._connection.close()

    def _mail(self, letter: Letter) -> EmailMessage:
        return EmailMessage(
            subject=letter.subject,
            body=letter.body,
            to=[letter.person.email],
            headers={"Message-ID": f"<{letter.reference}@allot>", "Auto-Submitted": "auto-generated"},
            connection=self._connection,
        )


def _is_final(error: Exception) -> bool:
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= FOR_GOOD for code, _text in error.recipients.values())
    return isinstance(error, SMTPResponseException) and error.smtp_code >= FOR_GOOD
