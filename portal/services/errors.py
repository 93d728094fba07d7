"""What keeps the embedded services or the supervisor from starting, in one sentence for the person at the terminal."""


class CannotStart(Exception):
    """Something outside must change first; the message says what, and never needs a traceback beside it."""


class AlreadyRunning(CannotStart):
    """Another run from the same state folder holds what this one asked for."""
