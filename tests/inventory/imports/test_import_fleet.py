"""Importing fleets: what is added, changed, left out and left alone, in one transaction and a few statements."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from inventory.imports import DeclaredNode, import_fleet, read_fleet_file
from inventory.models import Event, Gpu, GpuModel, Node
from tests import factories

OPENB = Path(__file__).resolve().parents[4] / "shared" / "data" / "fleet_openb_nodes.csv"
OWN = "name,site,island,model,gpus,label:rack\n"

pytestmark = pytest.mark.django_db


def declare(*rows, **options):
    nodes = [DeclaredNode(line=line, **row) for line, row in enumerate(rows, start=2)]
    return import_fleet(nodes=nodes, **{"source": "file:lab.csv", "by": "import_fleet", **options})


def row(name, **fields):
    return {"name": name, "model": "H100", "gpus": 8, **fields}


def run(path, *options):
    out = StringIO()
    call_command("import_fleet", str(path), *options, stdout=out)
    return out.getvalue().splitlines()


def test_a_file_gives_nodes_and_expected_counts_and_no_card(tmp_path):
    path = tmp_path / "lab.csv"
    path.write_text(f"{OWN}a,hall,i1,H100,8,r1\nb,hall,i1,H100,4,\nc,hall,i1,,0,\n")

    said = run(path)

    facts = ("name", "site", "island", "model__name", "expected_gpus", "labels", "source", "address")
    assert list(Node.objects.values_list(*facts)) == [
        ("a", "hall", "i1", "H100", 8, {"rack": "r1"}, "file:lab.csv", ""),
        ("b", "hall", "i1", "H100", 4, {}, "file:lab.csv", ""),
    ]
    assert Gpu.objects.count() == 0
    assert said == [
        "2 nodes with 12 GPUs declared",
        "added: 2",
        "changed: 0",
        "unchanged: 0",
        "left out, it has no GPU: 1 (c)",
    ]


def test_a_repeat_changes_nothing_and_writes_no_event():
    declare(row("a", site="hall", labels={"rack": "r1"}), row("b"))

    report = declare(row("a", site="hall", labels={"rack": "r1"}), row("b"))

    assert (report.added, report.changed, report.unchanged) == ([], [], 2)
    assert list(Event.objects.values_list("verb", "subject_label").order_by("pk")) == [
        ("node.added", "a"),
        ("node.added", "b"),
    ]


def test_what_differs_is_changed_with_before_and_after_in_the_trail():
    declare(row("a", site="hall", labels={"rack": "r1"}))

    report = declare(row("a", site="annex", gpus=4, model="A100", labels={"net": "ib"}))

    fields = {
        "site": ("hall", "annex"),
        "labels": ({"rack": "r1"}, {"rack": "r1", "net": "ib"}),
        "model": ("H100", "A100"),
        "expected_gpus": (8, 4),
    }
    assert [change.fields for change in report.changed] == [fields]
    event = Event.objects.get(verb="node.changed")
    assert (event.subject_label, event.actor, event.reason) == ("a", "import_fleet", "file:lab.csv")
    assert event.facts == {name: list(change) for name, change in fields.items()}
    node = Node.objects.get()
    assert (node.site, node.model.name, node.expected_gpus) == ("annex", "A100", 4)
    assert node.labels == {"rack": "r1", "net": "ib"}


def test_what_the_file_does_not_say_stays_as_it_is():
    factories.node("a", site="hall", island="i1", address="https://a:1", token="secret", source="file:lab.csv", cards=0)

    report = declare(row("a"))

    node = Node.objects.get()
    assert report.unchanged == 1
    assert (node.site, node.island, node.address, node.token) == ("hall", "i1", "https://a:1", "secret")


def test_nodes_that_the_file_does_not_name_are_told_and_not_retired():
    declare(row("a"), row("gone"))
    factories.node("other", source="admin", cards=0)

    report = declare(row("a"))

    assert (report.absent, report.elsewhere) == (["gone"], ["other"])
    assert Node.objects.filter(retired_at=None).count() == 3


def test_a_retired_node_is_left_out_and_stays_retired():
    factories.node("a", gpus=2, cards=0, retired_at=timezone.now())

    report = declare(row("a"))

    assert [left.name for left in report.left_out] == ["a"]
    node = Node.objects.get()
    assert (node.retired_at is None, node.expected_gpus) == (False, 2)


def test_a_dry_run_reports_the_same_and_writes_nothing(tmp_path):
    path = tmp_path / "lab.csv"
    path.write_text(f"{OWN}a,hall,i1,H100,8,r1\n")

    said = run(path, "--dry-run")

    assert (said[1], said[-1]) == ("added: 1", "Nothing was written (--dry-run).")
    assert (Node.objects.count(), GpuModel.objects.count(), Event.objects.count()) == (0, 0, 0)


def test_islands_are_made_only_where_nobody_named_one():
    declare(row("named", island="i9"), row("settled"))
    Node.objects.filter(name="settled").update(island="i8")

    declare(row("named"), row("settled"), row("a"), row("b"), row("c"), island_size=2)

    assert dict(Node.objects.values_list("name", "island")) == {
        "named": "i9",
        "settled": "i8",
        "a": "H100 8x #1",
        "b": "H100 8x #1",
        "c": "H100 8x #2",
    }


def test_islands_stay_when_rows_are_appended_moved_and_removed():
    declare(*(row(name) for name in "abc"), island_size=2)
    before = dict(Node.objects.values_list("name", "island"))

    report = declare(*(row(name) for name in "cadb"), island_size=2)

    assert report.changed == []
    assert dict(Node.objects.values_list("name", "island")) == {**before, "d": before["c"]}


def test_a_malformed_file_imports_nothing_and_names_line_and_column(tmp_path):
    path = tmp_path / "lab.csv"
    path.write_text(f"{OWN}a,hall,i1,H100,8,r1\nb,hall,i1,H100,many,r1\n")

    with pytest.raises(CommandError) as refused:
        run(path)

    assert str(refused.value) == (
        f"{path}: line 3, column gpus: 'many' is not a whole number of 0 or more. Nothing was imported."
    )
    assert (Node.objects.count(), Event.objects.count()) == (0, 0)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(CommandError, match="cannot be read: No such file or directory"):
        run(tmp_path / "missing.csv")


def test_an_event_that_cannot_be_written_takes_the_import_with_it(monkeypatch):
    def broken(*args, **options):
        raise RuntimeError

    monkeypatch.setattr("inventory.imports.store.record_many", broken)

    with pytest.raises(RuntimeError):
        declare(row("a"))

    assert (Node.objects.count(), GpuModel.objects.count()) == (0, 0)


@pytest.mark.parametrize("count", [1, 3])
def test_the_statements_of_an_import_are_as_many_for_one_node_as_for_three(count, django_assert_num_queries):
    declare(*(row(f"known-{number}") for number in range(count)))
    changed = [row(f"known-{number}", gpus=4) for number in range(count)]
    fresh = [row(f"fresh-{number}") for number in range(count)]

    # Savepoint and its release, lock, known nodes, models (insert, select), nodes and events (added, then the locks of
    # those that change, and they).
    with django_assert_num_queries(11):
        declare(*changed, *fresh)


@pytest.mark.skipif(not OPENB.exists(), reason="the public trace ../shared/data/fleet_openb_nodes.csv is not here")
def test_a_real_fleet_is_imported_whole():
    content = read_fleet_file(OPENB.read_bytes())
    asked = {"nodes": content.nodes, "left_out": content.left_out, "source": "file:openb", "by": "import_fleet"}

    first = import_fleet(**asked, island_size=64)
    again = import_fleet(**asked, island_size=64)

    assert (len(first.added), first.gpus, len(first.left_out)) == (1213, 6212, 310)
    assert (again.added, again.changed, again.unchanged) == ([], [], 1213)
    by_island = {}
    for island, kind in Node.objects.values_list("island", "model__name"):
        by_island.setdefault(island, []).append(kind)
    assert max(map(len, by_island.values())) == 64
    assert {len(set(kinds)) for kinds in by_island.values()} == {1}
