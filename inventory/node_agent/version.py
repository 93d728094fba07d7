"""What this agent calls itself; the same as the portal that it is built from."""

VERSION = "0.1.0"
