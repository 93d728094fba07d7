"""One planner instance: `manage.py solve_instance FILE --out PLAN` (docs/planner.md)."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from allocations.planner.exact import Answer, Infeasible, read_problem, solve


class Command(BaseCommand):
    """Reads, solves, writes the plan or what is missing, and says which."""

    help = "Solve a reshuffle-core/1 instance exactly and write its plan."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--out", type=Path, required=True, metavar="PLAN")

    def handle(self, *args: Any, file: Path, out: Path, **options: Any) -> None:
        try:
            raw = json.loads(file.read_bytes())
            answer = solve(read_problem(raw.get("instance", raw)))
        except (OSError, ValueError, AttributeError) as error:
            raise CommandError(_("%(file)s cannot be read: %(why)s") % {"file": file, "why": error}) from error
        out.write_text(json.dumps(as_plan(answer), indent=1) + "\n")
        self.stdout.write(told(answer))


def as_plan(answer: Answer | Infeasible) -> dict[str, Any]:
    """The answer as the verifier reads it."""
    if isinstance(answer, Infeasible):
        return {"status": "infeasible", "short_nodes": answer.short_nodes, "unlocks": answer.unlocks}
    moves = [
        {"project": move.project, "from": move.source, "to": move.target, "gpus": move.gpus}
        for move in answer.relocations
    ]
    return {"needs": answer.needs, "relocations": moves}


def told(answer: Answer | Infeasible) -> str:
    """The answer in a line."""
    if isinstance(answer, Infeasible):
        return f"infeasible: short_nodes={answer.short_nodes} unlocks={','.join(answer.unlocks) or '-'}"
    gap = answer.objective - answer.bound
    word = "optimal" if answer.is_proven else "found"
    return f"{word}: objective={answer.objective} gap={gap} needs={len(answer.needs)}"
