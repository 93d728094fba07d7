"""What is there to promise: healthy GPUs by model, outages by cordon, and how old a reading may be."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from inventory.queries import Outage, address_of, fresh_after, healthy_counts, outages, polled_nodes, units
from tests import factories

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_healthy_counts_leave_out_what_is_lost_or_retired_and_keep_what_is_silent():
    h100, t4 = factories.model("H100"), factories.model("T4")
    silent = factories.node(gpus=4, silent_since=NOW, fault="node_unreachable")
    factories.gpu(silent, slot=4, lost_at=NOW)
    factories.gpu(silent, slot=5, retired_at=NOW)
    factories.node(gpus=2, retired_at=NOW)
    factories.node(model=t4, gpus=1)
    factories.node(model=factories.model("A100"), gpus=8, cards=0)

    assert healthy_counts() == {h100.pk: 4, t4.pk: 1}


def test_a_card_counts_or_its_instances_and_never_both():
    node = factories.node(gpus=2)
    card = node.gpus.first()
    slice_model = factories.model("H100 1g.10gb")
    for _ in range(3):
        factories.gpu(node, parent=card, model=slice_model)

    assert healthy_counts() == {card.model_id: 1, slice_model.pk: 3}
    assert card not in units()

    node.gpus.filter(kind="mig").update(lost_at=NOW)
    assert healthy_counts() == {card.model_id: 2}


def test_outages_are_cordons_now_and_to_come_with_the_gpus_they_take():
    now = timezone.now()
    day = timedelta(days=1)
    h100 = factories.model("H100")
    node, other = factories.node(gpus=2), factories.node(gpus=4)
    factories.gpu(other, slot=4, lost_at=now)
    factories.cordon(node, since=now - 2 * day, until=now - day)
    factories.cordon(node, since=now - day, until=now + day)
    factories.cordon(node, since=now + 3 * day)
    factories.cordon(other, since=now + 2 * day, until=now + 3 * day)
    factories.node(gpus=8, silent_since=now, fault="node_unreachable")

    assert outages() == [
        Outage(h100.pk, now - day, now + day, 2),
        Outage(h100.pk, now + 2 * day, now + 3 * day, 4),
        Outage(h100.pk, now + 3 * day, None, 2),
    ]


def test_an_outage_of_a_node_with_two_models_is_one_for_each():
    now = timezone.now()
    node = factories.node(gpus=2)
    t4 = factories.model("T4")
    factories.gpu(node, slot=2, model=t4)
    factories.cordon(node, since=now)

    assert sorted(outage.gpus for outage in outages()) == [1, 2]
    assert {outage.model_id for outage in outages()} == {node.model_id, t4.pk}


@pytest.mark.parametrize("count", [1, 3])
def test_health_is_one_query_each(count, django_assert_num_queries):
    for _ in range(count):
        factories.cordon(factories.node(gpus=2))

    with django_assert_num_queries(2):
        assert sum(healthy_counts().values()) == sum(outage.gpus for outage in outages()) == 2 * count


def test_a_reading_is_believed_for_three_intervals(settings):
    settings.POLL_INTERVAL_S = 20

    assert fresh_after(NOW) == NOW - timedelta(seconds=60)


def test_an_address_says_all_that_a_driver_needs_and_hides_the_token():
    node = factories.node("n1", cards=0, address="https://a:1", token="secret", certificate_sha256="ab" * 32)

    address = address_of(node)

    assert (address.name, address.address, address.token) == ("n1", "https://a:1", "secret")
    assert (address.certificate_sha256, address.driver) == ("ab" * 32, "agent")
    assert "secret" not in repr(address)
    assert list(polled_nodes()) == [node]
