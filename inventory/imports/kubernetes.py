"""Nodes as `kubectl get nodes -o yaml` gives them, one document each or a list of them."""

from collections.abc import Iterator
from typing import Any

import yaml
from django.utils.translation import gettext as _

from inventory.errors import BadFleetFile
from inventory.imports.csv_files import LONGEST, LONGEST_LABEL, MOST_GPUS, can_stand_in_an_address
from inventory.imports.declared import DeclaredNode, FleetFile

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What the GPU feature discovery says of the cards themselves goes before a capacity, which time slicing multiplies.
COUNT_LABEL = "nvidia.com/gpu.count"
MODEL_LABELS = ("nvidia.com/gpu.product", "gpu-card-model", "gpu-model", "cloud.google.com/gke-accelerator")
COUNTS = ("nvidia.com/gpu", "gpu-count")
SITES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
OTHERS = ("amd.com/gpu", "gpu.intel.com/", "habana.ai/", "google.com/tpu", "aws.amazon.com/neuron", "huawei.com/Ascend")


def read_kubernetes(content: bytes) -> FleetFile:
    """The nodes that have NVIDIA GPUs; the others are left out with the reason. Raises BadFleetFile."""
    nodes: dict[str, DeclaredNode] = {}
    left_out = []
    for line, item in _items(content):
        name = _name(item, line)
        if name in nodes:
            raise BadFleetFile(line, "metadata.name", f"{name!r} stands there twice")
        labels = _texts(item["metadata"].get("labels"))
        status = item.get("status")
        capacity = _texts(status.get("capacity") if isinstance(status, dict) else None)
        gpus = _count(labels, capacity, line)
        if gpus:
            nodes[name] = _node(name, gpus, labels, line)
        else:
            left_out.append((name, _other(capacity)))
    if not nodes and not left_out:
        raise BadFleetFile(1, "kind", "no Kubernetes Node stands in this file")
    return FleetFile(list(nodes.values()), left_out)


def _items(content: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line on which its document begins, object) of each Node."""
    loader = LOADER(content)
    try:
        while loader.check_node():
            root = loader.get_node()
            line, document = root.start_mark.line + 1, loader.construct_document(root)
            found = document.get("items", [document]) if isinstance(document, dict) else []
            for item in found if isinstance(found, list) else []:
                if isinstance(item, dict) and item.get("kind") == "Node":
                    yield line, item
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise BadFleetFile(line, str(column), "not YAML from here on") from error
    finally:
        loader.dispose()


def _name(item: dict[str, Any], line: int) -> str:
    metadata = item.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if type(name) is str and 0 < len(name) <= LONGEST["name"] and name.isprintable() and can_stand_in_an_address(name):
        return name
    raise BadFleetFile(line, "metadata.name", f"{str(name)[:40]!r} is no name of a node")


def _texts(raw: Any) -> dict[str, str]:
    found = raw.items() if isinstance(raw, dict) else ()
    return {str(key): str(value) for key, value in found if str(value).isprintable()}


def _count(labels: dict[str, str], capacity: dict[str, str], line: int) -> int:
    said = labels.get(COUNT_LABEL) or next(
        (value for key, value in capacity.items() if key == COUNTS[0] or key.endswith(f"/{COUNTS[1]}")), "0"
    )
    if not said.isdecimal() or int(said) > MOST_GPUS:
        raise BadFleetFile(line, COUNTS[0], f"{said[:20]!r} is not a whole number of at most {MOST_GPUS}")
    return int(said)


def _node(name: str, gpus: int, labels: dict[str, str], line: int) -> DeclaredNode:
    model = next((value for key, value in labels.items() for end in MODEL_LABELS if key.endswith(end)), "")
    if not model or len(model) > LONGEST["model"]:
        raise BadFleetFile(line, MODEL_LABELS[0], f"no label says which GPU model {name} has")
    site = next((labels[key] for key in SITES if key in labels), "")
    kept: dict[str, str | int] = {
        key: value for key, value in labels.items() if value and max(len(key), len(value)) <= LONGEST_LABEL
    }
    return DeclaredNode(name=name, model=model, gpus=gpus, line=line, site=site[: LONGEST["site"]], labels=kept)


def _other(capacity: dict[str, str]) -> str:
    other = next((key for key, count in capacity.items() if key.startswith(OTHERS) and count != "0"), "")
    return _("its accelerators (%(name)s) are not supported") % {"name": other} if other else _("it has no GPU")
