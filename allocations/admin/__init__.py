"""The administration of people, roles, policies and divisions; decisions, plans and messages are only shown."""

from allocations.admin import decisions, machines, notices, people, policies

__all__ = ["decisions", "machines", "notices", "people", "policies"]
