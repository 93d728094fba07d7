"""What every GPU does, judged from its recent readings by the clock."""

from inventory.judging.rounds import judge_units, rules_now

__all__ = ["judge_units", "rules_now"]
