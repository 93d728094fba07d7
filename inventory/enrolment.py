"""How a node comes to be believed, stays so, and is believed no longer: join codes, pins and tokens.

A code is made for one node, told once, and good for one agent. That agent brings its address, its certificate and a
token that it has made; the portal keeps them. So nothing secret travels back, and an agent that never heard the answer
may ask again.
"""

import hmac
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import Any

from django.db import connection, models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory import trail
from inventory.drivers import loop
from inventory.drivers.base import Observed, Settings
from inventory.errors import BadJoinCode, InventoryError, WrongEnrolment
from inventory.models import JoinCode, Node
from inventory.queries import address_of

# Codes for a whole rack are made in the morning and used while it is installed.
CODE_LIVES = timedelta(hours=24)
CODE_BYTES = 20  # nobody guesses 160 bits
TOKEN_BYTES = 32
# What `secrets.token_urlsafe(TOKEN_BYTES)` makes, and what another agent may make instead.
TOKEN = re.compile(r"[A-Za-z0-9_-]{43,100}")
ROTATION_LOCK = 0x70C3  # first half of an advisory lock; the second is the node
ACTOR = "enrolment"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What an agent that joins says of itself: https://host:port, its certificate's SHA-256, the token it accepts."""

    address: str
    certificate_sha256: str
    token: str = field(repr=False)
    agent: str = ""


@transaction.atomic
def make_code(*, node: Node, by: models.Model | str, lives: timedelta = CODE_LIVES) -> tuple[JoinCode, str]:
    """A new code by which the node's agent joins once, and what it reads; an open one before it is good no longer.

    Locks the node. Raises WrongEnrolment for a retired node.
    """
    now = timezone.now()
    node = _locked(node)
    if node.retired_at is not None:
        raise WrongEnrolment(_("%(node)s is retired.") % {"node": node.name}, node=node.name)
    _open_codes(node).update(revoked_at=now)
    code = token_hex(CODE_BYTES)
    row = JoinCode.objects.create(
        node=node, code_sha256=_digest(code), made_by=str(by)[:150], made_at=now, expires_at=now + lives
    )
    trail.record("node.code_made", node, by=by, expires_at=row.expires_at)
    return row, code


@transaction.atomic
def revoke_codes(*, node: Node, by: models.Model | str, reason: str = "") -> None:
    """No open code of the node is good any more. Raises WrongEnrolment when there is none."""
    node = _locked(node)
    now = timezone.now()
    if not _open_codes(node).update(revoked_at=now):
        raise WrongEnrolment(_("%(node)s has no open join code.") % {"node": node.name}, node=node.name)
    trail.record("node.code_revoked", node, by=by, reason=reason)


@transaction.atomic
def join(*, code: str, newcomer: Newcomer) -> Node:
    """The node of that code is the newcomer: polled there from now on, its certificate pinned, its token kept.

    A node that joins for the first time only looks, until ops want more. The same newcomer may say it again with the
    same code; anybody else is too late. Locks the node. Raises BadJoinCode, WrongEnrolment.
    """
    now, digest = timezone.now(), _digest(code)
    row = JoinCode.objects.filter(code_sha256=digest).first()
    if row is None:
        raise BadJoinCode
    node = _locked(row.node)
    if not _open_codes(node).filter(pk=row.pk, expires_at__gt=now).update(used_at=now):
        if _says_it_again(row, node, newcomer, now):
            return node
        raise BadJoinCode
    if node.retired_at is not None:
        raise BadJoinCode
    _require_own_address(node, newcomer.address)
    before = node.address
    node.address, node.token = newcomer.address, newcomer.token
    node.certificate_sha256, node.driver = newcomer.certificate_sha256, Node.Driver.AGENT
    if node.mode_since is None:
        node.mode, node.mode_since = Node.Mode.OBSERVE, now
    node.save(update_fields=["address", "token", "certificate_sha256", "driver", "mode", "mode_since"])
    pinned = {"address": [before, node.address], "certificate_sha256": node.certificate_sha256}
    facts: dict[str, Any] = pinned | {"mode": node.mode, "code_made_by": row.made_by, "agent": newcomer.agent}
    trail.record("node.joined", node, by=ACTOR, **facts)
    return node


def rotate_token(*, node: Node, by: models.Model | str) -> None:
    """The node accepts a new token, which the portal uses from now on.

    The node first: it takes both until the new one was used, so that wherever this stops, the token that the portal
    has is a good one. Asks the node: not inside a transaction. Raises NodeError, WrongEnrolment.
    """
    with _alone(node):
        node = Node.objects.get(pk=node.pk)
        if not node.token:
            raise WrongEnrolment(_("%(node)s has not joined.") % {"node": node.name}, node=node.name)
        fresh = token_urlsafe(TOKEN_BYTES)
        _tell_token(node, fresh)
        with transaction.atomic():
            if not Node.objects.filter(pk=node.pk, token=node.token).update(token=fresh):
                raise WrongEnrolment(
                    _("%(node)s joined anew or was revoked just now.") % {"node": node.name}, node=node.name
                )
            trail.record("node.token_renewed", node, by=by)


@transaction.atomic
def revoke_node(*, node: Node, by: models.Model | str, reason: str) -> None:
    """The portal speaks to the node's agent no longer: address, token and pin are forgotten, open codes void.

    What runs on the node goes on, and its agent keeps the orders that it has. Locks the node. Raises WrongEnrolment.
    """
    node = _locked(node)
    if not (node.address or node.token):
        raise WrongEnrolment(_("%(node)s has not joined.") % {"node": node.name}, node=node.name)
    now, before = timezone.now(), node.address
    node.address = node.token = node.certificate_sha256 = node.said_mode = ""
    node.save(update_fields=["address", "token", "certificate_sha256", "said_mode"])
    _open_codes(node).update(revoked_at=now)
    trail.record("node.revoked", node, by=by, reason=reason, address=[before, ""])


def _locked(node: Node) -> Node:
    return Node.objects.select_for_update(of=("self",)).get(pk=node.pk)


def _open_codes(node: Node) -> models.QuerySet[JoinCode]:
    return JoinCode.objects.filter(node=node, used_at=None, revoked_at=None)


def _digest(code: str) -> str:
    return sha256(code.strip().encode()).hexdigest()


def _says_it_again(row: JoinCode, node: Node, newcomer: Newcomer, now: datetime) -> bool:
    """Whether it is the agent that used the code already and never heard the answer: only that one knows its token."""
    if row.used_at is None or row.expires_at <= now or node.certificate_sha256 != newcomer.certificate_sha256:
        return False
    return hmac.compare_digest(node.token, newcomer.token)


def _require_own_address(node: Node, address: str) -> None:
    other = Node.objects.filter(address=address, retired_at=None).exclude(pk=node.pk).first()
    if other is not None:
        sentence = _("%(other)s is spoken to at %(address)s: revoke it first, or give another address.")
        raise WrongEnrolment(sentence % {"other": other.name, "address": address}, node=node.name)


def _tell_token(node: Node, fresh: str) -> None:
    """The node has `fresh` beside its own token, and works as before. Raises what the node's answer comes to."""
    address = address_of(node)
    [(_name, seen)] = loop.observe_many([address])
    if not isinstance(seen, Observed):
        raise seen
    [refused] = loop.settings_many([(address, Settings(seen.observation.mode, fresh))])
    if isinstance(refused, InventoryError):
        raise refused


@contextmanager
def _alone(node: Node) -> Iterator[None]:
    """One rotation of a node at a time: the node remembers one new token, the last that it was told.

    A killed process holds up nobody: its connection takes the lock along. Raises WrongEnrolment.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [ROTATION_LOCK, node.pk])
        [alone] = cursor.fetchone()
    if not alone:
        raise WrongEnrolment(_("Somebody renews the token of %(node)s now.") % {"node": node.name}, node=node.name)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [ROTATION_LOCK, node.pk])
