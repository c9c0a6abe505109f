"""Write the sentences on the page of `askew interact`."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from askew.methods.interact.findings import (
    Edge,
    EdgeOverPrompts,
    Graph,
    InteractionFindings,
    Validation,
)
from askew.pages import words
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
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate

VERBS = {"better": "decreases", "worse": "increases"}
"""Verbs that describe how equalizing one axis changes the deviation of another."""


def title(prompt: str | None, width: int = 160) -> str:
    """Return the title of a graph: its prompt, or "All prompts together"."""
    return "All prompts together" if prompt is None else words.quote(prompt, width)


def pair(source: str, target: str) -> str:
    """Return a pair of axes in words, such as "Gender → age"."""
    return f"{capital(axis_label(source))} → {axis_label(target)}"


def answer(graph: Graph) -> str:
    """Return the headline of a graph, followed by the sentence below the headline."""
    return f"{headline(graph)} {lead(graph)}".strip()


def headline(graph: Graph) -> str:
    """Return a sentence about the strongest determined effect or the number of associated pairs."""
    if graph.tested_pairs and graph.determined and graph.prompt is not None:
        effect = _effect_headline(graph, graph.determined[0])
        if effect:
            return effect
    return _associations(graph)


def lead(graph: Graph) -> str:
    """Return a sentence about the number of determined directions and the strongest effect."""
    candidates = graph.determined or graph.drawn
    if not graph.tested_pairs or not candidates:
        return ""
    associations = _associations(graph)
    strongest = format_phrase(
        "strongest_effect",
        effects=_effects(graph.determined),
        strongest=edge_sentence(graph, candidates[0]),
    )
    return strongest if headline(graph) == associations else f"{associations} {strongest}"


def _effect_headline(graph: Graph, edge: Edge) -> str:
    """Return a sentence about the share that changes most on an axis; "" if counts are missing."""
    initial = graph.counts.initial.get(edge.target, ())
    rows = graph.counts.after.get(edge.source, {}).get(edge.target, ())
    if not sum(initial) or not rows or not all(map(sum, rows)):
        return ""
    before = np.array(initial) / sum(initial)
    after = np.mean([np.array(row) / sum(row) for row in rows], axis=0)
    place = int(np.argmax(np.abs(after - before)))
    return format_phrase(
        "effect_headline",
        source=axis_label(edge.source),
        prompt=words.quote(str(graph.prompt), 60),
        value=shorten(graph.axis(edge.target).values[place], 40),
        changes="rises" if after[place] > before[place] else "falls",
        before=percent(float(before[place])),
        after=percent(float(after[place])),
    )


def _associations(graph: Graph) -> str:
    """Return a sentence that states how many pairs of axes are associated."""
    where = "Over all prompts" if graph.prompt is None else f"For {words.quote(graph.prompt, 60)}"
    if not graph.tested_pairs:
        reasons = dict.fromkeys(
            words.reason(edge.untested) for edge in graph.edges if edge.untested
        )
        texts = "".join(f"; {reason}" for reason in reasons)
        return f"{where}, no pair of axes could be tested{texts}."
    edges = graph.drawn
    determined = graph.determined
    pairs = plural(graph.tested_pairs, "pair")
    if not edges and not determined:
        return format_phrase("no_association", where=where, pairs=pairs)
    return format_phrase(
        "association",
        where=where,
        pairs=pairs,
        edges=f"{len(edges):,}" if edges else "none",
        are="are" if len(edges) > 1 else "is",
    )


def _effects(determined: Sequence[Edge]) -> str:
    """Return a phrase that states how many pairs have a determined effect in each direction."""
    if not determined:
        return format_phrase("no_effects")
    effects = [edge.effect for edge in determined]
    counts = {"increased": effects.count("worse"), "decreased": effects.count("better")}
    directions = [f"{direction} in {count:,}" for direction, count in counts.items() if count]
    pairs = plural(len(determined), "pair")
    return format_phrase("effects", pairs=pairs, directions=", ".join(directions))


def edge_sentence(graph: Graph, edge: Edge) -> str:
    """Return a clause about the effect of one axis on another.

    For example, "equalizing gender increases the deviation of perceived age from uniform: IS −0.11
    [−0.17, −0.05]".
    """
    score = measured(edge.simultaneous_estimate, "signed")
    source = axis_label(edge.source)
    target = perceived(edge.target)
    if graph.prompt is None:
        target = f"{target}, pooled over all prompts,"
    if edge.effect != "changed":
        verb = VERBS[edge.effect]
        reference = _reference_name(graph.axis(edge.target).reference)
        return f"equalizing {source} {verb} the deviation of {target} from {reference}: IS {score}"
    target = perceived(edge.target)
    if edge.significant:
        direction = f"equalizing {source} does not significantly change its deviation"
        return f"{target} is associated with {source}, but {direction}: IS {score}"
    return (
        f"equalizing {source} does not significantly change the deviation of {target}: IS {score}"
    )


def _reference_name(reference: Sequence[float]) -> str:
    uniform = not reference or max(reference) - min(reference) < 1e-6
    return "uniform" if uniform else "its reference"


def effects_of(graph: Graph, source: str) -> str:
    """Return a phrase about the axes associated with an axis, and about its effects.

    For example, "associated with age and clothing; equalizing it significantly increases the
    deviation of age".
    """
    parts = []
    associated = [axis_label(edge.target) for edge in graph.drawn if edge.source == source]
    if associated:
        parts.append(f"associated with {listing(associated)}")
    changes = _changes([edge for edge in graph.determined if edge.source == source])
    if changes:
        parts.append(f"equalizing it significantly {' and '.join(changes)}")
    return "; ".join(parts) if parts else "no significant effect on another axis"


def _changes(determined: Iterable[Edge]) -> list[str]:
    """Return clauses that list which deviations increase and which decrease."""
    targets: dict[str, list[str]] = {"worse": [], "better": []}
    for edge in determined:
        targets[edge.effect].append(axis_label(edge.target))
    return [
        f"{VERBS[effect]} the deviation of {listing(names)}"
        for effect, names in targets.items()
        if names
    ]


def associated_pairs(entries: Iterable[EdgeOverPrompts]) -> list[EdgeOverPrompts]:
    """Return the pairs associated in at least one prompt, sorted by decreasing number of edges."""
    associated = [
        entry for entry in entries if entry.q is not None and entry.q < SIGNIFICANCE_LEVEL
    ]
    return sorted(associated, key=lambda entry: (-entry.edges, entry.q or 0.0))


def is_heterogeneous(entry: EdgeOverPrompts) -> bool:
    """Check whether the effects of a pair differ significantly between prompts."""
    return entry.differ_q is not None and entry.differ_q < SIGNIFICANCE_LEVEL


def pooled_disagreements(pooled: Graph, entries: Iterable[EdgeOverPrompts]) -> list[str]:
    """Return the pairs whose pooled effect is opposite to the effect in at least one prompt."""
    pairs = []
    for entry in entries:
        edge = pooled.edge(entry.source, entry.target)
        if edge is None:
            continue
        opposite = {"better": entry.worse, "worse": entry.better, "changed": 0}
        if opposite[edge.effect]:
            pairs.append(pair(entry.source, entry.target))
    return pairs


def answer_over_prompts(entries: Sequence[EdgeOverPrompts]) -> str:
    """Return the headline for several prompts: associated pairs and differences in effect."""
    prompts = f"{max(entry.prompts for entry in entries):,}"
    pairs = plural(sum(entry.q is not None for entry in entries), "pair")
    associated = associated_pairs(entries)
    if not associated:
        return format_phrase("no_association_over_prompts", prompts=prompts, pairs=pairs)
    most = associated[0]
    heterogeneous = sum(is_heterogeneous(entry) for entry in associated)
    disagreement = ""
    if heterogeneous:
        disagreement = format_phrase("prompt_disagreement", count=f"{heterogeneous:,}")
    return format_phrase(
        "association_over_prompts",
        prompts=prompts,
        associated=f"{len(associated):,}",
        are="are" if len(associated) > 1 else "is",
        pairs=pairs,
        most=pair(most.source, most.target),
        disagreement=disagreement,
        edges=_edge_count(most),
        effects=_effect_counts(most),
    )


def _edge_count(entry: EdgeOverPrompts) -> str:
    if entry.edges:
        return f"an edge in {plural(entry.edges, 'prompt')}"
    return "not an edge in any single prompt"


def _effect_counts(entry: EdgeOverPrompts) -> str:
    """Return a phrase that states how many prompts have a determined effect in each direction."""
    counts = {"increased": entry.worse, "decreased": entry.better}
    directions = [f"{direction} in {count:,}" for direction, count in counts.items() if count]
    if not directions:
        return "no significant effect in any single prompt"
    return f"deviation significantly {listing(directions)}"


def rules(findings: InteractionFindings) -> str:
    """Return the edge rules of the graph of all prompts and of the graph of a single prompt."""
    texts = []
    for graph in findings.biasconnect[:2]:
        name = "q" if graph.edge_rule == "q" else "p"
        text = f"χ² test with {name} < {np.format_float_positional(graph.alpha)}"
        if graph.least_sensitivity:
            text += f" and |IS| > {graph.least_sensitivity:g}"
        texts.append(text)
    return "; in the graph of a single prompt, ".join(dict.fromkeys(texts))


def validation_sentences(validation: Validation) -> Iterator[str]:
    """Yield sentences about the results of comparing estimates with a mitigation."""
    yield _correlation_sentence(validation)
    paper = validation.paper_correlation
    if isinstance(paper, Estimate):
        null = words.number(paper.null)
        yield (
            "If estimates and measurements share the baseline images, as in the paper, r = "
            f"{measured(paper)} ({null} expected if the mitigation had no effect, "
            f"{probability(paper.p, 'p')})."
        )
    worse = validation.made_worse
    if isinstance(worse, Estimate):
        yield format_phrase(
            "worsening",
            count=round((worse.low or 0) * (worse.n or 0)),
            pairs=plural(worse.n or 0, "pair"),
            share=percent(worse.value),
        )


def _correlation_sentence(validation: Validation) -> str:
    overall = validation.overall_correlation
    if not isinstance(overall, Estimate):
        return (
            "The correlation between estimated and measured effects is missing: "
            f"{words.reason(overall)}."
        )
    significant = (overall.p or 0) < SIGNIFICANCE_LEVEL
    text = format_phrase(
        "correlation" if significant else "no_correlation",
        edges=plural(overall.n or 0, "edge"),
        r=measured(overall),
        p=probability(overall.p, "p"),
    )
    return f"{text}."


def mitigated_sentence(findings: InteractionFindings) -> str:
    """Return a sentence that lists each mitigated axis with its model or run and its settings."""
    mitigated = findings.plan.mitigated
    texts = []
    for name in dict.fromkeys(mitigated.values()):
        axes = [axis_label(axis) for axis, source in mitigated.items() if source == name]
        texts.append(f"{listing(axes)} in {shorten(name, 80)}")
    text = "; ".join(texts)
    for name, value in findings.plan.mitigated_args.items():
        text += f", {name} {shorten(str(value), 40)}"
    return f"Mitigated: {text}."
