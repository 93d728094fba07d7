"""Orders in any order: a real node and a simulated one accept and refuse the same, and a restart changes nothing."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.node_agent.enforce import Enforcer, Layout, Policy, Refused
from inventory.node_agent.protocol import Order
from inventory.simulator import devices
from tests.inventory.node_agent.enforce.machine import GPU_0, node_seen

orders = st.lists(
    st.builds(
        Order,
        st.sampled_from(["", "apollo", "borealis"]),
        st.integers(1, 4),
        st.integers(0, 2),
        st.lists(st.integers(1001, 1003), max_size=2).map(tuple),
    ),
    max_size=8,
)


def answer_of(ensure, order):
    """What came back, in one shape for both."""
    try:
        return ensure(order)
    except (Refused, devices.Refused) as refused:
        return refused.refusal.code, refused.refusal.generation


@settings(max_examples=60, deadline=None)
@given(orders)
def test_a_real_node_and_a_simulated_one_answer_alike(given_orders):
    device = devices.Device("node-1", 0, "NVIDIA H100", 81_559)
    with tempfile.TemporaryDirectory() as folder:
        # Without enforcement, so that it needs no devices; what is accepted does not go by the mode.
        layout = Layout(Path(folder), Path(folder), Path("/proc"), Path(folder))
        simulated = [
            answer_of(lambda each: device.ensure(each, now=0.0, drain_s=0.0, obeys=True), order)
            for order in given_orders
        ]
        real = [
            answer_of(lambda each: Enforcer(layout, Policy()).ensure(GPU_0, each, node_seen()), order)
            for order in given_orders
        ]
        restarted = Enforcer(layout, Policy())
        restarted.reconcile(node_seen())
        seen = restarted.look(node_seen())[0]

    assert real == simulated
    assert (seen.holder, seen.generation, seen.ordered_generation) == (
        device.holder,
        device.generation,
        device.order.generation,
    )
