"""Enforcement on one node: the portal's orders kept, and device access lists as they say. Debian's standard tools only.

`Enforcer` is the whole of it to the agent; docs/node-agent.md, "Enforcement", says what it guarantees and what not.
"""

from inventory.node_agent.enforce.doctor import Check
from inventory.node_agent.enforce.enforcer import Enforcer
from inventory.node_agent.enforce.errors import Refused
from inventory.node_agent.enforce.layout import Layout, Policy, Step

__all__ = ["Check", "Enforcer", "Layout", "Policy", "Refused", "Step"]
