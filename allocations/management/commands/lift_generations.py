"""After the restore of an older backup: `manage.py lift_generations [--dry-run] [--believe]` (docs/running.md)."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from allocations import queries
from allocations.errors import WrongState
from allocations.plans import generation_in_force, lift_target
from inventory.generations import ask_generations
from inventory.queries import polled_nodes
from inventory.survey import survey_nodes

NODES_SHOWN = 20


class Command(BaseCommand):
    """Asks every node, lifts the target above all of them, and lists what nodes hold that nobody intends."""

    help = "After the restore of an older backup: lift the generations above every node's; changes no holder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would change and write nothing")
        parser.add_argument("--believe", action="store_true", help="believe a node that is a million generations ahead")

    def handle(self, *args: Any, dry_run: bool, believe: bool, **options: Any) -> None:
        nodes = list(polled_nodes().order_by("pk"))
        heard = ask_generations(nodes)
        self.stdout.write(
            _("%(heard)d of %(nodes)d nodes answered; the highest generation is %(highest)d%(where)s.")
            % {
                "heard": len(nodes) - len(heard.silent), "nodes": len(nodes), "highest": heard.highest,
                "where": f" ({heard.node})" if heard.node else "",
            }
        )  # fmt: skip
        before = generation_in_force()
        if dry_run:
            self.stdout.write(_("In force: %(before)d. Nothing was written (--dry-run).") % {"before": before})
            return
        try:
            before, after = lift_target(
                above=heard.highest, by="lift_generations", reason=_("restored from a backup"), believe=believe
            )
        except WrongState as error:
            raise CommandError(_("%(why)s Look at that node, or repeat with --believe.") % {"why": error}) from error
        self.stdout.write(
            _("Lifted from %(before)d to %(after)d.") % {"before": before, "after": after}
            if after > before
            else _("In force: %(before)d, which is above all of them.") % {"before": before}
        )
        survey_nodes(nodes)
        self._tell_drift()
        self._tell_silent(heard.silent)

    def _tell_drift(self) -> None:
        fields = ("node__name", "reading__holder", "intended_holder")
        rows = Counter(queries.drift().values_list(*fields))
        self.stdout.write(_("GPUs that somebody else holds than intended: %(gpus)d") % {"gpus": rows.total()})
        for (node, holder, intended), gpus in sorted(rows.items()):
            words = {"node": node, "gpus": gpus, "holder": holder or "-", "intended": intended or "-"}
            self.stdout.write(_("  %(node)s: %(gpus)d held by %(holder)s, meant for %(intended)s") % words)
        if rows:
            self.stdout.write(
                _("On the reshuffle page: adopt what is there, or propose a repair that gives them back.")
            )

    def _tell_silent(self, silent: list[str]) -> None:
        if silent:
            named = ", ".join(silent[:NODES_SHOWN]) + (", ..." if len(silent) > NODES_SHOWN else "")
            self.stdout.write(
                _("Did not answer: %(nodes)d (%(named)s). Repeat this when they are back.")
                % {"nodes": len(silent), "named": named}
            )
