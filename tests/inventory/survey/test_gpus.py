"""Identity of GPUs over surveys: appeared, lost, back, replaced in its slot, moved, and claimed by two nodes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inventory.models import Event, Gpu, GpuModel, Node, Reading
from tests import factories
from tests.inventory.survey.seen import NOON, card, instance, later, said, silent, survey

pytestmark = pytest.mark.django_db


@pytest.fixture
def node():
    return factories.node("n1", gpus=2, cards=0)


@pytest.fixture
def other():
    return factories.node("n2", gpus=2, cards=0)


@pytest.fixture
def one_good_poll(settings):
    settings.GOOD_POLLS = 1


def events(*verbs):
    others = Event.objects.exclude(verb="gpu.appeared").exclude(verb__startswith="finding.")
    found = Event.objects.filter(verb__in=verbs) if verbs else others
    return [(event.verb, event.subject_label, event.facts) for event in found.order_by("pk")]


def polls(node, seconds, *gpus, **options):
    """The node shows these GPUs at each of these instants."""
    for second in seconds:
        survey(said(node, *gpus, at=later(second), **options), at=later(second))


def places():
    """uuid -> node and slot number of the GPUs in use."""
    found = Gpu.objects.filter(retired_at=None).values_list("uuid", "node__name", "pci_bus_id")
    return {uuid: (name, int(slot[9:11], 16) - 1) for uuid, name, slot in found}


def test_the_first_survey_brings_the_cards(node):
    survey(said(node, card("GPU-a", 0), card("GPU-b", 1, model="H200", memory_total_mib=143_771)))

    facts = ("uuid", "node__name", "pci_bus_id", "model__name", "first_seen_at", "lost_at")
    assert list(Gpu.objects.order_by("uuid").values_list(*facts)) == [
        ("GPU-a", "n1", "00000000:01:00.0", "H100", NOON, None),
        ("GPU-b", "n1", "00000000:02:00.0", "H200", NOON, None),
    ]
    assert GpuModel.objects.get(name="H200").memory_mib == 143_771
    assert events("gpu.appeared")[0] == (
        "gpu.appeared",
        "GPU-a",
        {"node": "n1", "slot": "00000000:01:00.0", "model": "H100"},
    )


def test_a_card_that_its_node_shows_no_more_is_lost_once_and_the_node_is_short(node):
    """NVIDIA/k8s-device-plugin#2038."""
    survey(said(node, card("GPU-a", 0), card("GPU-b", 1)))
    assert list(Gpu.objects.filter(lost_at__isnull=False)) == []

    for seconds in (10, 20):
        survey(said(node, card("GPU-a", 0), at=later(seconds)), at=later(seconds))

    assert Gpu.objects.get(uuid="GPU-b").lost_at == later(10)
    assert (node.expected_gpus, node.gpus.filter(lost_at=None).count()) == (2, 1)
    assert events() == [("gpu.lost", "GPU-b", {"node": "n1", "slot": "00000000:02:00.0", "why": "missing"})]


def test_a_card_that_says_it_is_lost_is_lost_and_comes_back(node):
    survey(said(node, card("GPU-a")))
    survey(said(node, card("GPU-a", lost=True, util=None), at=later(10)), at=later(10))
    assert Gpu.objects.get().lost_at == later(10)

    polls(node, (20, 30, 40), card("GPU-a"))

    assert Gpu.objects.get().lost_at is None
    assert [verb for verb, *_ in events()] == ["gpu.lost", "gpu.returned"]


def test_a_lost_card_is_back_after_three_good_polls_in_a_row_and_no_sooner(node):
    """NVIDIA/k8s-device-plugin#1014: a restart alone made it look healthy."""
    survey(said(node, card("GPU-a")))
    sick = card("GPU-a", lost=True, util=None)
    story = [sick, card("GPU-a"), card("GPU-a"), sick, card("GPU-a"), card("GPU-a")]

    for number, seen in enumerate(story, start=1):
        survey(said(node, seen, at=later(10 * number)), at=later(10 * number))
    between = (Gpu.objects.get().lost_at, Gpu.objects.get().good_polls)
    polls(node, (70,), card("GPU-a"))

    assert between == (later(10), 2)
    assert (Gpu.objects.get().lost_at, Gpu.objects.get().good_polls) == (None, 0)


def test_an_agent_that_begins_anew_brings_no_lost_card_back(node):
    """NVIDIA/k8s-device-plugin#1014."""
    survey(said(node, card("GPU-a")), at=NOON)
    survey(said(node, at=later(10)), at=later(10))

    survey(said(node, card("GPU-a"), at=later(20), boot="boot-2", sequence=1), at=later(20))

    assert Gpu.objects.get().lost_at == later(10)


def test_a_poll_that_does_not_show_it_starts_the_count_anew(node):
    survey(said(node, card("GPU-a"), card("GPU-b", 1)))
    polls(node, (10,), card("GPU-b", 1))
    polls(node, (20, 30), card("GPU-a"), card("GPU-b", 1))

    polls(node, (40,), card("GPU-b", 1))

    assert Gpu.objects.get(uuid="GPU-a").good_polls == 0


def test_a_silent_node_loses_no_card(node):
    """kueue PR#12999."""
    survey(said(node, card("GPU-a")))

    survey(silent(node), at=later(10))

    assert Gpu.objects.get().lost_at is None


def test_a_card_in_anothers_slot_replaces_it_and_history_stays(node):
    """truenas/middleware PR#19499."""
    survey(said(node, card("GPU-a", 0, holder="apollo"), card("GPU-b", 1)))

    survey(said(node, card("GPU-new", 0), card("GPU-b", 1), at=later(10)), at=later(10))

    old = Gpu.objects.get(uuid="GPU-a")
    assert (old.retired_at, old.pci_bus_id, old.reading.holder) == (later(10), "00000000:01:00.0", "apollo")
    assert places() == {"GPU-new": ("n1", 0), "GPU-b": ("n1", 1)}
    assert events() == [
        ("gpu.replaced", "GPU-a", {"node": "n1", "slot": "00000000:01:00.0", "model": "H100", "by": "GPU-new"})
    ]


def test_the_instances_of_a_replaced_card_went_with_it(node):
    parent = card("GPU-a", 0)
    survey(said(node, parent, instance("MIG-1", parent)))

    survey(said(node, card("GPU-new", 0), at=later(10)), at=later(10))

    assert set(Gpu.objects.filter(retired_at=later(10)).values_list("uuid", flat=True)) == {"GPU-a", "MIG-1"}


def test_a_replaced_card_that_comes_back_is_in_use_again(node):
    survey(said(node, card("GPU-a", 0)))
    survey(said(node, card("GPU-new", 0), at=later(10)), at=later(10))

    survey(said(node, card("GPU-a", 0), at=later(20)), at=later(20))

    assert places() == {"GPU-a": ("n1", 0)}
    assert [verb for verb, *_ in events()] == ["gpu.replaced", "gpu.replaced", "gpu.returned"]


def test_cards_that_swap_slots_keep_their_identity(node):
    """gpustack/gpustack#1633."""
    survey(said(node, card("GPU-a", 0), card("GPU-b", 1)))

    survey(said(node, card("GPU-b", 0), card("GPU-a", 1), at=later(10)), at=later(10))

    assert places() == {"GPU-a": ("n1", 1), "GPU-b": ("n1", 0)}
    assert Gpu.objects.count() == 2
    assert [(verb, label) for verb, label, _ in events()] == [("gpu.moved", "GPU-a"), ("gpu.moved", "GPU-b")]


def test_a_card_moves_to_the_node_that_shows_it_when_its_own_shows_it_no_more(node, other):
    survey(said(node, card("GPU-a", 0)), said(other))

    survey(said(node, at=later(10)), said(other, card("GPU-a", 1), at=later(10)), at=later(10))

    assert places() == {"GPU-a": ("n2", 1)}
    facts = {"node": "n2", "slot": "00000000:02:00.0", "model": "H100"}
    assert events() == [("gpu.moved", "GPU-a", facts | {"from_node": "n1", "from_slot": "00000000:01:00.0"})]


def test_a_lost_card_moves_at_once_and_is_fit_for_use_after_three_good_polls(node, other):
    survey(said(node, card("GPU-a", 0)))
    survey(said(node, at=later(10)), at=later(10))

    polls(other, (20,), card("GPU-a", 1))
    first = (places(), Gpu.objects.get().lost_at)
    polls(other, (30, 40), card("GPU-a", 1))

    assert first == ({"GPU-a": ("n2", 1)}, later(10))
    assert (places(), Gpu.objects.get().lost_at) == ({"GPU-a": ("n2", 1)}, None)


def test_a_card_of_a_node_that_is_silent_for_long_moves(node, other):
    survey(said(node, card("GPU-a", 0)))

    survey(said(other, card("GPU-a", 1), at=later(60)), at=later(60))

    assert places() == {"GPU-a": ("n2", 1)}


@pytest.mark.parametrize("first", ["owner", "claimant"])
def test_a_uuid_that_two_nodes_show_stays_with_the_one_that_is_known(node, other, first):
    own, strange = (node, other) if first == "owner" else (other, node)
    survey(said(own, card("GPU-a", 0, holder="apollo")))

    for seconds in (10, 20):
        survey(
            said(own, card("GPU-a", 0, holder="apollo"), at=later(seconds)),
            said(strange, card("GPU-a", 1, holder="borealis"), at=later(seconds)),
            at=later(seconds),
        )

    assert places() == {"GPU-a": (own.name, 0)}
    assert Reading.objects.get().holder == "apollo"
    assert events() == [("gpu.conflict", "GPU-a", {"owner": own.name, "claimed_by": strange.name})]


def test_a_uuid_whose_node_showed_it_a_moment_ago_does_not_move(node, other, monkeypatch):
    monkeypatch.setattr("inventory.survey.store.timezone.now", lambda: later(10))
    survey(said(node, card("GPU-a", 0)))

    survey(said(other, card("GPU-a", 1), at=later(10)), at=later(10))

    assert places() == {"GPU-a": ("n1", 0)}
    assert [verb for verb, *_ in events()] == ["gpu.conflict"]


def test_a_new_uuid_that_two_nodes_show_at_once_has_one_row(node, other):
    survey(said(other, card("GPU-a", 1)), said(node, card("GPU-a", 0)))

    assert places() == {"GPU-a": ("n1", 0)}
    assert [verb for verb, *_ in events()] == ["gpu.conflict"]


def test_the_memory_of_a_model_is_filled_in_and_never_overwritten(node):
    GpuModel.objects.filter(name="H100").update(memory_mib=None)
    survey(said(node, card("GPU-a", 0)))
    survey(said(node, card("GPU-a", 0), card("GPU-b", 1, memory_total_mib=1), at=later(10)), at=later(10))

    assert GpuModel.objects.get(name="H100").memory_mib == 81_559


def test_a_retired_nodes_answer_is_not_stored(node):
    Node.objects.update(retired_at=NOON)

    survey(said(node, card("GPU-a")))

    assert Gpu.objects.count() == 0


ANYWHERE = st.lists(
    st.dictionaries(
        st.sampled_from(["n1", "n2"]),
        st.none() | st.dictionaries(st.integers(0, 2), st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=3),
        min_size=1,
    ),
    min_size=2,
    max_size=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=ANYWHERE)
def test_whatever_nodes_show_the_rows_follow_the_newest_answer(story, one_good_poll):
    """A story is what each node shows at each poll: slot -> card and whether it says it is lost, None when silent.

    A card that was lost is good again after several polls; here one is enough.
    """
    nodes = [factories.node(gpus=3, cards=0) for _ in range(2)]
    stem = f"GPU-{nodes[0].pk}-"
    for number, poll in enumerate(story):
        at = later(1000 * number)
        answers, seen = [], {}
        for name, slots in sorted(poll.items()):
            node = nodes[name == "n2"]
            shown = {}
            for slot, (letter, lost) in (slots or {}).items():
                shown.setdefault(letter, card(stem + letter, slot, lost=lost))
            seen[node.pk] = {gpu.uuid: gpu for gpu in shown.values()}
            answers.append(silent(node) if slots is None else said(node, *shown.values(), at=at))
            if slots is None:
                del seen[node.pk]
        survey(*answers, at=at)

        rows = {gpu.uuid: gpu for gpu in Gpu.objects.filter(uuid__startswith=stem)}
        for pk, shown in seen.items():
            for uuid, gpu in shown.items():
                row = rows[uuid]
                assert row.node_id == pk or uuid in seen.get(row.node_id, {})
                if row.node_id == pk:
                    assert (row.retired_at, row.pci_bus_id, row.lost_at is not None) == (None, gpu.pci_bus_id, gpu.lost)
            for row in rows.values():
                if row.node_id == pk and row.retired_at is None and row.uuid not in shown:
                    assert row.lost_at is not None
