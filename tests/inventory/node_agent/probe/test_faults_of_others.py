"""Faults of other pollers, each by the issue where it was seen: a case each on the stand-in."""

from tests.inventory.nvml_stub.library import by_minor, codes


def test_a_card_that_fell_off_the_bus_costs_one_row(node):
    """XuehaiPan/nvitop#139: one GPU gone from PCIe, and the whole tool died of it."""
    node.example("h100x8")
    with node.probe() as probe:
        probe.look()
        node.add("[gpu 2]\nlost = yes")

        seen = by_minor(probe.look())

    assert [minor for minor, gpu in seen.items() if gpu.lost] == [2]
    assert codes(seen[2].faults) == ["lost"]
    assert [gpu.util_pct.value for gpu in seen.values()] == [97, 97, None, 0, 0, 0, 0, 0]
    assert (seen[2].util_pct.reason, seen[2].mem_used_mib.reason, seen[2].processes) == ("lost", "lost", None)
