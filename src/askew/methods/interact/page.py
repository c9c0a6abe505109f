"""The page of `askew interact`: what was seen, and which axis moves which."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from askew.findings import E
from askew.methods.interact.findings import Edge, EdgeOverPrompts, Graph, InteractionFindings
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, allowance, set_row
from askew.pages.phrases import format_phrase
from askew.pages.words import (
    axis_label,
    capital,
    listing,
    measured,
    perceived,
    percent,
    plural,
    probability,
    shorten,
)
from askew.parts.survey.blocks import gaps, seen
from askew.parts.survey.sentences import LIMITS, missing_sentences
from askew.stats.intervals import simultaneous
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, Missing

VERBS = {
    True: {"better": "more even", "worse": "more one-sided"},
    False: {"better": "nearer to its reference", "worse": "further from its reference"},
}
DISTANCES = {
    "total_variation": "total variation",
    "wasserstein": "W₁ over ranks / (K − 1)",
    "values": "W₁ between the shares and 1/K",
}
TONES = {"better": 1.0, "worse": -1.0, "changed": 0.0}


def page(found: InteractionFindings, media: Media) -> b.Page:
    """What to show of a run of interactions."""
    prompts = [prompt.text for prompt in found.plan.prompts]
    first = found.biasconnect[0]
    note = (
        "IS: how much nearer the second axis comes to its ideal; intervals hold for all pairs of the page at once. "
        f"Edges: {rules(found)}. Bold, of a single pair: the interval leaves out 0. Attributes are perceived."
    )
    return skeleton.page(
        found,
        f"askew interact: how biases of {shorten(found.model.name, 80)} pull on each other",
        f"“{prompts[0]}”" if len(prompts) == 1 else plural(len(prompts), "prompt"),
        answer_over_prompts(found.over_prompts) if found.over_prompts else answer(first),
        (
            b.Section("What was seen", seen(found.shares, lambda one: f"{one.prompt} {one.axis}")),
            *_graphs(found, media),
            b.Section("Estimates against a real mitigation", _validation(found)),
        ),
        facts=(*skeleton.facts(found), ("Axes", str(len(first.axes)))),
        reading=reading(found),
        notes=(note, *skeleton.notes(found)[1:]),
        gaps=gaps(found.shares),
        uneven=missing_sentences(found.missing_pictures),
    )


def _graphs(found: InteractionFindings, media: Media) -> Iterator[b.Section]:
    """The graph of the only prompt; or the pairs over the prompts, the graph of all together, and
    that of each.
    """
    first, *own = found.biasconnect
    if not own:
        yield b.Section("Which axis moves which", _graph(found, media, first))
        return
    pairs = acting_pairs(found.over_prompts)
    if pairs:
        yield b.Section("Prompt by prompt", (over_prompts(found.over_prompts, own),))
    told = "The paper's pooled graph (Eq. 9–11): the counts of all prompts added up."
    opposed = [pair(one.source, one.target) for one in pairs if differ(one)]
    if opposed:
        told += f" Prompts differ in how they move {listing(opposed[:6])}; added up, such effects may hide each other."
    yield b.Section(
        "All prompts together", (b.Paragraph(told, muted=True), *_graph(found, media, first))
    )
    folds = []
    for one in own:
        strongest = "".join(
            f"; the strongest {pair(edge.source, edge.target)}" for edge in one.drawn[:1]
        )
        told = f"{title(one.prompt)}: {plural(len(one.drawn), 'edge')}{strongest}"
        folds.append(b.Details(told, _graph(found, media, one), anchor=one.prompt))
    yield b.Section("Each prompt", tuple(folds))


def _graph(found: InteractionFindings, media: Media, graph: Graph) -> tuple[b.Block, ...]:
    """All that is shown of a graph."""
    axes = axes_of(found.biasconnect)
    sources = dict.fromkeys(one.source for one in graph.edges)
    return (
        network(graph, axes, f"Which axis moves which: {title(graph.prompt)}"),
        summary(graph),
        b.Section("Every pair of axes", (matrix(graph, axes),), screen=False),
        b.Section(
            "Each axis made equal",
            tuple(_axis(found, media, graph, axis) for axis in sources),
            screen=False,
        ),
    )


def _axis(found: InteractionFindings, media: Media, graph: Graph, axis: str) -> b.Details:
    """All that is shown of one axis that is made equal."""
    own = graph.edge(axis, axis)
    told = list[b.Block]()
    if own and isinstance(own.sensitivity, Estimate):
        told += [b.Paragraph(f"{capital(edge_sentence(graph, own))}. This is its direct effect.")]
    rows = tuple(
        set_row(media, one, allowance(0, len(found.sets))[1])
        for one in found.sets
        if one.prompt == graph.prompt and one.axis in (None, axis)
    )
    if any(shot.image for row in rows for shot in row.shots):
        told += [b.PictureGrid(f"Initial pictures, and those of each {axis_label(axis)}", rows)]
    return b.Details(
        f"{capital(axis_label(axis))}: {moved(graph, axis)}", told, f"{graph.prompt} {axis}"
    )


def _validation(found: InteractionFindings) -> Iterator[b.Block]:
    """How well the estimates hold, in words, where axes are mitigated, and the edges of every
    prompt.
    """
    one = found.validation
    if one is None:
        return
    overall = one.overall_correlation
    paper = one.paper_correlation
    worse = one.made_worse
    if isinstance(overall, Estimate):
        kind = "correlation" if (overall.p or 0) < SIGNIFICANCE_LEVEL else "no_correlation"
        held = format_phrase(
            kind,
            edges=plural(overall.n or 0, "edge"),
            r=measured(overall),
            p=words.probability(overall.p, "p"),
        )
    else:
        held = f"There is no correlation of estimates and mitigation: {words.reason(overall)}"
    if isinstance(paper, Estimate):
        held += (
            f". With the same initial pictures on both sides, as in the paper, it is {measured(paper)}, where "
            f"doing nothing gives {words.number(paper.null)} ({words.probability(paper.p, 'p')})"
        )
    held += "."
    if isinstance(worse, Estimate):
        surely = round((worse.low or 0) * (worse.n or 0))
        pairs = plural(worse.n or 0, "pair")
        held += " " + format_phrase(
            "worsening", count=surely, pairs=pairs, share=percent(worse.value)
        )
    mitigated = found.plan.mitigated
    told = [
        f"{listing([axis_label(axis) for axis, own in mitigated.items() if own == name])} in "
        f"{shorten(name, 80)}"
        for name in dict.fromkeys(mitigated.values())
    ]
    settings = "".join(
        f", {name} {shorten(str(value), 40)}" for name, value in found.plan.mitigated_args.items()
    )
    yield b.Paragraph(held)
    yield b.Paragraph(
        f"Mitigated: {'; '.join(told)}{settings}. Correlation averaged over prompts: "
        f"{words.describe_score(one.mean_correlation)}.",
        muted=True,
    )
    for prompt in (prompt for prompt in one.prompts if prompt.edges):
        estimates = found.graph(prompt.prompt)
        rows = tuple(
            b.IntervalRow(
                pair(e.source, e.target),
                at_once(e.measured, getattr(worse, "n", None) or 1),
                (
                    measured(
                        own.shown if (own := estimates.edge(e.source, e.target)) else None, "signed"
                    ),
                ),
                marks=(b.ReferenceMark(e.estimated.value, "estimated"),)
                if isinstance(e.estimated, Estimate)
                else (),
            )
            for e in prompt.edges
        )
        of_edges = words.describe_score(prompt.correlation)
        yield b.Paragraph(
            f"Correlation over its edges: {of_edges}", lead=words.quote(prompt.prompt, 120)
        )
        yield b.IntervalChart(
            "Sensitivity measured on the mitigated model, against the estimate",
            "Edge",
            rows,
            "measured",
            "signed",
            b.PLAIN,
            ("estimated",),
            interval="interval, of all pairs at once",
        )


def title(prompt: str | None, width: int = 160) -> str:
    """What a graph is of."""
    return "All prompts together" if prompt is None else words.quote(prompt, width)


def axes_of(graphs: Iterable[Graph]) -> list[str]:
    """Every axis of some graphs, in order of first appearance: the layout that they share."""
    return list(dict.fromkeys(axis.name for graph in graphs for axis in graph.axes))


def network(graph: Graph, axes: Sequence[str], caption: str) -> b.GraphDiagram:
    """The graph; of every axis its effect on itself."""
    direct = {one.source: one.sensitivity for one in graph.edges if one.direct}
    nodes = tuple(
        (
            axis_label(axis),
            f"itself {words.signed(e.value)}"
            if isinstance(e := direct.get(axis), Estimate)
            else "",
        )
        for axis in axes
    )
    edges = tuple(
        b.Arrow(
            axis_label(one.source),
            axis_label(one.target),
            one.shown,
            one.effect,
            (words.number(one.cramers_v), probability(one.q)),
        )
        for one in graph.drawn
        if isinstance(one.shown, Estimate)
    )
    return b.GraphDiagram(caption, nodes, edges, more=("V", "q"))


def summary(graph: Graph) -> b.DefinitionList:
    """What sums a graph up."""
    target, source = (
        capital(axis_label(one)) if one else words.ABSENT
        for one in (graph.most_influenced, graph.most_influential)
    )
    whole = measured(graph.amplification)
    sides = [one.effect for one in graph.moved]
    if isinstance(graph.amplification, Estimate):
        p = graph.amplification.p or 0.0
        whole += format_phrase(
            "no_amplification" if p >= SIGNIFICANCE_LEVEL else "amplification",
            p=probability(p, "p"),
        )
    surely = f"{sides.count('worse')} worse and {sides.count('better')} better of {plural(graph.tested, 'pair')}"
    return b.DefinitionList(
        (
            ("Changed by most others", target),
            ("Changes most others", source),
            ("Amplification, Σ |IS| less chance", whole),
            ("Surely made worse, better", surely),
        ),
        facts=True,
    )


def matrix(graph: Graph, axes: Sequence[str]) -> b.Table:
    """Every axis made equal (rows) against every axis that it may move (columns)."""
    sources = {one.source for one in graph.edges}

    def cell(edge: Edge | None) -> b.TableCell | None:
        if edge is None:
            return None
        level = TONES[edge.effect] * min(1.0, 0.2 + 3 * edge.size) if edge.significant else 0.0
        return b.TableCell(edge.shown, strong=edge.effect != "changed", level=level)

    untested: dict[str, list[str]] = {}
    for one in graph.edges:
        if one.untested and not one.direct:
            untested.setdefault(words.reason(one.untested), []).append(pair(one.source, one.target))
    return b.Table(
        "Making the axis of the row equal moves the axis of the column by this much towards its ideal (Intersectional "
        "Sensitivity; the intervals hold for all pairs at once). Bold: surely moved; shaded where the graph has an "
        "edge, too. Framed: an axis on itself.",
        ("Made equal", *(capital(axis_label(y)) for y in axes)),
        tuple(
            (capital(axis_label(x)), *(cell(graph.edge(x, y)) for y in axes))
            for x in axes
            if x in sources
        ),
        scale="signed",
        shaded=True,
        diagonal=True,
        note=" ".join(f"Not tested: {listing(pairs)} ({why})." for why, pairs in untested.items()),
    )


def answer(graph: Graph) -> str:
    """How many pairs of axes pull on each other, how many of them surely for the worse, and what
    the strongest does.
    """
    edges = graph.drawn
    moved = graph.moved
    where = "Over all prompts" if graph.prompt is None else f"For {words.quote(graph.prompt, 60)}"
    if not graph.tested:
        why = dict.fromkeys(words.reason(one.untested) for one in graph.edges if one.untested)
        return f"{where} no pair of axes could be tested{''.join(f'; {reason}' for reason in why)}."
    told = {"where": where, "pairs": plural(graph.tested, "pair")}
    if not edges and not moved:
        return format_phrase("no_association", **told)
    sides = [
        f"{direction} in {n:,}"
        for kind, direction in (("worse", "increased"), ("better", "decreased"))
        if (n := sum(e.effect == kind for e in moved))
    ]
    effects = (
        format_phrase("effects", pairs=plural(len(moved), "pair"), directions=", ".join(sides))
        if moved
        else format_phrase("no_effects")
    )
    strongest = edge_sentence(graph, max(moved or edges, key=lambda one: one.size))
    return format_phrase(
        "association", edges=len(edges) or "none", effects=effects, strongest=strongest, **told
    )


def answer_over_prompts(found: Sequence[EdgeOverPrompts]) -> str:
    """In how many pairs of axes the second changes with the first in some prompt, and where prompts
    disagree.
    """
    prompts = f"{max(one.prompts for one in found):,}"
    acting = acting_pairs(found)
    pairs = plural(sum(one.q is not None for one in found), "pair")
    if not acting:
        return format_phrase("no_association_over_prompts", prompts=prompts, pairs=pairs)
    apart = sum(map(differ, acting))
    most = acting[0]
    ways = [
        f"{direction} in {n:,}"
        for direction, n in (("increased", most.worse), ("decreased", most.better))
        if n
    ]
    return format_phrase(
        "association_over_prompts",
        prompts=prompts,
        associated=f"{len(acting):,}",
        pairs=pairs,
        most=pair(most.source, most.target),
        disagreement=format_phrase("prompt_disagreement", count=f"{apart:,}") if apart else "",
        edges=f"an edge in {plural(most.edges, 'prompt')}"
        if most.edges
        else "an edge in no single prompt",
        effects=f"deviation significantly {listing(ways)}"
        if ways
        else "no significant effect in a single prompt",
    )


def acting_pairs(found: Iterable[EdgeOverPrompts]) -> list[EdgeOverPrompts]:
    """Pairs whose second axis changes with the first in some prompt, those of most prompts first."""
    acting = [one for one in found if (one.q or 0.0) < SIGNIFICANCE_LEVEL and one.q is not None]
    return sorted(acting, key=lambda one: (-one.edges, one.q or 0.0))


def over_prompts(found: Sequence[EdgeOverPrompts], graphs: Sequence[Graph]) -> b.IntervalChart:
    """The pairs that act in some prompt: their mean sensitivity, that of every prompt, and in how
    many they act.
    """
    rows = []
    for one in acting_pairs(found):
        edges = [edge for graph in graphs if (edge := graph.edge(one.source, one.target))]
        points = tuple(e.mark for edge in edges if isinstance(e := edge.sensitivity, Estimate))
        more = (one.edges, one.worse, one.better, probability(one.q), probability(one.differ_q))
        mean = at_once(one.mean, len(found))
        label = pair(one.source, one.target)
        rows.append(b.IntervalRow(label, mean, more, points=points, strong=differ(one)))
    return b.IntervalChart(
        "Pairs of axes whose second is seen to change with the first in some prompt (q < 0.05, of Fisher's sum over "
        "the prompts): in how many prompts there is an edge, in how many making the first equal surely moves the "
        "second away from its ideal (worse) or towards it. Bold: the prompts differ in how they move it",
        "Pair",
        tuple(rows),
        "mean IS",
        "signed",
        b.PLAIN,
        ("edges", "worse", "better", "q", "differ (q)"),
        points="one prompt",
        interval="interval for the mean over these prompts, of all pairs at once",
    )


def at_once(score: E, scores: int) -> E:
    """The score with an interval that holds together with those of so many."""
    if isinstance(score, Missing):
        return score
    low, high = simultaneous(score, scores)
    return replace(score, low=max(low, -1.0), high=min(high, 1.0))


def differ(one: EdgeOverPrompts) -> bool:
    """Whether the prompts differ in how the pair moves."""
    return one.differ_q is not None and one.differ_q < SIGNIFICANCE_LEVEL


def edge_sentence(graph: Graph, edge: Edge) -> str:
    """ "making gender equal makes perceived age more one-sided: −0.11 [−0.17, −0.05]"."""
    said = measured(edge.shown, "signed").replace(", ", ",\N{NO-BREAK SPACE}")
    source = axis_label(edge.source)
    target = perceived(edge.target)
    if edge.effect != "changed":
        reference = graph.axis(edge.target).reference
        even = not reference or max(reference) - min(reference) < 1e-6
        return f"making {source} equal makes {target} {VERBS[even][edge.effect]}: {said}"
    if edge.significant:
        return f"{target} changes with {source}; which way making {source} equal moves it is not settled: {said}"
    return f"making {source} equal is not shown to move {target}: {said}"


def rules(found: InteractionFindings) -> str:
    """What makes a pair an edge, of all prompts together and of one alone."""
    told = []
    for graph in found.biasconnect[:2]:
        least = f" and |IS| > {graph.least_sensitivity:g}" if graph.least_sensitivity else ""
        told.append(
            f"the χ² test of dependence has p < {np.format_float_positional(graph.alpha)}{least}"
        )
    return "; of a prompt alone ".join(told)


def moved(graph: Graph, source: str) -> str:
    """What an axis does: "age and clothing change with it; making it equal surely harms age"."""
    changed = [axis_label(one.target) for one in graph.drawn if one.source == source]
    told = (
        [f"{listing(changed)} {'changes' if len(changed) == 1 else 'change'} with it"]
        if changed
        else []
    )
    own = [one for one in graph.moved if one.source == source]
    sides = [
        f"{verb} {listing(targets)}"
        for verb, effect in (("harms", "worse"), ("helps", "better"))
        if (targets := [axis_label(one.target) for one in own if one.effect == effect])
    ]
    told += [f"making it equal surely {' and '.join(sides)}"] if sides else []
    return "; ".join(told) or "not seen to move another axis"


def pair(source: str, target: str) -> str:
    """ "Gender → age"."""
    return f"{capital(axis_label(source))} → {axis_label(target)}"


def reading(found: InteractionFindings) -> b.Section:
    """What the words of a page mean, and how it was computed."""
    first = found.biasconnect[0]
    told = []
    distances = "; ".join(
        f"{axis_label(axis.name)}: {DISTANCES[axis.distance]}" for axis in first.axes
    )
    for axis in first.axes:
        if axis.known_errors:
            right = [row[k] / sum(row) for k, row in enumerate(axis.known_errors)]
            least = percent(min(right))
            most = percent(max(right))
            told.append(
                f"{axis_label(axis.name)} {least if least == most else f'{least} to {most}'}"
            )
    corrected = (
        "Corrected for reading errors",
        f"The instrument's errors are known from pictures whose truth is known; it reads rightly, by value: "
        f"{', '.join(told)}. Sensitivities are those of the pictures as they would be read without errors, and "
        "intervals carry what is not known about the errors. χ² tests are of the answers as read.",
    )
    return skeleton.reading(
        (
            (
                "Making an axis equal",
                "The pictures of all its counterfactual prompts, the same number of each, stand for a "
                "model in which this bias is mitigated.",
            ),
            (
                "Edge",
                f"The answers about one axis depend on the counterfactual of another: {rules(found)}. That the "
                "distribution changes does not say whether for the better, and where it is alike for all counterfactuals it "
                "may yet differ from the initial pictures. An axis depends on itself by construction.",
            ),
            (
                "Intersectional Sensitivity (IS)",
                "The distance of an axis from its ideal before, less the distance after. "
                "Above zero the axis comes nearer to its ideal, below zero it goes further away. Few pictures make every "
                "distance too large, and few more so than many: both are corrected for that.",
            ),
            *([corrected] if told else []),
            ("V", "Cramér's V, the strength of the dependence: 0 none, 1 complete."),
        ),
        limits=(
            *LIMITS,
            "An edge tells what changing the prompt does to what the instrument reads. It is no statement about people.",
        ),
        source=(
            "BiasConnect (Chinchure et al., “BiasConnect: Investigating Bias Interactions in Text-to-Image Models”, 2025). "
            "The prompt is changed in one concept at a time, along each axis; multiple-choice questions read every "
            "picture, and pictures in which nobody is seen are set aside."
        ),
        method=(
            (
                "Dependence (section 3.3)",
                "Pearson's χ² of the counts, a row per counterfactual prompt; where an expected "
                "count is below 5, random tables with the same margins",
            ),
            (
                "Sensitivity (Eq. 1–4)",
                "IS = d(initial, ideal) − d(mean of the counterfactual sets, ideal), both corrected "
                "for their number of pictures; results.json has the plain one as plug_in",
            ),
            ("Distance d", distances),
        ),
    )
