"""Kubernetes nodes as a fleet file."""

import pytest

from inventory.errors import BadFleetFile
from inventory.imports import read_fleet_file
from tests.shared import shared_data

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
    topology.kubernetes.io/zone: hall-1
{labels}
status:
  capacity:
    cpu: '96'
    {resource}
"""


def node(name: str = "n1", labels: str = "", resource: str = "nvidia.com/gpu: '8'") -> str:
    return NODE.format(name=name, labels=labels and f"    {labels}", resource=resource)


def read(text: str):
    return read_fleet_file(text.encode())


def test_a_node_has_the_model_of_its_label_and_the_gpus_of_its_capacity():
    [found] = read(node()).nodes

    assert (found.name, found.model, found.gpus, found.site) == ("n1", "NVIDIA-H100-80GB-HBM3", 8, "hall-1")
    assert found.labels["topology.kubernetes.io/zone"] == "hall-1"


def test_time_slices_are_not_cards():
    [found] = read(node(labels="nvidia.com/gpu.count: '4'", resource="nvidia.com/gpu: '40'")).nodes

    assert found.gpus == 4


def test_nodes_without_gpus_and_with_those_of_others_are_left_out_and_say_why():
    text = "---\n".join([node("n1"), node("n2", resource="memory: 1Gi"), node("n3", resource="amd.com/gpu: '8'")])

    found = read(text)

    assert [each.name for each in found.nodes] == ["n1"]
    assert found.left_out == [("n2", "it has no GPU"), ("n3", "its accelerators (amd.com/gpu) are not supported")]


def test_a_list_of_nodes_is_read_as_single_ones_are():
    items = "".join("- " + node(name).replace("\n", "\n  ").rstrip() + "\n" for name in ("n1", "n2"))

    assert [each.name for each in read(f"apiVersion: v1\nkind: List\nitems:\n{items}").nodes] == ["n1", "n2"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (node() + "---\n" + node(), "line 14, column metadata.name: 'n1' stands there twice"),
        (node(name="a/b"), "'a/b' is no name of a node"),
        (node(name="[]"), "'[]' is no name of a node"),
        (node(resource="nvidia.com/gpu: many"), "'many' is not a whole number of at most 128"),
        (node().replace("nvidia.com/gpu.product", "colour"), "no label says which GPU model n1 has"),
        ("kind: Node\nmetadata: [1\n", "not YAML from here on"),
        ("kind: Pod\nmetadata: {name: n1}\n", "no Kubernetes Node stands in this file"),
        ("kind: Node\n", "'None' is no name of a node"),
        ("kind: !!python/object/apply:os.system ['true']\n", "not YAML from here on"),
        ("items: 7\n", "no Kubernetes Node stands in this file"),
    ],
)
def test_a_file_that_cannot_be_is_refused_with_its_place(text, why):
    with pytest.raises(BadFleetFile) as refused:
        read(text)

    assert why in str(refused.value)


def test_real_nodes_are_read():
    found = read_fleet_file((shared_data() / "fleet_openb_k8s_excerpt.yaml").read_bytes())

    assert (len(found.nodes), sum(each.gpus for each in found.nodes), found.left_out) == (30, 104, [])
