"""A GPU as the probe says it, for tests that care about something else."""

from inventory.node_agent.protocol import GpuSeen, Value

UNKNOWN = Value(None, "n/a", 0.0)


def a_gpu(uuid: str) -> GpuSeen:
    """A healthy card in the first slot, nobody's."""
    return GpuSeen(
        uuid,
        "00000000:01:00.0",
        "gpu",
        None,
        "NVIDIA H100",
        81_559,
        False,
        "",
        0,
        False,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN,
        (),
    )
