"""The wire: strict about form, honest about values that cannot be."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.node_agent.protocol import (
    NOT_REPORTED,
    Applied,
    Eviction,
    Fault,
    GpuSeen,
    Health,
    Malformed,
    Observation,
    Order,
    ProcessSeen,
    Refusal,
    Settings,
    Value,
    dump_applied,
    dump_health,
    dump_observation,
    dump_order,
    dump_refusal,
    dump_settings,
    parse_applied,
    parse_health,
    parse_observation,
    parse_order,
    parse_refusal,
    parse_settings,
)

GPU = GpuSeen(
    uuid="GPU-6e2f",
    pci_bus_id="00000000:1A:00.0",
    kind="gpu",
    parent_uuid=None,
    model="NVIDIA H100",
    memory_total_mib=81_559,
    lost=False,
    holder="deep-sea",
    generation=7,
    draining=False,
    util_pct=Value(97, None, 1.5),
    mem_used_mib=Value(70_000, None, 1.5),
    power_w=Value(612.5, None, 1.5),
    temperature_c=Value(61, None, 1.5),
    processes=(ProcessSeen(4711, "ada", 1_800_000_000.0, 69_000),),
)
SEEN = Observation("node-1", "boot-1", 3, (GPU,))

texts = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=40)
slugs = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}", fullmatch=True)
instants = st.datetimes(
    min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(timezone(timedelta(hours=2)))
)
values = st.one_of(
    st.builds(Value, st.floats(0, 100), st.none(), st.floats(0, 1e6)),
    st.builds(Value, st.none(), texts, st.floats(0, 1e6)),
)
processes = st.builds(
    ProcessSeen,
    st.integers(1, 2**22),
    texts,
    st.floats(0, 2e9),
    st.none() | st.integers(0, 1_000_000),
    st.none() | st.integers(0, 2**32 - 2),
    texts | st.just(""),
    texts | st.just(""),
    st.booleans(),
    st.none() | st.booleans(),
)
faults = st.lists(st.builds(Fault, texts, texts | st.just(""), st.floats(0, 2e9)), max_size=2).map(tuple)
gpus = st.builds(
    GpuSeen,
    texts,
    texts,
    st.just("gpu"),
    st.none(),
    texts,
    st.none() | st.integers(100, 300_000),
    st.booleans(),
    st.none() | slugs | st.just(""),
    st.integers(0, 2**63 - 1),
    st.booleans(),
    values,
    values,
    values,
    values,
    st.none() | st.lists(processes, max_size=3).map(tuple),
    values,
    values,
    values,
    values | st.just(NOT_REPORTED),
    values,
    st.none() | st.integers(0, 255),
    texts | st.just(""),
    st.booleans(),
    faults,
    st.none() | st.lists(st.integers(0, 2**32 - 2), max_size=3).map(tuple),
    st.integers(0, 2**31),
    st.integers(0, 2**63 - 1),
)
orders = st.builds(
    Order,
    slugs | st.just(""),
    st.integers(1, 2**63 - 1),
    st.integers(0, 2**31),
    st.lists(st.integers(1, 2**32 - 2), max_size=4).map(tuple),
    st.none() | st.builds(Eviction, texts, texts, instants),
)


@given(
    st.builds(
        Observation,
        texts,
        texts,
        st.integers(0, 2**63 - 1),
        st.lists(gpus, max_size=3, unique_by=lambda g: g.uuid).map(tuple),
        st.sampled_from(["observe", "shadow", "enforce"]),
        texts | st.just(""),
        texts | st.just(""),
        st.none() | st.integers(0, 16),
        faults,
    )
)
def test_an_observation_comes_back_as_it_was_sent(seen):
    assert parse_observation(dump_observation(seen)) == seen


@given(orders)
def test_an_order_comes_back_as_it_was_sent(order):
    assert parse_order(dump_order(order)) == order


def test_an_agent_of_the_first_version_is_understood_and_what_it_leaves_out_is_not_reported():
    raw = json.loads(dump_observation(SEEN)) | {"protocol": 1}
    for field in ("mode", "agent", "driver", "cards_on_bus", "faults"):
        del raw[field]
    for field in ("minor", "serial", "unified_memory", "faults", "open_to", "access_revision", "ordered_generation"):
        del raw["gpus"][0][field]
    for field in ("uid", "name", "job", "zombie", "allowed"):
        del raw["gpus"][0]["processes"][0][field]

    seen = parse_observation(json.dumps(raw).encode())

    assert seen == SEEN
    assert seen.gpus[0].energy_j == Value(None, "not_reported", 0.0)


@pytest.mark.parametrize("settings", [Settings("shadow"), Settings("enforce", "a-new-token")])
def test_settings_come_back_as_they_were_sent(settings):
    assert parse_settings(dump_settings(settings)) == settings


def test_a_token_stands_in_no_representation_of_the_settings():
    assert "secret" not in repr(Settings("enforce", "secret"))


def test_answers_come_back_as_they_were_sent():
    applied = Applied("draining", 2, 9, 4)
    refusal = Refusal("older_generation", "generation 9 is in force", 9)
    health = Health("node-1", "boot-1", {"agent": "1.0", "driver": "580.65"})

    assert parse_applied(dump_applied(applied)) == applied
    assert parse_refusal(dump_refusal(refusal)) == refusal
    assert parse_refusal(b'{"code": "unknown_gpu"}') == Refusal("unknown_gpu", "", None)
    assert parse_health(dump_health(health)) == health


@given(st.binary(max_size=60))
def test_bytes_of_any_kind_are_malformed_and_nothing_worse(body):
    with pytest.raises(Malformed) as refused:
        parse_observation(body)

    assert refused.value.field != ""


@pytest.mark.parametrize("body", [b"", b"[]", b"[" * 100_000, b"\xff\xfe", b"9" * 5000, b"null"])
def test_a_body_that_is_no_object_is_named(body):
    with pytest.raises(Malformed) as refused:
        parse_order(body)

    assert refused.value.field == "body"


def gpu_with(**changes) -> bytes:
    raw = json.loads(dump_observation(SEEN))
    raw["gpus"][0] |= changes
    return json.dumps(raw).encode()


def value_with(name: str, **changes) -> bytes:
    raw = json.loads(dump_observation(SEEN))
    raw["gpus"][0]["values"][name] |= changes
    return json.dumps(raw).encode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (gpu_with(uuid=""), "gpus[0].uuid"),
        (gpu_with(uuid="GPU\0"), "gpus[0].uuid"),
        (gpu_with(model="\ud800"), "gpus[0].model"),
        (gpu_with(model="m" * 500), "gpus[0].model"),
        (gpu_with(holder=7), "gpus[0].holder"),
        (gpu_with(holder="Deep Sea"), "gpus[0].holder"),
        (gpu_with(generation=-1), "gpus[0].generation"),
        (gpu_with(generation=2**63), "gpus[0].generation"),
        (gpu_with(generation=True), "gpus[0].generation"),
        (gpu_with(lost=0), "gpus[0].lost"),
        (gpu_with(draining="no"), "gpus[0].draining"),
        (gpu_with(kind="tpu"), "gpus[0].kind"),
        (gpu_with(kind="mig"), "gpus[0].parent_uuid"),
        (gpu_with(parent_uuid="GPU-1"), "gpus[0].parent_uuid"),
        (gpu_with(memory_total_mib="80 GB"), "gpus[0].memory_total_mib"),
        (gpu_with(values=None), "gpus[0].values"),
        (gpu_with(values={}), "gpus[0].values.util_pct"),
        (gpu_with(processes={}), "gpus[0].processes"),
        (gpu_with(processes=["ada"]), "gpus[0].processes[0]"),
        (gpu_with(processes=[{"pid": 1, "user": ""}]), "gpus[0].processes[0].user"),
        (value_with("power_w", value="12 W"), "gpus[0].values.power_w.value"),
        (value_with("power_w", value=None), "gpus[0].values.power_w.reason"),
        (value_with("util_pct", age_s=-1), "gpus[0].values.util_pct.age_s"),
        (value_with("util_pct", age_s=float("nan")), "gpus[0].values.util_pct.age_s"),
        (dump_observation(replace(SEEN, gpus=(GPU, GPU))), "gpus"),
        (dump_observation(SEEN).replace(b'"protocol":2', b'"protocol":0'), "protocol"),
        (dump_observation(SEEN).replace(b'"protocol":2', b'"protocol":"2"'), "protocol"),
        (dump_observation(SEEN).replace(b'"mode":"enforce"', b'"mode":"hope"'), "mode"),
        (gpu_with(faults=[{"code": "xid_79", "since_s": -1}]), "gpus[0].faults[0].since_s"),
        (gpu_with(faults=["xid_79"]), "gpus[0].faults[0]"),
        (gpu_with(open_to=["ada"]), "gpus[0].open_to"),
        (gpu_with(minor="0"), "gpus[0].minor"),
        (dump_observation(SEEN).replace(b'"boot_id"', b'"boot"'), "boot_id"),
    ],
)
def test_a_malformed_observation_names_its_field(body, field):
    with pytest.raises(Malformed) as refused:
        parse_observation(body)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("util_pct", 101),
        ("util_pct", 4_294_967_295),
        ("util_pct", 9.2e18),
        ("util_pct", -1),
        ("util_pct", float("nan")),
        ("mem_used_mib", -5),
        ("mem_used_mib", 90_000),
        ("power_w", 3001),
        ("power_w", float("inf")),
        ("temperature_c", 255),
    ],
)
def test_a_value_that_cannot_be_is_unknown_and_never_zero(name, value):
    """NVIDIA/DCGM#199, NVIDIA/gpu-monitoring-tools#152."""
    seen = parse_observation(value_with(name, value=value))

    assert getattr(seen.gpus[0], name) == Value(None, "implausible", 1.5)


def test_values_at_the_edge_are_believed():
    seen = parse_observation(value_with("util_pct", value=100)).gpus[0]
    idle = parse_observation(value_with("util_pct", value=0)).gpus[0]

    assert (seen.util_pct.value, idle.util_pct.value) == (100, 0)


@pytest.mark.parametrize("pid", [0, 4_294_967_295])
def test_a_garbage_process_makes_the_list_unknown_instead_of_shorter(pid):
    body = gpu_with(processes=[{"pid": pid, "user": "root", "started_at_s": 0, "mem_mib": None}])

    assert parse_observation(body).gpus[0].processes is None


def test_memory_that_cannot_be_is_unknown():
    assert parse_observation(gpu_with(memory_total_mib=0)).gpus[0].memory_total_mib is None
    assert parse_observation(gpu_with(memory_total_mib=-1)).gpus[0].memory_total_mib is None


def test_a_mig_instance_names_its_parent():
    seen = parse_observation(gpu_with(kind="mig", uuid="MIG-GPU-1/1/0", parent_uuid="GPU-1")).gpus[0]

    assert (seen.kind, seen.parent_uuid) == ("mig", "GPU-1")


def test_fields_of_a_later_version_are_passed_over():
    assert parse_observation(gpu_with(nvlink_errors=3)) == SEEN


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"generation": 0}, "generation"),
        ({"holder": "../root"}, "holder"),
        ({"unix_ids": [0]}, "unix_ids[0]"),
        ({"unix_ids": "1005"}, "unix_ids"),
        ({"access_revision": None}, "access_revision"),
        ({"eviction": {"by": "ops", "with": "lead", "until": "2027-01-01T10:00:00"}}, "eviction.until"),
        ({"eviction": {"by": "ops", "with": "lead", "until": "soon"}}, "eviction.until"),
        ({"eviction": {"by": "ops", "until": "2027-01-01T10:00:00Z"}}, "eviction.with"),
    ],
)
def test_a_malformed_order_names_its_field(change, field):
    raw = json.loads(dump_order(Order("deep-sea", 3))) | change

    with pytest.raises(Malformed) as refused:
        parse_order(json.dumps(raw).encode())

    assert refused.value.field == field


def test_an_instant_of_any_zone_is_one_instant():
    raw = json.loads(dump_order(Order("deep-sea", 3)))
    raw["eviction"] = {"by": "ops", "with": "lead", "until": "2027-01-01T10:00:00+02:00"}

    order = parse_order(json.dumps(raw).encode())

    assert order.eviction.until == datetime(2027, 1, 1, 8, tzinfo=UTC)
