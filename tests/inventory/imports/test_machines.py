"""What machines say of themselves: read where it names cards, else refused with what to ask instead."""

import pytest

from inventory.errors import BadFleetFile
from inventory.imports import DeclaredCard, read_fleet_file
from tests.shared import shared_data

A, B = "GPU-27817582-158c-5a64-5721-5101e2082fb3", "GPU-4ea0a6df-9b9a-e07c-bc19-de3849203eee"
CSV = "timestamp, name, serial, uuid, pci.bus_id, memory.total [MiB]\n"
ROW = f"2026/07/14 09:00:44.579, NVIDIA H100, 1652922013325, {A}, 00000000:1A:00.0, 81559 MiB\n"
READ = {
    "smi_a100_sxm4_80gb.xml": ("NVIDIA A100-SXM4-80GB", 4),
    "smi_a10g.xml": ("NVIDIA A10G", 1),
    "smi_h100_mig_query_idle.csv": ("NVIDIA H100 80GB HBM3", 1),
    "smi_h100_mig_query_load.csv": ("NVIDIA H100 80GB HBM3", 1),
    "smi_h200_query_idle.csv": ("NVIDIA H200", 1),
    "smi_h200_query_load.csv": ("NVIDIA H200", 1),
    "smi_rtx2080super_query_idle.csv": ("NVIDIA GeForce RTX 2080 SUPER", 1),
    "smi_rtx2080super_query_load.csv": ("NVIDIA GeForce RTX 2080 SUPER", 1),
    "smi_rtx3090.xml": ("NVIDIA GeForce RTX 3090", 1),
    "smi_rtx4000_sff_ada.xml": ("NVIDIA RTX 4000 SFF Ada Generation", 1),
    "smi_tesla_t4.xml": ("Tesla T4", 1),
    "smi_unnamed_old_driver.xml": ("Graphics Device", 1),
}
REFUSED = {
    "dcgm_h100_8gpu.prom": "a page of a dcgm-exporter",
    "kernel_xid119.log": "a kernel log",
    "rocm_mi100.json": "rocm-smi of an AMD card: AMD is not supported",
    "rocm_mi50.json": "rocm-smi of an AMD card: AMD is not supported",
    "smi_a100_nvlink.txt": "a state of links",
    "smi_h100_mig_L.txt": "nvidia-smi -L",
    "smi_h100_mig_apps_load.csv": "a list of processes",
    "smi_h100_mig_q_load.txt": "nvidia-smi -q for people to read",
    "smi_h100_mig_topo.txt": "a topology",
    "smi_h200_L.txt": "nvidia-smi -L",
    "smi_h200_apps_load.csv": "a list of processes",
    "smi_h200_q_load.txt": "nvidia-smi -q for people to read",
    "smi_h200_topo.txt": "a topology",
    "smi_rtx2080super_L.txt": "nvidia-smi -L",
}


def xml(*gpus: str, attached: int = 1) -> bytes:
    inner = f"<attached_gpus>{attached}</attached_gpus>{''.join(gpus)}"
    start = '<?xml version="1.0" ?><!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">'
    return f"{start}<nvidia_smi_log>{inner}</nvidia_smi_log>".encode()


def gpu(uuid: str = A, slot: str = "00000000:1A:00.0", name: str = "NVIDIA H100") -> str:
    return (
        f"<gpu id='{slot}'><product_name>{name}</product_name><uuid>{uuid}</uuid><serial>1652922013325</serial>"
        f"<minor_number>2</minor_number><pci><pci_bus_id>{slot}</pci_bus_id></pci>"
        "<fb_memory_usage><total>81559 MiB</total></fb_memory_usage></gpu>"
    )


def refusal(content: bytes, node: str = "n1") -> str:
    with pytest.raises(BadFleetFile) as refused:
        read_fleet_file(content, node=node)
    return str(refused.value)


@pytest.mark.parametrize("name", sorted(READ))
def test_a_real_output_that_names_cards_is_read(name):
    [node] = read_fleet_file((shared_data() / "samples" / name).read_bytes(), node="n1").nodes

    assert (node.name, node.model, node.gpus) == ("n1", *READ[name])
    assert all(card.uuid.startswith("GPU-") and card.pci_bus_id and card.memory_mib for card in node.cards)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_real_output_that_names_none_is_refused_with_what_to_do(name):
    why = refusal((shared_data() / "samples" / name).read_bytes())

    assert why.startswith(f"line 1, column {'pid' if '_apps_' in name else '1'}: {REFUSED[name]}")


def test_every_real_output_is_accounted_for():
    assert {file.name for file in (shared_data() / "samples").iterdir()} == set(READ) | set(REFUSED)


def test_both_forms_give_the_same_card():
    [from_xml] = read_fleet_file(xml(gpu()), node="n1").nodes
    [from_csv] = read_fleet_file((CSV + ROW).encode(), node="n1").nodes

    assert from_xml.cards == (DeclaredCard(A, "00000000:1A:00.0", "NVIDIA H100", 81_559, "1652922013325", 2),)
    assert from_csv.cards == (DeclaredCard(A, "00000000:1A:00.0", "NVIDIA H100", 81_559, "1652922013325", None),)


def test_a_machine_of_which_only_one_card_was_asked_about_has_as_many_as_it_says():
    [node] = read_fleet_file(xml(gpu(), attached=8), node="n1").nodes

    assert (node.gpus, len(node.cards)) == (8, 1)


def test_a_machine_needs_its_name():
    assert "add --node NAME" in refusal(xml(gpu()), node="")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (xml(), "the machine says that it has no GPU"),
        (xml(gpu(), gpu(slot="00000000:1B:00.0")), f"{A} stands there twice"),
        (xml(gpu(), gpu(uuid=B)), "00000000:1A:00.0 stands there twice"),
        (xml(gpu(uuid="GPU-1")), "'GPU-1' is no UUID of a card"),
        (xml(gpu(slot="slot 3")), "'slot 3' is no place on a PCI bus"),
        (xml(gpu(name="")), "the card in 00000000:1A:00.0 has no name"),
        (b"<html></html>", "not the output of nvidia-smi -q -x"),
        (b"<nvidia_smi_log><gpu>", "not XML from here on"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><nvidia_smi_log>&b;</nvidia_smi_log>', "XML with entities is not read"),
        ((CSV + "a, b\n").encode(), "2 cells where the header has 6"),
        ((CSV + ROW.replace(A, "[N/A]")).encode(), "line 2, column uuid: '[N/A]' is no UUID of a card"),
        (b"name, uuid\nH100, GPU-1\n", "column pci.bus_id: this column is missing"),
    ],
)
def test_an_output_that_cannot_be_is_refused_with_its_place(content, why):
    assert why in refusal(content)


@pytest.mark.parametrize("serial", ["[N/A]", "N/A", "0000000000000", "REDACTED", "[Not Supported]", ""])
def test_a_blank_serial_is_none(serial):
    [node] = read_fleet_file((CSV + ROW.replace("1652922013325", serial)).encode(), node="n1").nodes

    assert node.cards[0].serial == ""
