"""Build the diagrams, tables and charts on the page of `askew interact`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from askew.findings import E
from askew.methods.interact.findings import (
    Edge,
    EdgeOverPrompts,
    Graph,
    InteractionFindings,
    ValidatedEdge,
    Validation,
)
from askew.methods.interact.sentences import associated_pairs, is_heterogeneous, pair
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.phrases import format_phrase
from askew.pages.plain import SENSITIVITY
from askew.pages.words import axis_label, capital, listing, measured, plural, probability
from askew.stats.intervals import simultaneous
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, Missing

TONES = {"better": -1.0, "worse": 1.0, "changed": 0.0}
"""Position on the color scale for each effect of an edge. Blue (negative): closer to the reference.
Orange (positive): further away."""


def axes_of(graphs: Iterable[Graph]) -> list[str]:
    """Return all axes in order of first appearance. All graphs lay out their axes in this order."""
    return list(dict.fromkeys(axis.name for graph in graphs for axis in graph.axes))


def network(graph: Graph, axes: Sequence[str], caption: str) -> b.GraphDiagram:
    """Return the diagram of a graph. Each node also states the effect of its axis on itself.

    Parameters
    ----------
    graph
        The graph.
    axes
        Axes, in the order of the layout.
    caption
        Caption of the diagram.
    """
    direct = {edge.source: edge.sensitivity for edge in graph.edges if edge.direct}
    nodes = tuple((axis_label(axis), _effect_on_itself(direct.get(axis))) for axis in axes)
    arrows = []
    for edge in graph.drawn:
        score = edge.simultaneous_estimate
        if isinstance(score, Estimate):
            more = (words.number(edge.cramers_v), probability(edge.q))
            source = axis_label(edge.source)
            arrows.append(b.Arrow(source, axis_label(edge.target), score, edge.effect, more))
    return b.GraphDiagram(caption, nodes, tuple(arrows), more=("V", "q (χ²)"))


def associated_chart(graph: Graph) -> b.IntervalChart:
    """Return a chart of sensitivities.

    The chart shows all pairs that are associated or whose direction is determined.
    """
    pairs = {(edge.source, edge.target): edge for edge in (*graph.determined, *graph.drawn)}
    rows = [
        b.IntervalRow(
            pair(edge.source, edge.target),
            edge.simultaneous_estimate,
            (words.number(edge.cramers_v), probability(edge.q), _result(edge)),
            strong=edge.effect != "changed",
        )
        for edge in pairs.values()
    ]
    return b.IntervalChart(
        "Associated pairs. To the right of 0, the second axis comes closer to its reference",
        "First → second axis",
        tuple(rows),
        SENSITIVITY,
        "signed",
        b.PLAIN,
        ("V", "q (χ²)", "direction"),
        interval="simultaneous interval for all pairs",
    )


def _result(edge: Edge) -> str:
    return "not determined" if edge.effect == "changed" else "determined"


def _effect_on_itself(sensitivity: E | None) -> str:
    return f"itself {words.signed(sensitivity.value)}" if isinstance(sensitivity, Estimate) else ""


def summary(graph: Graph) -> b.DefinitionList:
    """Return a definition list that summarizes a graph."""
    effects = [edge.effect for edge in graph.determined]
    directions = (
        f"{effects.count('worse')} increase and {effects.count('better')} decrease the deviation, "
        f"out of {plural(graph.tested_pairs, 'pair')}"
    )
    return b.DefinitionList(
        (
            ("Most influenced axis", _axis_or_dash(graph.most_influenced)),
            ("Most influential axis", _axis_or_dash(graph.most_influential)),
            ("Amplification, Σ |IS| minus chance", _amplification(graph.amplification)),
            ("Determined directions", directions),
        ),
        facts=True,
    )


def _axis_or_dash(axis: str | None) -> str:
    return capital(axis_label(axis)) if axis else words.ABSENT


def _amplification(score: E) -> str:
    text = measured(score)
    if isinstance(score, Estimate):
        p = score.p or 0.0
        name = "no_amplification" if p >= SIGNIFICANCE_LEVEL else "amplification"
        text += format_phrase(name, p=probability(p, "p"))
    return text


def matrix(graph: Graph, axes: Sequence[str]) -> b.Table:
    """Return a table of sensitivities: one row per equalized axis, one column per affected axis."""
    sources = {edge.source for edge in graph.edges}
    rows = []
    for source in axes:
        if source in sources:
            cells = [_cell(graph.edge(source, target)) for target in axes]
            rows.append((capital(axis_label(source)), *cells))
    return b.Table(
        "Row: equalized axis. Column: affected axis. Number: Intersectional Sensitivity (IS), "
        "positive if the deviation of the column's axis decreases. The intervals hold "
        "simultaneously for all pairs. Bold: the direction is determined. Shaded: the pair is "
        "also an edge of the graph. Framed: effect of an axis on itself.",
        ("Equalized axis", *(capital(axis_label(axis)) for axis in axes)),
        tuple(rows),
        scale="signed",
        shaded=True,
        diagonal=True,
        note=_untested_note(graph),
    )


def _cell(edge: Edge | None) -> b.TableCell | None:
    if edge is None:
        return None
    level = 0.0
    if edge.significant:
        level = TONES[edge.effect] * min(1.0, 0.2 + 3 * edge.size)
    return b.TableCell(edge.simultaneous_estimate, strong=edge.effect != "changed", level=level)


def _untested_note(graph: Graph) -> str:
    """Return a note about the pairs that were not tested, and the reasons."""
    pairs_by_reason: dict[str, list[str]] = {}
    for edge in graph.edges:
        if edge.untested and not edge.direct:
            pairs = pairs_by_reason.setdefault(words.reason(edge.untested), [])
            pairs.append(pair(edge.source, edge.target))
    notes = []
    for reason, pairs in pairs_by_reason.items():
        notes.append(f"Not tested: {listing(pairs)} ({reason}).")
    return " ".join(notes)


def over_prompts(entries: Sequence[EdgeOverPrompts], graphs: Sequence[Graph]) -> b.IntervalChart:
    """Return a chart of all pairs that are associated in at least one prompt.

    Parameters
    ----------
    entries
        Summary of each pair over all prompts.
    graphs
        Graphs of the single prompts. Behind the mean of each pair, the chart shows the
        sensitivities in these graphs.
    """
    rows = []
    for entry in associated_pairs(entries):
        rows.append(_row_over_prompts(entry, graphs, pairs=len(entries)))
    return b.IntervalChart(
        "Pairs of axes that are associated in at least one prompt (q < 0.05, from Fisher's sum "
        "over the prompts). Edges: number of prompts in which the pair is an edge. Larger, "
        "smaller: number of prompts in which equalizing the first axis significantly increases "
        "or decreases the deviation of the second axis. Bold: the effects differ significantly "
        "between prompts",
        "Pair",
        tuple(rows),
        "mean IS",
        "signed",
        b.PLAIN,
        ("edges", "larger", "smaller", "q (Fisher)", "difference (q)"),
        points="one prompt",
        interval="interval of the mean over these prompts, simultaneous for all pairs",
    )


def _row_over_prompts(entry: EdgeOverPrompts, graphs: Sequence[Graph], pairs: int) -> b.IntervalRow:
    edges = [graph.edge(entry.source, entry.target) for graph in graphs]
    scores = [edge.sensitivity for edge in edges if edge is not None]
    return b.IntervalRow(
        pair(entry.source, entry.target),
        with_simultaneous_interval(entry.mean, pairs),
        (
            entry.edges,
            entry.worse,
            entry.better,
            probability(entry.q),
            probability(entry.differ_q),
        ),
        points=tuple(score.mark for score in scores if isinstance(score, Estimate)),
        strong=is_heterogeneous(entry),
    )


def with_simultaneous_interval(score: E, scores: int) -> E:
    """Return a score with its interval replaced by the simultaneous interval."""
    if isinstance(score, Missing):
        return score
    low, high = simultaneous(score, scores)
    return replace(score, low=max(low, -1.0), high=min(high, 1.0))


def validation_charts(findings: InteractionFindings, validation: Validation) -> Iterator[b.Block]:
    """Yield, for each prompt, a chart of measured and estimated effects, and their correlation."""
    worse = validation.made_worse
    pairs = 1
    if isinstance(worse, Estimate) and worse.n:
        pairs = worse.n
    for prompt in validation.prompts:
        if not prompt.edges:
            continue
        graph = findings.graph(prompt.prompt)
        correlation = words.describe_score(prompt.correlation)
        yield b.Paragraph(
            f"Correlation over the edges: {correlation}", lead=words.quote(prompt.prompt, 120)
        )
        yield b.IntervalChart(
            "IS measured under a real mitigation, compared with the estimate from counterfactual "
            "prompts",
            "Edge",
            tuple(_validated_row(edge, graph, pairs) for edge in prompt.edges),
            "measured",
            "signed",
            b.PLAIN,
            ("estimated",),
            interval="simultaneous interval for all pairs",
        )


def _validated_row(edge: ValidatedEdge, graph: Graph, pairs: int) -> b.IntervalRow:
    estimated = graph.edge(edge.source, edge.target)
    marks: tuple[b.ReferenceMark, ...] = ()
    if isinstance(edge.estimated, Estimate):
        marks = (b.ReferenceMark(edge.estimated.value, "estimated"),)
    return b.IntervalRow(
        pair(edge.source, edge.target),
        with_simultaneous_interval(edge.measured, pairs),
        (measured(estimated.simultaneous_estimate if estimated else None, "signed"),),
        marks=marks,
    )
