"""Unix accounts from a file: begun, changed, left alone; a repeat changes nothing."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from allocations import access
from allocations.models import ProjectAccess, UnixAccount
from inventory.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def load(tmp_path):
    def run(*rows: str, header: str = "login,uid,person", **options) -> str:
        file = tmp_path / "accounts.csv"
        file.write_text("\n".join([header, *rows]) + "\n")
        out = StringIO()
        call_command("import_accounts", str(file), stdout=out, **options)
        return out.getvalue().strip()

    return run


def accounts() -> list[tuple[str, str, int, str, bool]]:
    rows = UnixAccount.objects.order_by("person__username", "pk").select_related("person")
    return [(row.person.username, row.realm, row.uid, row.login, row.during.upper is None) for row in rows]


def test_named_people_get_their_accounts(lab, load):
    said = load("llead,1001,lead", "ppitch,1002,pitcher")

    assert said == "begun: 2, ended: 0, unchanged: 0"
    assert accounts() == [("lead", "", 1001, "llead", True), ("pitcher", "", 1002, "ppitch", True)]


def test_a_repeat_changes_nothing(lab, load):
    load("llead,1001,lead")

    said = load("llead,1001,lead")

    assert (said, len(accounts())) == ("begun: 0, ended: 0, unchanged: 1", 1)
    assert Event.objects.filter(verb__startswith="account.").count() == 1


def test_another_id_ends_the_old_account_and_keeps_it_in_the_past(lab, load):
    load("llead,1001,lead")

    said = load("llead,2001,lead")

    assert said == "begun: 1, ended: 1, unchanged: 0"
    assert accounts() == [("lead", "", 1001, "llead", False), ("lead", "", 2001, "llead", True)]


def test_an_id_that_changes_hands_does_so_in_one_act(lab, load):
    load("a,1001,lead", "b,1002,pitcher")

    load("a,1002,lead", "b,1001,pitcher")

    now = timezone.now()
    current = UnixAccount.objects.filter(during__contains=now).order_by("uid")
    assert list(current.values_list("uid", "person__username")) == [(1001, "pitcher"), (1002, "lead")]


def test_who_is_not_named_keeps_theirs_and_a_realm_is_apart(lab, load):
    load("a,1001,lead")

    load("b,1001,pitcher", realm="cluster-b")

    assert accounts() == [("lead", "", 1001, "a", True), ("pitcher", "cluster-b", 1001, "b", True)]


def test_somebody_who_is_not_here_is_named(lab, load):
    assert load("x,1001,nobody") == "begun: 0, ended: 0, unchanged: 0\nnobody here is called: nobody"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["root,0,lead"], "Line 2"),
        (["x,4294967295,lead"], "Line 2"),
        (["x,one,lead"], "Line 2"),
        (["x,1001,"], "Line 2"),
        ([",1001,lead"], "Line 2"),
        (["a,1001,lead", "b,1001,pitcher"], "1001 stands there twice"),
        (["a,1001,lead", "b,1002,lead"], "lead stands there twice"),
    ],
)
def test_a_file_that_cannot_be_imports_nothing(lab, load, rows, why):
    with pytest.raises(CommandError) as refused:
        load(*rows)

    assert why in str(refused.value)
    assert accounts() == []


def test_other_columns_are_refused(lab, load):
    with pytest.raises(CommandError):
        load("a,1001,lead", header="user,id,who")


def test_an_import_reaches_the_projects_list(lab, load):
    load("a,1001,lead", "b,1002,pitcher")

    access.refresh()

    assert ProjectAccess.objects.get().unix_ids == [1001, 1002]
