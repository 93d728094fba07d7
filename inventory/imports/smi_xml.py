"""What `nvidia-smi -q -x` says of one machine."""

from xml.etree.ElementTree import Element, ParseError  # types only; defusedxml reads

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from inventory.errors import BadFleetFile
from inventory.imports.cards import card, machine
from inventory.imports.declared import DeclaredCard, DeclaredNode

ROOT = "nvidia_smi_log"


def read_smi_xml(content: bytes, *, node: str) -> DeclaredNode:
    """The machine `node` with its cards; MIG instances are left to its agent, since this output names none by UUID.

    Raises BadFleetFile.
    """
    try:
        # Its own DOCTYPE line is harmless; entities are not.
        root = fromstring(content, forbid_dtd=False)
    except ParseError as error:
        line, column = error.position
        raise BadFleetFile(line, str(column), f"not XML from here on ({error.msg})") from error
    except (DefusedXmlException, ValueError) as error:
        raise BadFleetFile(1, "1", "XML with entities is not read") from error
    if root.tag != ROOT:
        raise BadFleetFile(1, root.tag, f"not the output of nvidia-smi -q -x, which begins with {ROOT}")
    return machine(node, [_card(gpu) for gpu in root.findall("gpu")], attached=root.findtext("attached_gpus") or "")


def _card(gpu: Element) -> DeclaredCard:
    def said(path: str) -> str:
        return (gpu.findtext(path) or "").strip()

    return card(
        uuid=said("uuid"),
        pci_bus_id=said("pci/pci_bus_id") or gpu.get("id", ""),
        model=said("product_name"),
        memory=said("fb_memory_usage/total"),
        serial=said("serial"),
        minor=said("minor_number"),
    )
