"""Blocks that show a graph of interactions, what it says in words, and how to read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from askew.methods.interact.findings import Edge, Graph, InteractionFindings, OverPrompts
from askew.pages import blocks as b
from askew.pages import common, words
from askew.pages.phrases import say
from askew.pages.words import axis_label, capital, listing, measured, number, perceived, plural, probability, signed
from askew.parts.survey.words import LIMITS
from askew.types import Estimate, Missing

VERBS = {
    True: {"better": "more even", "worse": "more one-sided"},
    False: {"better": "nearer to its ideal", "worse": "further from its ideal"},
}
DISTANCES = {
    "total_variation": "total variation",
    "wasserstein": "W₁ over ranks / (K − 1)",
    "values": "W₁ between the shares and 1/K",
}
TONES = {"better": 1.0, "worse": -1.0, "changed": 0.0}


class Pair(Protocol):
    """An ordered pair of axes."""

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...


def title(prompt: str | None, width: int = 160) -> str:
    """What a graph is of."""
    return "All prompts together" if prompt is None else words.quote(prompt, width)


def axes_of(graphs: Iterable[Graph]) -> list[str]:
    """Every axis of some graphs, in order of first appearance: the layout that they share."""
    return list(dict.fromkeys(axis.name for graph in graphs for axis in graph.axes))


def network(graph: Graph, axes: Sequence[str], caption: str) -> b.Network:
    """The graph; of every axis its effect on itself."""
    direct = {one.source: one.sensitivity for one in graph.edges if one.direct}
    nodes = tuple(
        (axis_label(axis), f"itself {signed(e.value)}" if isinstance(e := direct.get(axis), Estimate) else "")
        for axis in axes
    )
    edges = tuple(
        b.Edge(axis_label(one.source), axis_label(one.target), one.shown, one.effect, _strength(one))
        for one in graph.drawn
        if isinstance(one.shown, Estimate)
    )
    return b.Network(caption, nodes, edges, more=("V", "q"))


def _strength(edge: Edge) -> tuple[str, str]:
    """Cramér's V and q."""
    return number(edge.cramers_v), probability(edge.q)


def summary(graph: Graph) -> b.Terms:
    """What sums a graph up."""
    whole, pairs = graph.amplification, sum(not one.direct and one.p is not None for one in graph.edges)
    chance = ""
    if isinstance(whole, Estimate):
        kind = "sum_chance" if (whole.p or 0) >= words.SIGNIFICANT else "sum_beyond"
        chance = say(kind)
    sides = [f"{sum(one.effect == kind for one in graph.moved)} {kind}" for kind in ("worse", "better")]
    target, source = (capital(axis_label(one)) if one else words.ABSENT
                      for one in (graph.most_influenced, graph.most_influential))  # fmt: skip
    return b.Terms((("Changed by most others", target), ("Changes most others", source),
                    ("Amplification, Σ |IS| less chance", f"{measured(whole)}{chance}"),
                    ("Surely made worse, better", f"{' and '.join(sides)} of {plural(pairs, 'pair')}")),
                   facts=True)  # fmt: skip


def matrix(graph: Graph, axes: Sequence[str]) -> b.Table:
    """Every axis made equal (rows) against every axis that it may move (columns)."""
    sources = [axis for axis in axes if any(one.source == axis for one in graph.edges)]
    rows: list[tuple[b.Content, ...]]
    rows = [(capital(axis_label(x)), *(_cell(graph.edge(x, y)) for y in axes)) for x in sources]
    return b.Table(
        "Making the axis of the row equal moves the axis of the column by this much towards its ideal (Intersectional "
        "Sensitivity; the intervals hold for all pairs at once). Bold: surely moved; shaded where the graph has an "
        "edge, too. Framed: an axis on itself.",
        ("Made equal", *(capital(axis_label(y)) for y in axes)), tuple(rows), scale="signed", shaded=True,
        diagonal=True,
    )  # fmt: skip


def count_tables(graph: Graph, source: str) -> tuple[b.Table, ...]:
    """The contingency tables of one intervened axis, one per target, the initial pictures in the first row."""
    found = []
    for target, table in graph.counts.after.get(source, {}).items():
        counts = dict(zip(graph.axis(source).counterfactuals, table, strict=True))
        rows: list[tuple[b.Content, ...]]
        rows = [
            (words.shorten(name, 40), *(b.Cell(n, words.percent(n / sum(row)) if sum(row) else "") for n in row))
            for name, row in {"initial": graph.counts.initial.get(target), **counts}.items() if row
        ]  # fmt: skip
        edge = graph.edge(source, target)
        found.append(b.Table(
            f"{capital(perceived(target))} in the pictures of each {axis_label(source)}",
            ("Pictures of", *(words.shorten(value, 30) for value in graph.axis(target).values)), tuple(rows),
            note=f"{_test(edge)}. The initial pictures are not part of the test." if edge else "", shaded=True,
        ))  # fmt: skip
    return tuple(found)


def _test(edge: Edge) -> str:
    """The test of a pair in one line."""
    if edge.p is None:
        return f"Not tested: {words.reason(edge.untested)}" if edge.untested else "Not tested"
    how = f"permutation, {words.thousands(edge.draws)} draws" if edge.draws else "χ² distribution"
    found = f"χ² = {number(edge.chi2, 1)}, {edge.dof} d.f., {probability(edge.p, 'p')} ({how})"
    read = f"; IS as read {signed(edge.as_read)}" if edge.as_read is not None else ""
    return f"{found}, {probability(edge.q, 'q')}, Cramér's V {number(edge.cramers_v)}{read}"


def answer(graph: Graph) -> str:
    """How many pairs of axes pull on each other, how many of them surely for the worse, and what the strongest does."""
    edges, moved = graph.drawn, graph.moved
    pairs = sum(not one.direct and one.p is not None for one in graph.edges)
    where = "Over all prompts" if graph.prompt is None else f"For {words.quote(graph.prompt, 60)}"
    if not pairs:
        return f"{where} no pair of axes could be tested."
    told = {"where": where, "pairs": plural(pairs, "pair")}
    if not edges and not moved:
        return say("pairs_none", **told)
    sides = [f"{n:,} for the {kind}" for kind in ("worse", "better") if (n := sum(e.effect == kind for e in moved))]
    balance = (say("surely_moves", count=f"{len(moved):,}", sides=" and ".join(sides)) if moved
               else say("moves_unsure"))  # fmt: skip
    strongest = edge_sentence(graph, max(moved or edges, key=lambda one: one.size))
    return say("pairs_pull", edges=len(edges) or "none", balance=balance, strongest=strongest, **told)


def answer_over_prompts(found: Sequence[OverPrompts]) -> str:
    """In how many pairs of axes the second changes with the first in some prompt, and where prompts disagree."""
    prompts, tested = max(one.prompts for one in found), [one for one in found if one.q is not None]
    acting = acting_pairs(found)
    pairs = plural(len(tested), "pair")
    if not acting:
        return say("prompts_none", prompts=f"{prompts:,}", pairs=pairs)
    differ = sum((one.differ_q or 1.0) < words.SIGNIFICANT for one in acting)
    most = acting[0]
    ways = [f"{n:,} for the {kind}" for kind, n in (("worse", most.worse), ("better", most.better)) if n]
    return say(
        "prompts_pull", prompts=f"{prompts:,}", acting=f"{len(acting):,}", pairs=pairs, most=pair(most),
        agree=say("prompts_differ", differ=f"{differ:,}") if differ else "",
        edges=f"an edge in {plural(most.edges, 'prompt')}" if most.edges else "though an edge in no prompt alone",
        way=f"surely moved in {' and '.join(ways)}" if ways else "which way is sure in none",
    )  # fmt: skip


def acting_pairs(found: Iterable[OverPrompts]) -> list[OverPrompts]:
    """Pairs whose second axis changes with the first in some prompt, those of most prompts first."""
    acting = [one for one in found if (one.q or 0.0) < words.SIGNIFICANT and one.q is not None]
    return sorted(acting, key=lambda one: (-one.edges, one.q or 0.0))


def over_prompts(found: Sequence[OverPrompts], graphs: Sequence[Graph]) -> b.Lanes:
    """The pairs that act in some prompt: their mean sensitivity, that of every prompt, and in how many they act."""
    rows = []
    for one in acting_pairs(found):
        edges = [edge for graph in graphs if (edge := graph.edge(one.source, one.target))]
        points = tuple(e.mark for edge in edges if isinstance(e := edge.sensitivity, Estimate))
        more = (one.edges, one.worse, one.better, probability(one.q), probability(one.differ_q))
        rows.append(b.Lane(pair(one), one.mean, more, points=points, strong=(one.differ_q or 1.0) < words.SIGNIFICANT))
    return b.Lanes(
        "Pairs of axes whose second changes with the first in some prompt: in how many prompts there is an edge, in "
        "how many making the first equal surely moves the second away from its ideal (worse) or towards it. Bold: the "
        "prompts differ in how they move it", "Pair", tuple(rows), "mean IS", "signed", b.PLAIN,
        ("edges", "worse", "better", "q", "q that they differ"), points="one prompt",
        interval="interval for the mean over these prompts",
    )  # fmt: skip


def edge_sentence(graph: Graph, edge: Edge) -> str:
    """ "making gender equal makes perceived age more one-sided: −0.11 [−0.17, −0.05]"."""
    said = f"{measured(edge.shown, 'signed')}".replace(", ", ",\N{NO-BREAK SPACE}")
    start = f"making {axis_label(edge.source)} equal"
    if edge.effect == "changed" and not edge.significant:
        return f"{start} is not shown to move {perceived(edge.target)}: {said}"
    if edge.effect == "changed":
        return f"{start} changes {perceived(edge.target)}, to which side is not settled: {said}"
    ideal = graph.axis(edge.target).ideal
    even = not ideal or max(ideal) - min(ideal) < 1e-6
    return f"{start} makes {perceived(edge.target)} {VERBS[even][edge.effect]}: {said}"


def rule(graph: Graph) -> str:
    """What makes a pair an edge of a graph."""
    least = f" and |IS| > {graph.least_sensitivity:g}" if graph.least_sensitivity else ""
    return f"the χ² test of dependence has p < {np.format_float_positional(graph.threshold)}{least}"


def sentences(graph: Graph) -> list[str]:
    """Edges in words, those of a sure direction first, then pairs that surely move without one; the strongest first."""
    settled = sorted(graph.drawn, key=lambda one: one.effect == "changed")
    alone = [one for one in graph.moved if not one.significant]
    but = ", though χ² shows no difference between the prompts of {}"
    return [f"{capital(edge_sentence(graph, one))}." for one in settled] + [
        f"{capital(edge_sentence(graph, one))}{but.format(axis_label(one.source))}." for one in alone
    ]


def moved(graph: Graph, source: str) -> str:
    """What an axis does: "age and clothing change with it; making it equal surely harms age"."""
    changed = [axis_label(one.target) for one in graph.drawn if one.source == source]
    changes = f"{listing(changed)} {'changes' if len(changed) == 1 else 'change'} with it"
    own = [one for one in graph.moved if one.source == source]
    sides = [f"{verb} {listing([axis_label(one.target) for one in own if one.effect == kind])}"
             for kind, verb in (("worse", "harms"), ("better", "helps"))
             if any(one.effect == kind for one in own)]  # fmt: skip
    balance = f"making it equal surely {' and '.join(sides)}"
    return "; ".join([*([changes] if changed else []), *([balance] if sides else [])]) or "moves nothing that was shown"


def pair(one: Pair) -> str:
    """ "Gender → age"."""
    return f"{capital(axis_label(one.source))} → {axis_label(one.target)}"


def _cell(edge: Edge | None) -> b.Cell:
    if edge is None or isinstance(edge.sensitivity, Missing):
        return b.Cell(None, level=0.0)
    level = TONES[edge.effect] * min(1.0, 0.2 + 3 * edge.size) if edge.significant else 0.0
    return b.Cell(edge.shown, strong=edge.effect != "changed", level=level)


def reading(found: InteractionFindings) -> b.Section:
    """What the words of a page mean, and how it was computed."""
    plan, rules = found.plan, dict.fromkeys(rule(graph) for graph in found.biasconnect[:2])
    distances = "; ".join(f"{axis_label(a.name)}: {DISTANCES[a.distance]}" for a in found.biasconnect[0].axes)
    terms = (
        ("Making an axis equal", "The pictures of all its counterfactual prompts, the same number of each, stand for a "
         "model in which this bias is mitigated."),
        ("Edge", "The answers about one axis depend on the counterfactual of another: "
         f"{'; of a prompt alone '.join(rules)}. That the distribution changes does not say whether for the better, "
         "and where it is alike for all counterfactuals it may yet differ from the initial pictures. An axis depends "
         "on itself by construction."),
        ("Intersectional Sensitivity (IS)", "The distance of an axis from its ideal before, less the distance after. "
         "Above zero the axis comes nearer to its ideal, below zero it goes further away. Few pictures make every "
         "distance too large, and few more so than many: both are corrected for that."),
        *_corrected(found.biasconnect[0]),
        ("V", "Cramér's V, the strength of the dependence: 0 none, 1 complete."),
    )  # fmt: skip
    source = b.Text(
        "BiasConnect (Chinchure et al., “BiasConnect: Investigating Bias Interactions in Text-to-Image Models”, 2025). "
        "The prompt is changed in one concept at a time, along each axis; multiple-choice questions read every "
        "picture, and pictures in which nobody is seen are set aside."
    )
    computed = b.Terms((
        ("Dependence (section 3.3)", "Pearson's χ² of the counts, a row per counterfactual prompt; where an expected "
         "count is below 5, random tables with the same margins"),
        ("Sensitivity (Eq. 1–4)", "IS = d(initial, ideal) − d(mean of the counterfactual sets, ideal), both corrected "
         "for their number of pictures; results.json has the plain one as plug_in"),
        ("Distance d", distances),
        ("Intervals", f"at {words.percent(plan.level)}, {words.thousands(plan.draws)} draws; q by Benjamini and "
         "Hochberg (1995)"),
    ))  # fmt: skip
    limit = "An edge tells what changing the prompt does to what the instrument reads. It is no statement about people."
    return common.reading(terms, (*LIMITS, limit), (source, computed))


def _corrected(graph: Graph) -> Iterator[common.Named]:
    """Axes whose sensitivities were corrected for the instrument's errors, and how much of a value it reads rightly."""
    told = []
    for axis in graph.axes:
        if axis.known_errors:
            right = [row[k] / sum(row) for k, row in enumerate(axis.known_errors)]
            least, most = words.percent(min(right)), words.percent(max(right))
            told.append(f"{axis_label(axis.name)} {least if least == most else f'{least} to {most}'}")
    if told:
        yield ("Corrected for reading errors",
               "The instrument's errors are known from pictures whose truth is known; it reads rightly, by value: "
               f"{', '.join(told)}. Sensitivities are those of the pictures as they would be read without errors, and "
               "intervals carry what is not known about the errors. “As read” is the sensitivity without the "
               "correction; counts and χ² tests are as read.")  # fmt: skip
