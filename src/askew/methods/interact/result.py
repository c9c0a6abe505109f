"""What a run of interactions found, in Python, and its graphs for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import networkx as nx

from askew.errors import UsageError
from askew.method import Result
from askew.methods.interact.findings import Graph, InteractionFindings
from askew.methods.interact.plan import InteractionPlan
from askew.pages.words import axis_label, number
from askew.store.files import write_whole
from askew.store.index import explain_os_error
from askew.types import Estimate, Missing

STYLES = {"better": ("#0072b2", "solid"), "worse": ("#d55e00", "dashed"), "changed": ("#757b82", "dotted")}


@dataclass(frozen=True)
class InteractionResult(Result[InteractionPlan, InteractionFindings]):
    """A finished run of `askew interact`."""

    def graph(self, prompt: str | None = None) -> Graph:
        """The graph of a prompt; by default of all prompts together, or of the only one. Raises UsageError."""
        for one in self.found.biasconnect:
            if prompt in (None, one.prompt):
                return one
        known = ", ".join(repr(p.text) for p in self.plan.prompts)
        raise UsageError(f"this run has no graph of {prompt!r}; it has: {known}")

    def sensitivity(self, source: str, target: str, prompt: str | None = None) -> Estimate | Missing:
        """How much nearer to its ideal the axis `target` comes when `source` is made equal. Raises UsageError."""
        edge = self.graph(prompt).edge(source, target)
        if edge is None:
            raise UsageError(f"this graph has no pair of axes {source!r} and {target!r}")
        return edge.sensitivity

    def write_dot(self, path: str | Path, prompt: str | None = None) -> Path:
        """Write a graph for Graphviz and return its path. Raises UsageError where that is impossible."""
        return _written(Path(path), dot(self.graph(prompt)))

    def write_graphml(self, path: str | Path, prompt: str | None = None) -> Path:
        """Write a graph as GraphML and return its path. Raises UsageError where that is impossible."""
        return _written(Path(path), graphml(self.graph(prompt)))


def network(graph: Graph) -> nx.DiGraph:
    """The edges of a graph as a directed graph, the direct effects as loops."""
    made = nx.DiGraph(prompt=graph.prompt or "all prompts")
    made.add_nodes_from((axis.name, {"label": axis_label(axis.name)}) for axis in graph.axes)
    for edge in graph.edges:
        if edge.significant and isinstance(edge.sensitivity, Estimate):
            told = {name: getattr(edge, name) for name in ("chi2", "dof", "p", "q", "cramers_v")}
            told |= {"sensitivity": edge.sensitivity.value, "low": edge.sensitivity.low, "high": edge.sensitivity.high}
            known = {name: value for name, value in told.items() if value is not None}
            made.add_edge(edge.source, edge.target, effect=edge.effect, **known)
    return made


def graphml(graph: Graph) -> bytes:
    """The graph as GraphML, UTF-8."""
    buffer = BytesIO()
    nx.write_graphml(network(graph), buffer)
    return buffer.getvalue() + b"\n"


def dot(graph: Graph) -> bytes:
    """The graph in Graphviz's language, UTF-8: line style and colour by sign, width by sensitivity."""
    made = network(graph)
    lines = [f"digraph {_quoted(made.graph['prompt'])} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(axis)} [label={_quoted(data['label'])}];" for axis, data in made.nodes(data=True)]
    for source, target, data in made.edges(data=True):
        colour, style = STYLES[data["effect"]]
        width = 1 + 14 * abs(data["sensitivity"])
        look = f'color="{colour}", style={style}, penwidth={width:.2f}, weight={width:.2f}'
        lines.append(f'  {_quoted(source)} -> {_quoted(target)} [label="{number(data["sensitivity"])}", {look}];')
    return "\n".join([*lines, "}", ""]).encode()


def _written(path: Path, content: bytes) -> Path:
    try:
        write_whole({path: content})
    except OSError as error:
        raise UsageError(f"cannot write the graph to {path}: {explain_os_error(error)}") from error
    return path


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
