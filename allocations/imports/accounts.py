"""Unix accounts from a file: whose id is whose on the nodes of a realm."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from allocations.errors import BadTerms
from allocations.models import Person, UnixAccount
from inventory import trail

COLUMNS = {"login", "uid", "person"}
LONGEST_LOGIN = 60
MOST_UID = 2**32 - 2  # 2^32 - 1 means "no user" to the kernel


class Row(NamedTuple):
    """One line of the file."""

    login: str
    uid: int
    person: str


@dataclass(slots=True)
class AccountsReport:
    """How many accounts began, how many ended for another one, how many were so already, and who is unknown."""

    begun: int = 0
    ended: int = 0
    unchanged: int = 0
    unknown: list[str] = field(default_factory=list)


def read_accounts(text: str) -> list[Row]:
    """The rows of a CSV with login, uid and person (a login in Allot). Raises BadTerms with the line."""
    reader = csv.DictReader(io.StringIO(text))
    if not set(reader.fieldnames or ()) >= COLUMNS:
        raise BadTerms(_("The columns are login, uid and person."), field="file")
    rows = [_row(raw, reader.line_num) for raw in reader]
    for name in ("uid", "person"):
        values = [getattr(row, name) for row in rows]
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise BadTerms(_("%(value)s stands there twice.") % {"value": twice}, field="file")
    return rows


def _row(raw: dict[str, str | None], line: int) -> Row:
    login, uid, person = (str(raw.get(name) or "").strip() for name in ("login", "uid", "person"))
    if not login or len(login) > LONGEST_LOGIN or not uid.isdecimal() or not 0 < int(uid) <= MOST_UID or not person:
        raise BadTerms(_("Line %(line)d: a login, the id of a user other than root, a person.") % {"line": line})
    return Row(login, int(uid), person)


@transaction.atomic
def import_accounts(rows: Iterable[Row], *, realm: str, by: object) -> AccountsReport:
    """Each named person has that account in the realm from now on; one that differs has ended now. Others are left.

    A repeat changes nothing. In as many statements for many rows as for one.
    """
    now, report = timezone.now(), AccountsReport()
    rows = list(rows)
    people = {person.username: person for person in Person.objects.filter(username__in=[row.person for row in rows])}
    current = UnixAccount.objects.filter(realm=realm, during__contains=now).select_related("person")
    of_person, of_uid = {row.person_id: row for row in current}, {row.uid: row for row in current}
    ending: dict[int, UnixAccount] = {}
    beginning: list[UnixAccount] = []
    for row in rows:
        person = people.get(row.person)
        if person is None:
            report.unknown.append(row.person)
            continue
        held = of_person.get(person.pk)
        if held and (held.uid, held.login) == (row.uid, row.login):
            report.unchanged += 1
            continue
        ending |= {old.pk: old for old in (held, of_uid.get(row.uid)) if old}
        beginning.append(UnixAccount(person=person, realm=realm, uid=row.uid, login=row.login, during=(now, None)))
    for old in ending.values():
        old.during = (old.during.lower, now)
    UnixAccount.objects.bulk_update(ending.values(), ["during"])
    UnixAccount.objects.bulk_create(beginning)
    trail.record_many("account.ended", [(row, {"uid": row.uid, "realm": realm}) for row in ending.values()], by=by)
    trail.record_many("account.begun", [(row, {"uid": row.uid, "realm": realm}) for row in beginning], by=by)
    report.begun, report.ended = len(beginning), len(ending)
    return report
