"""What the graph of interactions says, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from askew.report.formatting import (
    Record,
    axis_label,
    capital,
    interval,
    listing,
    perceived,
    plural,
    quote,
    thousands,
)
from askew.report.graph import Edge, drawn_edges, effect, signed
from askew.report.reading import is_estimate

_VERBS = {
    True: {"better": "more even", "worse": "more one-sided"},
    False: {"better": "nearer to its ideal", "worse": "further from its ideal"},
}


def answer(results: Record) -> str:
    """The page's answer: how many edges, and what the strongest harm and help are."""
    entry = results["biasconnect"][0]
    edges = drawn_edges(entry)
    pairs = sum(e["source"] != e["target"] and e["p"] is not None for e in entry["edges"])
    where = "Over all prompts" if entry["scope"] == "global" else f"For {quote(str(entry['prompt']), 60)}"
    if not pairs:
        return f"{where} no pair of axes could be tested."
    if not edges:
        return f"{where} none of {plural(pairs, 'pair')} of axes pulls on another beyond chance."
    strongest = max(edges, key=lambda e: (e.effect != "changed", abs(e.sensitivity["value"])))
    sides = {kind: sum(e.effect == kind for e in edges) for kind in ("worse", "better")}
    settled = [f"{thousands(n)} for the {kind}" for kind, n in sides.items() if n]
    how = f": {' and '.join(settled)}" if settled else ", none of them clearly for the better or the worse"
    count = f"{where} {thousands(len(edges))} of {plural(pairs, 'pair')} of axes pull on each other"
    return f"{count}{how}. Strongest: {edge_sentence(entry, strongest)}."


def edge_sentence(entry: Record, edge: Edge) -> str:
    """ "making gender equal makes perceived age more one-sided: −0.11 [−0.17, −0.05]"."""
    said = f"{signed(edge.sensitivity['value'])} {interval(edge.sensitivity)}".strip()
    start = f"making {axis_label(edge.source)} equal"
    if edge.effect == "changed":
        return f"{start} changes {perceived(edge.target)}, to which side is not settled: {said}"
    return f"{start} makes {perceived(edge.target)} {_VERBS[is_uniform(entry, edge.target)][edge.effect]}: {said}"


def sentences(entry: Record, most: int | None = None) -> list[tuple[Edge, str]]:
    """The edges of a graph in words, the strongest first, those that settle a direction before the others."""
    edges = sorted(drawn_edges(entry), key=lambda e: (e.effect == "changed", -abs(e.sensitivity["value"])))
    return [(edge, capital(edge_sentence(entry, edge))) for edge in edges[:most]]


def direct_sentence(entry: Record, axis: str) -> str | None:
    """What making an axis equal does to the axis itself."""
    own = next((e for e in entry["edges"] if e["source"] == e["target"] == axis), None)
    if own is None or not is_estimate(own["sensitivity"]):
        return None
    edge = Edge(axis, axis, own["sensitivity"], effect(own["sensitivity"]))
    return f"{capital(edge_sentence(entry, edge))}. This is its direct effect."


def is_uniform(entry: Record, axis: str) -> bool:
    """Whether equal shares are the ideal of an axis."""
    ideal = next(a["ideal"] for a in entry["axes"] if a["name"] == axis)
    return not ideal or max(ideal) - min(ideal) < 1e-6


def named(axes: Sequence[str]) -> str:
    """Axes in words, as a list."""
    return listing([axis_label(axis) for axis in axes]) or "none"
