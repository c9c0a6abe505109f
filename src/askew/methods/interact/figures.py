"""Blocks that show a graph of interactions, and what it says in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from askew.methods.interact.findings import Edge, Graph, ValidatedEdge
from askew.pages import blocks, words
from askew.pages.blocks import PLAIN, Cell, Lane, Lanes, Matrix, Network, Terms
from askew.pages.words import ABSENT, axis_label, capital, listing, measured, number, perceived, percent, plural, signed
from askew.types import Estimate, Missing

VERBS = {
    True: {"better": "more even", "worse": "more one-sided"},
    False: {"better": "nearer to its ideal", "worse": "further from its ideal"},
}
TONES = {"better": 1.0, "worse": -1.0, "changed": 0.0}


def title(prompt: str | None, width: int = 160) -> str:
    """What a graph is of."""
    return "All prompts together" if prompt is None else words.quote(prompt, width)


def axes_of(graphs: Iterable[Graph]) -> list[str]:
    """Every axis of some graphs, in order of first appearance: the layout that they share."""
    return list(dict.fromkeys(axis.name for graph in graphs for axis in graph.axes))


def network(graph: Graph, axes: Sequence[str], caption: str) -> Network:
    """The graph; of every axis its effect on itself."""
    direct = {one.source: one.sensitivity for one in graph.edges if one.direct}
    nodes = tuple(
        (axis_label(axis), f"itself {signed(e.value)}" if isinstance(e := direct.get(axis), Estimate) else "")
        for axis in axes
    )
    edges = tuple(
        blocks.Edge(axis_label(one.source), axis_label(one.target), one.sensitivity, one.effect, _strength(one))
        for one in graph.drawn
        if isinstance(one.sensitivity, Estimate)
    )
    return Network(caption, nodes, edges, more=("V", "q"))


def _strength(edge: Edge) -> tuple[str, str]:
    """Cramér's V and q."""
    return number(edge.cramers_v), words.probability(edge.q)


def summary(graph: Graph) -> Terms:
    """What sums a graph up."""
    whole, worse = graph.amplification, graph.negative_share
    chance = f" (chance {number(whole.null)})" if isinstance(whole, Estimate) else ""
    share = (f"{percent(worse.value)} (surely {percent(worse.low)}, perhaps {percent(worse.high)})"
             if isinstance(worse, Estimate) else ABSENT)  # fmt: skip
    moved, moves = (capital(axis_label(one)) if one else ABSENT for one in (graph.most_influenced,
                                                                            graph.most_influential))  # fmt: skip
    return Terms((("Moved by most others", moved), ("Moves most others", moves),
                  ("Amplification, Σ |IS|", f"{measured(whole)}{chance}"), ("Pairs made worse", share)),
                 facts=True)  # fmt: skip


def matrix(graph: Graph, axes: Sequence[str]) -> Matrix:
    """Every axis made equal (rows) against every axis that it may move (columns)."""
    sources = [axis for axis in axes if any(one.source == axis for one in graph.edges)]
    rows = tuple((capital(axis_label(x)), tuple(_cell(graph.edge(x, y)) for y in axes)) for x in sources)
    return Matrix(
        "Making the axis of the row equal moves the axis of the column by this much towards its ideal (Intersectional "
        "Sensitivity, with its interval). Coloured or bold: an edge of the graph. Framed: an axis on itself.",
        "Made equal", tuple(capital(axis_label(y)) for y in axes), rows, scale="signed", diagonal=True,
    )  # fmt: skip


def effects(graph: Graph, source: str) -> Lanes:
    """What making one axis equal does to every axis, itself first."""
    own = sorted((one for one in graph.edges if one.source == source), key=lambda one: not one.direct)
    rows = []
    for one in own:
        read = [f"as read {signed(one.as_read)}"] if one.as_read is not None else []
        note = ", ".join([*(["direct effect"] if one.direct else []), *read])
        rows.append(Lane(capital(axis_label(one.target)), one.sensitivity, _strength(one), note=note,
                         strong=one.significant, hollow=not one.significant))  # fmt: skip
    return Lanes(
        f"Intersectional Sensitivity: what making {axis_label(source)} equal does to the distance of each axis from "
        "its ideal; right of zero it comes nearer, left of zero it goes further away",
        "Axis", tuple(rows), "IS", "signed", PLAIN, ("V", "q"), interval="interval for the true value",
        hollow="not an edge, as far as can be seen",
    )  # fmt: skip


def count_tables(graph: Graph, source: str) -> tuple[Matrix, ...]:
    """The contingency tables of one intervened axis, one per target, the initial pictures in the first row."""
    found = []
    for target, table in graph.counts.after.get(source, {}).items():
        counts = {"initial": graph.counts.initial.get(target),
                  **dict(zip(graph.axis(source).counterfactuals, table, strict=True))}  # fmt: skip
        rows = tuple((words.shorten(name, 40), tuple(Cell(n, percent(n / sum(row)) if sum(row) else "") for n in row))
                     for name, row in counts.items() if row)  # fmt: skip
        edge = graph.edge(source, target)
        found.append(Matrix(
            f"{capital(perceived(target))} in the pictures of each {axis_label(source)}", "Pictures of",
            tuple(words.shorten(value, 30) for value in graph.axis(target).values), rows, "counts",
            note=f"{_test(edge)}. The initial pictures are not part of the test." if edge else "",
        ))  # fmt: skip
    return tuple(found)


def _test(edge: Edge) -> str:
    """The test of a pair in one line."""
    if edge.p is None:
        return f"Not tested: {words.reason(edge.untested)}" if edge.untested else "Not tested"
    how = f"permutation, {words.thousands(edge.draws)} draws" if edge.draws else "χ² distribution"
    found = f"χ² = {number(edge.chi2, 1)}, {edge.dof} d.f., {words.probability(edge.p, 'p')} ({how})"
    return f"{found}, {words.probability(edge.q, 'q')}, Cramér's V {number(edge.cramers_v)}"


def answer(graph: Graph) -> str:
    """How many pairs of axes pull on each other, and what the strongest harm or help is."""
    edges, pairs = graph.drawn, sum(not one.direct and one.p is not None for one in graph.edges)
    where = "Over all prompts" if graph.prompt is None else f"For {words.quote(graph.prompt, 60)}"
    if not pairs:
        return f"{where} no pair of axes could be tested."
    if not edges:
        return f"{where} none of {plural(pairs, 'pair')} of axes pulls on another beyond chance."
    strongest = max(edges, key=lambda one: (one.effect != "changed", one.size))
    sides = {kind: sum(one.effect == kind for one in edges) for kind in ("worse", "better")}
    settled = [f"{words.thousands(n)} for the {kind}" for kind, n in sides.items() if n]
    how = f": {' and '.join(settled)}" if settled else ", none of them clearly for the better or the worse"
    count = f"{where} {words.thousands(len(edges))} of {plural(pairs, 'pair')} of axes pull on each other"
    return f"{count}{how}. Strongest: {edge_sentence(graph, strongest)}."


def edge_sentence(graph: Graph, edge: Edge) -> str:
    """ "making gender equal makes perceived age more one-sided: −0.11 [−0.17, −0.05]"."""
    said = f"{measured(edge.sensitivity, 'signed')}".replace(", ", ",\N{NO-BREAK SPACE}")
    start = f"making {axis_label(edge.source)} equal"
    if edge.effect == "changed":
        return f"{start} changes {perceived(edge.target)}, to which side is not settled: {said}"
    ideal = graph.axis(edge.target).ideal
    even = not ideal or max(ideal) - min(ideal) < 1e-6
    return f"{start} makes {perceived(edge.target)} {VERBS[even][edge.effect]}: {said}"


def sentences(graph: Graph) -> list[str]:
    """The edges in words, the strongest first, those that settle a direction before the others."""
    edges = sorted(graph.drawn, key=lambda one: (one.effect == "changed", -one.size))
    return [f"{capital(edge_sentence(graph, one))}." for one in edges]


def moved(graph: Graph, source: str) -> str:
    """What an axis moves: "harms age; helps clothing", the strongest first."""
    own = [one for one in graph.drawn if one.source == source]
    verbs = {"worse": "harms", "better": "helps", "changed": "changes"}
    parts = [f"{verb} {listing([axis_label(one.target) for one in own if one.effect == kind])}"
             for kind, verb in verbs.items() if any(one.effect == kind for one in own)]  # fmt: skip
    return "; ".join(parts) or "moves nothing else beyond chance"


def pair(edge: Edge | ValidatedEdge) -> str:
    """ "Gender → age"."""
    return f"{capital(axis_label(edge.source))} → {axis_label(edge.target)}"


def _cell(edge: Edge | None) -> Cell:
    if edge is None or isinstance(edge.sensitivity, Missing):
        return Cell(None, level=0.0)
    level = TONES[edge.effect] * min(1.0, 0.2 + 3 * edge.size) if edge.significant else 0.0
    return Cell(edge.sensitivity, strong=edge.significant, level=level)
