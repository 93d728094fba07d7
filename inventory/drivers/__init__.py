"""The only code that speaks to a node or cluster."""
