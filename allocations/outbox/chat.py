"""Chat, through apprise: the address that an admin gave to the person says which service and how."""

from apprise import Apprise, AppriseAsset, NotifyFormat
from apprise.plugins import NotifyBase

from allocations.outbox.letters import AT_ONCE, PATIENT, Letter, Refused

CHAT_TIMEOUT_S = 10  # a server that says nothing for so long is out; the rows of one person are locked meanwhile
ASSET = AppriseAsset(app_id="Allot", app_desc="Allot", app_url="", service_timeout=CHAT_TIMEOUT_S, secure_logging=True)


class Chat:
    """Each letter has its own address, so nothing stays open between them."""

    def send(self, letter: Letter) -> None:
        """The chat server has taken it. Raises Refused: apprise does not tell a server that is out from a refusal."""
        wish = getattr(letter.person, "notice_preference", None)
        if wish is None or not wish.chat_url:
            raise Refused("the person has no chat address", park_after=AT_ONCE)
        service = _service(wish.chat_url)
        if service is None:
            raise Refused("no chat service has such an address", park_after=AT_ONCE)
        said: list[str] = []
        result = _to(service).notify(
            title=letter.subject,
            body=letter.body,
            body_format=NotifyFormat.TEXT,
            log_callback=lambda entry, _service: said.append(entry.message),
        )
        if not result:
            raise Refused(said[-1] if said else "the chat server did not take it", park_after=PATIENT)

    def close(self) -> None:
        """Nothing was left open."""


def hidden_address(chat_url: str) -> str:
    """The address with its secrets left out, to be shown; "" where no service has such an address."""
    service = _service(chat_url)
    return str(service.url(privacy=True)).partition("?")[0] if service else ""  # type: ignore[no-untyped-call]


def _service(chat_url: str) -> NotifyBase | None:
    service = Apprise.instantiate(chat_url, asset=ASSET)
    return service if isinstance(service, NotifyBase) else None


def _to(service: NotifyBase) -> Apprise:
    receivers = Apprise(asset=ASSET)
    receivers.add(service)
    return receivers
