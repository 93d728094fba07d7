"""What enforcement refuses."""

from inventory.node_agent.protocol import Refusal
from inventory.node_agent.protocol.fields import LONGEST_TEXT


class Refused(Exception):
    """The node does not do that: `refusal` is what goes over the wire, its code one of REFUSAL_STATUS."""

    def __init__(self, code: str, detail: str, generation: int | None = None) -> None:
        super().__init__(code, detail)
        self.refusal = Refusal(code, detail[:LONGEST_TEXT], generation)
