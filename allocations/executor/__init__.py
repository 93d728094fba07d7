"""Execution: the committed moves are carried out on the nodes, and believed only when a later reading shows them."""

from allocations.executor.admission import tell_access
from allocations.executor.advance import move_on
from allocations.executor.orders import tell_nodes
from allocations.executor.proof import prove

__all__ = ["run_pass", "tell_access"]


def run_pass() -> None:
    """Every open move is as far as its donor, its node and its readings let it be.

    Takes no input and may be repeated, late, or run twice at once: two passes may both tell a node the same, which
    does no harm, and of two that write the same outcome one wins and the other leaves it. So no lock is held over a
    pass: one that a dead worker or a connection pool left behind would stop all execution. Network calls are made
    outside of any transaction. Nothing is retried inside: the next pass is the retry.
    """
    move_on()
    prove()
    tell_nodes()
