"""What is wrong with a card: codes with their evidence and time, gone when the hardware says so."""

import time

from tests.inventory.nvml_stub.library import codes

SICK = """[gpu 0]
ecc.volatile.uncorrected = 3
remap.uncorrectable = 2
remap.pending = yes
remap.failure = yes
retired.dbe = 5
retired.pending = 1
recovery_action = 4
throttle = 0x48
persistence = off
"""


def test_every_counter_that_says_something_is_a_fault_with_its_evidence(node):
    node.write(SICK)

    [card] = node.look().gpus

    assert {fault.code: fault.detail for fault in card.faults} == {
        "ecc_uncorrected": "3 uncorrected memory errors since the driver was loaded",
        "remap_failed": "a memory row could not be replaced (2 were before)",
        "remap_pending": "a memory row is replaced at the next reset of the GPU",
        "retire_pending": "memory pages are taken out of use at the next reset of the GPU",
        "pages_retired": "5 memory pages are out of use after double-bit errors",
        "recovery_needed": "the driver asks: drain and reset the GPU",
        "throttled": "the hardware slows down; too hot (hardware)",
        "persistence_off": "each first use initialises the GPU anew",
    }


def test_a_driver_that_knows_no_fields_is_asked_one_by_one(node):
    node.write(SICK + "error.nvmlDeviceGetFieldValues = FUNCTION_NOT_FOUND\n")

    [card] = node.look().gpus

    assert codes(card.faults) == [
        "ecc_uncorrected",
        "persistence_off",
        "remap_failed",
        "remap_pending",
        "retire_pending",
        "throttled",
    ]


def test_a_card_at_its_power_limit_is_well(node):
    node.write("[gpu 0]\nthrottle = 0x4\npower.limit = 500\n")

    [card] = node.look().gpus

    assert (card.faults, card.power_limit_w.value) == ((), 500)


def test_a_card_that_needs_a_reset_says_so(node):
    node.write("[gpu 0]\nerror.nvmlDeviceGetUtilizationRates = RESET_REQUIRED\n")

    [card] = node.look().gpus

    assert [(fault.code, fault.detail) for fault in card.faults] == [
        ("reset_required", "nvmlDeviceGetUtilizationRates answered 16")
    ]


def test_a_fault_keeps_its_first_time_and_ends_with_its_cause(node):
    node.write("[gpu 0]\nremap.pending = yes\n")
    with node.probe() as probe:
        [first] = probe.look().gpus[0].faults
        [second] = probe.look().gpus[0].faults
        node.add("[gpu 0]\nremap.pending = no")

        after = probe.look().gpus[0].faults

    assert (second, after) == (first, ())


def test_an_error_of_the_application_is_no_ill_health(node):
    """46, k8s-device-plugin#189, #111, #234, #1014: unhealthy for ever after one Xid of a program."""
    node.write("[gpu 0]\n")
    with node.probe() as probe:
        probe.look()
        node.add("[node]\n" + "".join(f"xid = {n} 0 {xid}\n" for n, xid in enumerate((13, 31, 43, 45, 68, 109), 1)))

        seen = probe.look()

    assert seen.gpus[0].faults == ()


def test_an_error_of_the_card_has_evidence_and_a_time(node):
    """46, 47, dcgm-exporter#500, #502: the last Xid stayed, without a time."""
    node.write("[gpu 0-1]\n")
    with node.probe() as probe:
        probe.look()
        before_s = time.time()
        node.add("[node]\nxid = 1 1 69\nxid = 2 1 48\nxid = 3 1 69")

        healthy, sick = probe.look().gpus

    [fault] = sick.faults
    assert (healthy.faults, fault.code) == ((), "xid")
    assert [part.split(",")[0] for part in fault.detail.split("; ")] == ["Xid 48", "Xid 69"]
    assert before_s <= fault.since_s <= time.time()


def test_a_restart_clears_no_error_of_the_card(node, tmp_path):
    """46: nor does it bring back one that is long over."""
    remembered = tmp_path / "xids.json"
    node.write("[gpu 0]\n")
    with node.probe(seen_errors=remembered) as probe:
        probe.look()
        node.add("[node]\nxid = 1 0 94")
        before = probe.look().gpus[0].faults

    after = node.look(seen_errors=remembered).gpus[0].faults
    much_later = node.look(seen_errors=remembered, xid_kept_s=0.0).gpus[0].faults

    assert (codes(before), after, much_later) == (["xid"], before, ())


def test_a_torn_memory_of_errors_stops_nothing(node, tmp_path):
    remembered = tmp_path / "xids.json"
    remembered.write_text('{"GPU-1": {"94": [17')
    node.write("[gpu 0]\n")

    seen = node.look(seen_errors=remembered)

    assert (len(seen.gpus), seen.faults) == (1, ())


def test_before_the_first_round_nothing_is_said_about_the_cards(node):
    node.write("[gpu 0]\n")
    with node.probe() as probe:
        seen = probe.probe.seen()

    assert (seen.gpus, codes(seen.faults)) == ((), ["not_looked_yet"])
