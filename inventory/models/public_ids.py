"""The ids that leave the database."""

from uuid_utils.compat import uuid7


def new_public_id() -> object:
    """A UUIDv7."""
    return uuid7()
