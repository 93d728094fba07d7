"""Findings: opened once with their evidence, ended by good readings in a row alone; each in the trail."""

import pytest

from inventory.drivers.base import Fault
from inventory.models import Event, Finding, Node
from inventory.survey.severity import severity
from tests import factories
from tests.inventory.survey.seen import NOON, card, instance, later, said, silent, survey

pytestmark = pytest.mark.django_db
AGENT = {"agent": "2.0"}


@pytest.fixture(autouse=True)
def ten_seconds(settings):
    settings.POLL_INTERVAL_S, settings.GOOD_POLLS = 10, 3


@pytest.fixture
def node():
    return factories.node("n1", gpus=1, cards=0)


def fault(code, detail="", since=0):
    return Fault(code, detail, later(since).timestamp())


def poll(node, *gpus, at=0, **node_fields):
    survey(said(node, *gpus, at=later(at), **AGENT | node_fields), at=later(at))


def findings(**only):
    rows = Finding.objects.filter(**only).order_by("node__name", "code")
    return [(row.node.name, row.gpu and row.gpu.uuid, row.code, row.severity, row.ended_at) for row in rows]


def test_a_fault_of_a_gpu_is_one_finding_however_often_it_is_seen(node):
    for seconds in (0, 10, 20):
        poll(node, card(faults=(fault("ecc_uncorrected", f"{seconds} errors", -300),)), at=seconds)

    row = Finding.objects.get()
    assert findings() == [("n1", "GPU-a", "ecc_uncorrected", "out", None)]
    assert (row.since, row.seen_at, row.evidence, row.good_polls) == (later(-300), later(20), "20 errors", 0)
    assert list(Event.objects.filter(verb="finding.opened").values_list("subject_label", "facts__code")) == [
        ("GPU-a", "ecc_uncorrected")
    ]


def test_it_ends_after_three_good_readings_in_a_row_and_begins_anew_after_that(node):
    bad, good = card(faults=(fault("throttled", "too hot"),)), card()
    for seconds, seen in ((0, bad), (10, good), (20, good), (30, bad), (40, good), (50, good)):
        poll(node, seen, at=seconds)
    before = findings()

    poll(node, good, at=60)
    poll(node, bad, at=70)

    assert before == [("n1", "GPU-a", "throttled", "warn", None)]
    assert sorted(row[4] or NOON for row in findings()) == [NOON, later(60)]
    assert [event.verb for event in Event.objects.filter(verb__startswith="finding.").order_by("pk")] == [
        "finding.opened", "finding.ended", "finding.opened",
    ]  # fmt: skip


def test_a_silent_node_proves_nothing_good(node):
    poll(node, card(faults=(fault("ecc_uncorrected"),)))

    for seconds in (10, 20, 30, 40):
        survey(silent(node), at=later(seconds))

    assert findings(code="ecc_uncorrected") == [("n1", "GPU-a", "ecc_uncorrected", "out", None)]


def test_an_agent_of_the_first_version_knows_no_faults_and_so_ends_none(node):
    poll(node, card(faults=(fault("ecc_uncorrected"),)))

    for seconds in (10, 20, 30, 40):
        poll(node, card(), at=seconds, agent="")

    assert findings() == [("n1", "GPU-a", "ecc_uncorrected", "out", None)]


def test_a_restart_of_the_agent_ends_no_xid_for_a_day(node):
    """NVIDIA/k8s-device-plugin#1014: a restart "healed" cards, since the driver says an Xid once."""
    poll(node, card(faults=(fault("xid", "79 fallen off the bus"),)))

    for second in range(10, 100, 10):
        poll(node, card(), at=second, boot="boot-2")
    in_a_day = [findings()]
    for second in range(86_410, 86_440, 10):
        poll(node, card(), at=second, boot="boot-2")
    in_a_day.append(findings())

    assert in_a_day == [
        [("n1", "GPU-a", "xid", "out", None)],
        [("n1", "GPU-a", "xid", "out", later(86_430))],
    ]


def test_an_xid_that_the_same_agent_no_longer_tells_ends_as_others_do(node):
    """NVIDIA/k8s-device-plugin#189, #111, #234: unhealthy for ever after one Xid."""
    poll(node, card(faults=(fault("xid_79"),)))

    for second in (10, 20, 30):
        poll(node, card(), at=second)

    assert findings() == [("n1", "GPU-a", "xid_79", "out", later(30))]


@pytest.mark.parametrize("number", [13, 31, 43, 45, 68, 109])
def test_errors_of_an_application_are_no_ill_health(node, number):
    poll(node, card(faults=(fault(f"xid_{number}"), fault("xid", f"{number}, pid 4242"))))

    assert findings() == []


@pytest.mark.parametrize(
    ("code", "evidence", "expected"),
    [
        ("hung", "", "out"),
        ("xid_48", "", "out"),
        ("xid", "Xid 119 of GSP", "out"),
        ("xid", "", "warn"),
        ("xid_32", "", "warn"),
        ("persistence_off", "", "note"),
        ("something_new", "", "warn"),
    ],
)
def test_how_bad_each_code_is(code, evidence, expected):
    assert severity(code, evidence) == expected


def test_seven_of_eight_are_a_finding_and_a_lost_card_is_one_too():
    node = factories.node("n1", gpus=8, cards=0)
    eight = [card(f"GPU-{slot}", slot) for slot in range(8)]
    poll(node, *eight)

    poll(node, *eight[:7], at=10, cards_on_bus=8)

    assert findings() == [("n1", None, "cards_missing", "warn", None), ("n1", "GPU-7", "lost", "out", None)]
    assert Finding.objects.get(code="cards_missing").evidence == "7 cards seen, 8 expected, 8 on the bus"
    for seconds in (20, 30, 40):
        poll(node, *eight, at=seconds)
    assert [row[4] for row in findings()] == [later(40), later(40)]


def test_a_card_on_the_bus_that_the_driver_does_not_show_is_missing_too(node):
    """microsoft/pai#4344: RmInitAdapter failed, and the scheduler kept placing there."""
    poll(node, card(), cards_on_bus=2)

    assert Finding.objects.get().evidence == "1 cards seen, 1 expected, 2 on the bus"


def test_a_node_without_a_driver_says_so_and_shows_no_cards(node):
    """NVIDIA/k8s-device-plugin PR#1641."""
    poll(node, faults=(fault("library_mismatch", "reload the module"),))

    assert findings() == [
        ("n1", None, "cards_missing", "warn", None),
        ("n1", None, "library_mismatch", "out", None),
    ]


def test_a_node_is_silent_once_three_intervals_are_over_and_since_the_first_of_them(node):
    poll(node, card())
    for seconds in (10, 20, 30):
        survey(silent(node), at=later(seconds))
    early = findings()

    survey(silent(node), at=later(40))

    assert (early, findings()) == ([], [("n1", None, "silent", "out", None)])
    assert Finding.objects.get().since == later(10)
    for seconds in (50, 60, 70):
        poll(node, card(), at=seconds)
    assert findings() == [("n1", None, "silent", "out", later(70))]


def test_old_values_are_a_finding():
    """microsoft/pai#889: a hung nvidia-smi, and old values served as new ones."""
    node = factories.node("n1", gpus=1, cards=0)

    poll(node, card(age_s=95.0))

    assert findings() == [("n1", "GPU-a", "stale", "warn", None)]
    assert Finding.objects.get().evidence == "values are 95 s old"


def test_a_uuid_on_two_nodes_is_a_finding_on_both_until_one_shows_it_no_more(node):
    other = factories.node("n2", gpus=1, cards=0)
    poll(node, card())

    for seconds in (10, 20, 30, 40):
        survey(
            said(node, card(), at=later(seconds), **AGENT), said(other, card(), at=later(seconds), **AGENT),
            at=later(seconds),
        )  # fmt: skip
    while_both = findings(code="uuid_conflict")
    for seconds in range(50, 120, 10):
        survey(said(node, card(), at=later(seconds)), said(other, at=later(seconds)), at=later(seconds))

    assert while_both == [
        ("n1", "GPU-a", "uuid_conflict", "out", None),
        ("n2", "GPU-a", "uuid_conflict", "out", None),
    ]
    assert [row[4] for row in findings(code="uuid_conflict")] == [later(100), later(70)]


def test_the_owner_of_a_claimed_uuid_alone_ends_nothing(node, monkeypatch):
    other = factories.node("n2", gpus=1, cards=0)
    poll(node, card())
    both = [said(node, card(), at=later(10), **AGENT), said(other, card(), at=later(10), **AGENT)]
    survey(*both, at=later(10))

    for seconds in (20, 30, 40, 50):
        poll(node, card(), at=seconds)

    assert [row[4] for row in findings(code="uuid_conflict")] == [None, None]


def test_what_was_wrong_with_a_card_goes_with_it_when_it_is_replaced(node):
    poll(node, card("GPU-a", faults=(fault("ecc_uncorrected"),)))

    poll(node, card("GPU-b"), at=10)

    assert findings() == [("n1", "GPU-a", "ecc_uncorrected", "out", later(10))]


def test_instances_that_went_with_a_reboot_are_lost_and_what_is_assigned_to_them_stays_where_it_was(lab):
    """NVIDIA/k8s-device-plugin#225, gpu-operator#403: MIG instances do not survive a reboot."""
    node = factories.node("n1", gpus=1, cards=0)
    parent = card("GPU-a")
    poll(node, parent, instance("MIG-old", parent))
    old = node.gpus.get(uuid="MIG-old")
    assignment = factories.assignment(old, lab.project)

    poll(node, parent, instance("MIG-new", parent), at=10, boot="boot-2")

    old.refresh_from_db()
    assignment.refresh_from_db()
    assert (old.lost_at, assignment.gpu, assignment.during.upper) == (later(10), old, None)
    assert findings(code="lost") == [("n1", "MIG-old", "lost", "out", None)]


def test_a_node_that_comes_back_with_new_cards_keeps_what_it_was_and_its_old_cards_are_history():
    node = factories.node("n1", gpus=2, cards=0)
    poll(node, card("GPU-a", 0), card("GPU-b", 1))

    poll(node, card("GPU-c", 0), card("GPU-d", 1), at=10, boot="boot-2")

    assert Node.objects.count() == 1
    assert set(node.gpus.filter(retired_at=None).values_list("uuid", flat=True)) == {"GPU-c", "GPU-d"}
    assert set(node.gpus.filter(retired_at=later(10)).values_list("uuid", flat=True)) == {"GPU-a", "GPU-b"}
    assert findings() == []


def test_a_renamed_node_in_another_rack_keeps_its_cards_and_its_findings(node):
    poll(node, card(faults=(fault("throttled"),)))
    Node.objects.update(name="rack9-n1", site="B", island="spine-2")
    node.refresh_from_db()

    poll(node, card(faults=(fault("throttled"),)), at=10)

    assert findings() == [("rack9-n1", "GPU-a", "throttled", "warn", None)]
    assert list(node.gpus.values_list("uuid", "lost_at", "retired_at")) == [("GPU-a", None, None)]


def test_indexes_that_shift_change_nothing_but_slots():
    """PrincetonUniversity/jobstats#34, guilbaults/slurm-job-exporter#64: a card is its UUID, never its index."""
    node = factories.node("n1", gpus=2, cards=0)
    poll(node, card("GPU-a", 0, holder="apollo"), card("GPU-b", 1, holder="borealis"))

    poll(node, card("GPU-b", 1, holder="borealis"), card("GPU-a", 0, holder="apollo"), at=10)

    assert dict(node.gpus.values_list("uuid", "reading__holder")) == {"GPU-a": "apollo", "GPU-b": "borealis"}
    assert findings() == []
