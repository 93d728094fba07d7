"""Fleet files: what each layout declares, and how a malformed one is refused by line and column."""

import pytest

from inventory.errors import BadFleetFile
from inventory.imports import DeclaredNode, read_fleet_file

TRACE = "sn,cpu_milli,memory_mib,gpu,model\n"
OWN = "name,site,island,model,gpus\n"


def test_the_layout_of_traces_declares_nodes_with_gpus_and_counts_those_without():
    found = read_fleet_file(f"{TRACE}a,96000,786432,8,H100\nb,32000,262144,0,\n".encode())

    assert found.left_out == [("b", "it has no GPU")]
    assert found.nodes == [DeclaredNode("a", "H100", 8, 2, labels={"cpu_milli": 96000, "memory_mib": 786432})]


def test_our_layout_declares_places_and_labels():
    content = "name,label:rack,site,island,model,gpus,label:net\na,r1,hall,i1,H100,8,ib\nb,,,,T4,1,\n"

    found = read_fleet_file(content.encode())

    assert found.nodes == [
        DeclaredNode("a", "H100", 8, 2, "hall", "i1", {"rack": "r1", "net": "ib"}),
        DeclaredNode("b", "T4", 1, 3),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + OWN.encode() + b"a,hall,i1,H100,8\n",
        (OWN + "a,hall,i1,H100,8\n").replace("\n", "\r\n").encode(),
        (OWN + "\n  a , hall,i1, H100 ,08\n\n\n").encode(),
        (OWN + '"a","hall","i1","H100","8"').encode(),
        b"gpus,model,island,site,name\n8,H100,i1,hall,a\n",
    ],
    ids=["byte order mark", "CRLF", "blanks", "quotes and no last line end", "other order of columns"],
)
def test_what_spreadsheets_do_to_a_file_changes_nothing(content):
    found = read_fleet_file(content)

    [node] = found.nodes
    assert (node.name, node.site, node.island, node.model, node.gpus) == ("a", "hall", "i1", "H100", 8)


MALFORMED = {
    "empty": (b"", 1, "1"),
    "only blank lines": (b"\n\n", 1, "1"),
    "header without rows": (OWN.encode(), 2, "name"),
    "not UTF-8": (OWN.encode() + b"a,h,i,H100,8\nb,S\xfcd,i,H100,8\n", 3, "4"),
    "no header": (b"a,hall,i1,H100,8\n", 1, "1"),
    "other separator": (b"name;site;island;model;gpus\n", 1, "1"),
    "unknown column": (b"name,site,island,model,gpus,rack\n", 1, "6"),
    "label without a name": (b"name,site,island,model,gpus,label:\n", 1, "6"),
    "column twice": (b"name,site,island,model,gpus,site\n", 1, "6"),
    "missing column": (b"name,site,model,gpus\n", 1, "island"),
    "missing column of traces": (b"sn,cpu_milli,memory_mib,model\n", 1, "gpu"),
    "label in a trace": (b"sn,cpu_milli,memory_mib,gpu,model,label:rack\n", 1, "6"),
    "not a number": (f"{OWN}a,h,i,H100,8\nb,h,i,H100,eight\n".encode(), 3, "gpus"),
    "fraction": (f"{OWN}a,h,i,H100,8.0\n".encode(), 2, "gpus"),
    "negative": (f"{OWN}a,h,i,H100,-8\n".encode(), 2, "gpus"),
    "digits of another script": (f"{OWN}a,h,i,H100,٨\n".encode(), 2, "gpus"),
    "no number": (f"{TRACE}a,,1,8,H100\n".encode(), 2, "cpu_milli"),
    "negative memory": (f"{TRACE}a,1,-1,8,H100\n".encode(), 2, "memory_mib"),
    "too many GPUs": (f"{OWN}a,h,i,H100,800\n".encode(), 2, "gpus"),
    "GPUs without a model": (f"{TRACE}a,1,1,0,\nb,1,1,8,\n".encode(), 3, "model"),
    "no name": (f"{OWN},h,i,H100,8\n".encode(), 2, "name"),
    "name of a folder": (f"{OWN}rack-1/a,h,i,H100,8\n".encode(), 2, "name"),
    "name of no page": (f"{TRACE}..,1,1,8,H100\n".encode(), 2, "sn"),
    "label that cannot be printed": (b"name,site,island,model,gpus,label:\0\n", 1, "6"),
    "label too long": (b"name,site,island,model,gpus,label:" + b"x" * 201 + b"\n", 1, "6"),
    "name too long": (f"{OWN}{'n' * 121},h,i,H100,8\n".encode(), 2, "name"),
    "unprintable": (f"{OWN}a,h,i\x07,H100,8\n".encode(), 2, "island"),
    "NUL": (f"{OWN}a,h\0,i,H100,8\n".encode(), 2, "site"),
    "twice": (f"{OWN}a,h,i,H100,8\nb,h,i,H100,8\na,h,j,H100,8\n".encode(), 4, "name"),
    "twice, once without GPUs": (f"{TRACE}a,1,1,0,\na,1,1,8,H100\n".encode(), 3, "sn"),
    "too few cells": (f"{OWN}a,h,i,H100\n".encode(), 2, "gpus"),
    "too many cells": (f"{OWN}a,h,i,H100,8,9\n".encode(), 2, "6"),
    "quote that does not close": (f'{OWN}a,h,i,H100,8\n"b,h,i,H100,8\nc,h,i,H100,8\n'.encode(), 3, "1"),
    "text after a quote": (f'{OWN}"a"b,h,i,H100,8\n'.encode(), 2, "1"),
    "line after a cell of two lines": (f'{OWN}"a\nb",h,i,H100,8\n'.encode(), 2, "name"),
}


@pytest.mark.parametrize(("content", "line", "column"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_refused_by_line_and_column(content, line, column):
    with pytest.raises(BadFleetFile) as refused:
        read_fleet_file(content)

    assert (refused.value.line, refused.value.column) == (line, column)
    assert str(refused.value).startswith(f"line {line}, column {column}: ")
