"""What each code of ill health means and what to do about it, one sentence each, for pages, the API and notices."""

import re
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Advice(NamedTuple):
    """`what`: the fault in a few words; `remedy`: what somebody in operations does next."""

    what: str | Promise
    remedy: str | Promise


RESET = _("Cordon the node, wait for its jobs, then reset the GPU; if it comes back, send the card in.")
REBOOT = _("Cordon the node, wait for its jobs, then reboot it.")
LOOK = _("Look at the evidence, and at what the agent's own log says on that node.")

# Found by surveys themselves.
OF_SURVEYS: dict[str, Advice] = {
    "lost": Advice(_("lost"), _("See the kernel log, reboot; if the card stays away, reseat or replace it.")),
    "silent": Advice(_("does not answer"), _("See whether the node is up and its agent runs. Nothing is taken.")),
    "stale": Advice(_("values are old"), _("The driver answers slowly or not at all: see the node's kernel log.")),
    "uuid_conflict": Advice(
        _("one UUID on two nodes"), _("Find out which node really has the card, and retire the other's row.")
    ),
    "cards_missing": Advice(
        _("fewer cards than expected"),
        _("Look for the card on the bus (lspci); reseat it, or correct how many the node is declared with."),
    ),
}  # fmt: skip
# Of the driver and the card, by the probe.
OF_CARDS: dict[str, Advice] = {
    "hung": Advice(_("does not answer the driver"), RESET),
    "card_hung": Advice(_("a card does not answer the driver"), RESET),
    "not_answering": Advice(_("the driver gets no answer"), RESET),
    "no_permission": Advice(
        _("the agent may not read it"), _("Give the agent's service its rights back: reinstall its service file.")
    ),
    "power_missing": Advice(_("a power cable is missing"), _("Switch the node off and check the card's power cables.")),
    "interrupt": Advice(_("interrupts do not arrive"), REBOOT),
    "corrupted_inforom": Advice(_("its own memory of facts is damaged"), _("Send the card in.")),
    "reset_required": Advice(_("needs a reset"), RESET),
    "ecc_uncorrected": Advice(_("memory errors that were not corrected"), RESET),
    "remap_failed": Advice(_("a broken memory row could not be replaced"), _("Cordon the node and send the card in.")),
    "remap_pending": Advice(_("a memory row waits for a reset"), RESET),
    "retire_pending": Advice(_("memory pages wait for a reset"), RESET),
    "pages_retired": Advice(_("memory pages were taken out of use"), _("Nothing now; if it grows, send the card in.")),
    "recovery_needed": Advice(_("the driver asks for a repair"), _("Do what the evidence names, after its jobs.")),
    "throttled": Advice(_("slowed down"), _("Check cooling and power of the node.")),
    "persistence_off": Advice(_("starts slowly"), _("Start nvidia-persistenced on the node.")),
    "xid": Advice(_("the driver reported a fault"), _("Look the number up in NVIDIA's list; most need a reset.")),
    "handle_failed": Advice(_("the driver gives no handle"), RESET),
    "card_unreadable": Advice(_("a card cannot be read"), RESET),
    "card_probe_died": Advice(_("reading a card ends the probe"), RESET),
}
# Of a node's driver and its agent.
OF_NODES: dict[str, Advice] = {
    "driver_not_loaded": Advice(_("the driver is not loaded"), _("Load it (modprobe nvidia) and see the kernel log.")),
    "no_library": Advice(_("the driver's library is missing"), _("Install the driver's libraries.")),
    "library_mismatch": Advice(
        _("library and driver are of different versions"), _("Reboot the node, or load the driver's module anew.")
    ),
    "nvml_unknown": Advice(_("the driver does not start"), REBOOT),
    "no_pynvml": Advice(_("the agent lacks its library"), _("Install the agent again.")),
    "wrong_pynvml": Advice(_("another package hides the agent's library"), _("Remove the package that is named.")),
    "init_hung": Advice(_("the driver hangs at its start"), REBOOT),
    "probe_start_failed": Advice(_("the probe does not start"), LOOK),
    "probe_unkillable": Advice(_("the driver hangs and cannot be left"), REBOOT),
    "probe_stuck": Advice(_("the driver hangs and cannot be left"), REBOOT),
    "probe_died": Advice(_("reading ends the probe"), LOOK),
    "probe_failed": Advice(_("the agent could not read the cards"), LOOK),
    "look_failed": Advice(_("the agent could not look"), LOOK),
    "pass_failed": Advice(_("the agent could not check its devices"), LOOK),
    "foreign_pids": Advice(_("process numbers from elsewhere"), _("Run the agent on the host, not in a container.")),
    "not_looked_yet": Advice(_("the agent has just started"), _("Nothing: its first look is under way.")),
}
# Of enforcement.
OF_ACCESS: dict[str, Advice] = {
    "access_differs": Advice(_("not open as ordered"), _("Look again; if it stays, the evidence names who gets in.")),
    "access_failed": Advice(_("access could not be set"), _("Check the agent's rights, and that /dev is a devtmpfs.")),
    "device_changed": Advice(_("somebody changed the device"), _("Set the driver's parameters as the doctor says.")),
    "device_unknown": Advice(_("unclear which device it is"), _("Run nvidia-smi as root once; if it stays, reboot.")),
    "foreign_descriptor": Advice(_("opened without a right"), _("Talk to both: somebody passed on what was open.")),
    "works_elsewhere": Advice(_("a job on another GPU keeps it open"), _("Wait for that job.")),
    "unkillable_process": Advice(_("a process that nothing ends"), _("Reset the GPU or reboot the node.")),
    "root_process": Advice(_("root works on it"), _("End that process by hand.")),
    "processes_unknown": Advice(_("unclear who is on it"), _("See the driver's faults of that GPU first.")),
    "order_unreadable": Advice(_("its order is damaged"), _("Commit a repair, which sends it again.")),
    "state_unwritable": Advice(_("orders cannot be kept"), _("Make room on the node's disk, or replace it.")),
    "not_ready_to_enforce": Advice(
        _("could not enforce yet"), _("Do what the evidence says before this island enforces.")
    ),
    "not_ready": Advice(_("not ready to enforce"), _("Do what the evidence says; allot-agent doctor shows the rest.")),
}
# Why a node did not answer, as the evidence begins.
OF_SILENCE: dict[str, Advice] = {
    "certificate_mismatch": Advice(
        _("shows another certificate"),
        _("If the node was made anew, let its agent join again; else find out who answers."),
    ),
    "bad_token": Advice(_("does not accept the token"), _("Let its agent join again by a new code.")),
    "bad_answer": Advice(_("answers what cannot be read"), _("Bring agent and portal to versions that fit.")),
}
ADVICE: dict[str, Advice] = OF_SURVEYS | OF_CARDS | OF_NODES | OF_ACCESS
XID = re.compile(r"xid[ _]?[0-9]+")


def advice_for(code: str, evidence: str = "") -> Advice:
    """What the code means and what to do; one that is not known stands for itself."""
    if code == "silent":
        return OF_SILENCE.get(evidence.partition(":")[0], ADVICE[code])
    if XID.fullmatch(code):
        return ADVICE["xid"]
    return ADVICE.get(code) or Advice(code.replace("_", " "), LOOK)
