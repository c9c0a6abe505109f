"""The graph for other programs: Graphviz DOT and GraphML."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import networkx as nx

from askew.errors import UsageError
from askew.report.formatting import Record, axis_label, number
from askew.report.graph import axes_of, effect
from askew.report.reading import is_estimate
from askew.store.files import write_whole
from askew.store.index import explain_os_error

_STYLES = {"better": ("#0072b2", "solid"), "worse": ("#d55e00", "dashed"), "changed": ("#757b82", "dotted")}
_NUMBERS = ("chi2", "dof", "p", "q", "cramers_v")
_OF_SENSITIVITY = {"sensitivity": "value", "low": "low", "high": "high"}


def to_network(entry: Record) -> nx.DiGraph:
    """The significant edges of one entry of `biasconnect` as a directed graph, the direct effects as loops."""
    network = nx.DiGraph(prompt=entry["prompt"] or "all prompts")
    network.add_nodes_from((axis, {"label": axis_label(axis)}) for axis in axes_of([entry]))
    for edge in entry["edges"]:
        if edge["significant"] and is_estimate(edge["sensitivity"]):
            numbers = {name: edge[name] for name in _NUMBERS}
            numbers |= {name: edge["sensitivity"].get(field) for name, field in _OF_SENSITIVITY.items()}
            known = {name: value for name, value in numbers.items() if value is not None}
            network.add_edge(edge["source"], edge["target"], effect=effect(edge["sensitivity"]), **known)
    return network


def graphml(entry: Record) -> bytes:
    """The graph as GraphML, UTF-8."""
    buffer = BytesIO()
    nx.write_graphml(to_network(entry), buffer)
    return buffer.getvalue() + b"\n"


def dot(entry: Record) -> bytes:
    """The graph in Graphviz's language, UTF-8: line style and colour by sign, width by sensitivity."""
    network = to_network(entry)
    lines = [f"digraph {_quoted(network.graph['prompt'])} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(axis)} [label={_quoted(data['label'])}];" for axis, data in network.nodes(data=True)]
    for source, target, data in network.edges(data=True):
        colour, style = _STYLES[data["effect"]]
        width = 1 + 14 * abs(data["sensitivity"])
        look = f'color="{colour}", style={style}, penwidth={width:.2f}, weight={width:.2f}'
        lines.append(f'  {_quoted(source)} -> {_quoted(target)} [label="{number(data["sensitivity"])}", {look}];')
    return "\n".join([*lines, "}", ""]).encode()


def write_graph(path: Path, content: bytes) -> Path:
    """Write an exported graph whole or not at all. Raises UsageError where that is impossible."""
    try:
        write_whole({path: content})
    except OSError as error:
        raise UsageError(f"cannot write the graph to {path}: {explain_os_error(error)}") from error
    return path


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
