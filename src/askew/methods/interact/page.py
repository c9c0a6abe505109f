"""The page of `askew interact`: what was seen, and which axis moves which."""

from __future__ import annotations

from collections.abc import Iterator

from askew.methods.interact import figures
from askew.methods.interact.findings import (
    Graph,
    InteractionFindings,
    Validation,
)
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, allowance, set_row
from askew.pages.phrases import say
from askew.pages.words import ABSENT, axis_label, capital, listing, measured, percent, plural, quote, reason, shorten
from askew.parts.survey.blocks import gaps, missing_sentences, seen
from askew.types import Estimate, Missing

SENTENCES = 8
"""Sentences of a graph before the rest is folded away."""


def page(found: InteractionFindings, media: Media) -> b.Page:
    """What to show of a run of interactions."""
    prompts, first = [prompt.text for prompt in found.plan.prompts], found.biasconnect[0]
    note = (
        "IS: how much nearer the second axis comes to its ideal; intervals hold for all pairs of the page at once. "
        f"Edges: {figures.rules(found)}. Bold, of a single pair: the interval leaves out 0. Attributes are perceived."
    )
    shares = [b.Section("What was seen", tuple(seen(found.shares, lambda one: f"{one.prompt} {one.axis}")))]
    held = [b.Section("Estimates against a real mitigation", tuple(_validation(found, one)))
            for one in (found.validation,) if one]  # fmt: skip
    return skeleton.page(
        found, f"askew interact: how biases of {shorten(found.model.name, 80)} pull on each other",
        f"“{prompts[0]}”" if len(prompts) == 1 else plural(len(prompts), "prompt"),
        figures.answer_over_prompts(found.over_prompts) if found.over_prompts else figures.answer(first),
        (*(shares if found.shares else []), *_graphs(found, media), *held),
        facts=(*skeleton.facts(found), ("Axes", str(len(first.axes)))),
        reading=figures.reading(found), notes=(note, *skeleton.notes(found)[1:]), gaps=gaps(found.shares),
        uneven=missing_sentences(found.missing_pictures),
    )  # fmt: skip


def _graphs(found: InteractionFindings, media: Media) -> Iterator[b.Section]:
    """The graph of the only prompt; or the pairs over the prompts, the graph of all together, and that of each."""
    first, *own = found.biasconnect
    if not own:
        yield b.Section("Which axis moves which", _graph(found, media, first))
        return
    pairs = figures.acting_pairs(found.over_prompts)
    if pairs:
        yield b.Section("Prompt by prompt", (figures.over_prompts(found.over_prompts, own),))
    told = "The paper's pooled graph (Eq. 9–11): the counts of all prompts added up."
    if opposed := [figures.pair(one.source, one.target) for one in pairs if figures.differ(one)]:
        told += f" Prompts differ in how they move {listing(opposed[:6])}; added up, such effects may hide each other."
    yield b.Section("All prompts together", (b.Text(told, muted=True), *_graph(found, media, first)))
    rows = tuple(
        (quote(one.prompt or "", 60), len(one.drawn),
         ", ".join(figures.pair(edge.source, edge.target) for edge in one.drawn[:2]) or ABSENT)
        for one in own
    )  # fmt: skip
    table = b.Table("Edges of every prompt", ("Prompt", "edges", "the strongest"), rows)
    folds = (b.Fold(f"{figures.title(one.prompt)}: {plural(len(one.drawn), 'edge')}", _graph(found, media, one),
                    anchor=one.prompt) for one in own)  # fmt: skip
    yield b.Section("Each prompt", (table, *folds))


def _graph(found: InteractionFindings, media: Media, graph: Graph) -> tuple[b.Block, ...]:
    """All that is shown of a graph."""
    axes, said = figures.axes_of(found.biasconnect), figures.sentences(graph)
    told = b.Text(items=tuple(said[:SENTENCES])) if said else b.Text("No axis is seen to move another.")
    weaker = b.Fold(f"The {plural(len(said) - SENTENCES, 'weaker edge')}", (b.Text(items=tuple(said[SENTENCES:])),))
    sources = dict.fromkeys(one.source for one in graph.edges)
    return (
        figures.network(graph, axes, f"Which axis moves which: {figures.title(graph.prompt)}"),
        b.Section("In words", (told, *([weaker] if len(said) > SENTENCES else [])), screen=False),
        figures.summary(graph),
        b.Section("Every pair of axes", (figures.matrix(graph, axes),), screen=False),
        b.Section("Each axis made equal", tuple(_axis(found, media, graph, axis) for axis in sources), screen=False),
    )


def _axis(found: InteractionFindings, media: Media, graph: Graph, axis: str) -> b.Fold:
    """All that is shown of one axis that is made equal."""
    own, told = graph.edge(axis, axis), list[b.Block]()
    if own and isinstance(own.sensitivity, Estimate):
        told += [b.Text(f"{capital(figures.edge_sentence(graph, own))}. This is its direct effect.")]
    _, most = allowance(0, len(found.sets))
    rows = tuple(set_row(media, one, most) for one in found.sets
                 if one.prompt == graph.prompt and one.axis in (None, axis))  # fmt: skip
    if any(shot.uri for row in rows for shot in row.shots):
        told += [b.Pictures(f"Initial pictures, and those of each {axis_label(axis)}", rows)]
    summary = f"{capital(axis_label(axis))}: {figures.moved(graph, axis)}"
    return b.Fold(summary, (*told, *figures.count_tables(graph, axis)), f"{graph.prompt} {axis}")


def _validation(found: InteractionFindings, one: Validation) -> Iterator[b.Block]:
    """How well the estimates hold, in words, where axes are mitigated, and the edges of every prompt."""
    overall, paper, worse = one.overall_correlation, one.paper_correlation, one.made_worse
    if isinstance(overall, Estimate):
        kind = "estimates_hold" if (overall.p or 0) < words.SIGNIFICANT else "estimates_chance"
        held = say(kind, edges=plural(overall.n or 0, "edge"), r=measured(overall), p=words.probability(overall.p, "p"))
    else:
        held = f"There is no correlation of estimates and mitigation: {reason(overall)}"
    if isinstance(paper, Estimate):
        held += (f". With the same initial pictures on both sides, as in the paper, it is {measured(paper)}, where "
                 f"doing nothing gives {words.number(paper.null)} ({words.probability(paper.p, 'p')})")  # fmt: skip
    held += "."
    if isinstance(worse, Estimate):
        surely, pairs = round((worse.low or 0) * (worse.n or 0)), plural(worse.n or 0, "pair")
        held += " " + say("made_worse", surely=surely, pairs=pairs, share=percent(worse.value))
    told = [f"{listing([axis_label(axis) for axis, own in one.mitigated.items() if own == name])} in "
            f"{shorten(name, 80)}" for name in dict.fromkeys(one.mitigated.values())]  # fmt: skip
    settings = "".join(f", {name} {shorten(str(value), 40)}" for name, value in one.settings.items())
    yield b.Text(held)
    yield b.Text(f"Mitigated: {'; '.join(told)}{settings}. Correlation averaged over prompts: "
                 f"{_known(one.mean_correlation)}.", muted=True)  # fmt: skip
    for prompt in (prompt for prompt in one.prompts if prompt.edges):
        estimates = found.graph(prompt.prompt)
        rows = tuple(
            b.Lane(figures.pair(e.source, e.target), figures.at_once(e.measured, getattr(worse, "n", None) or 1),
                   (measured(own.shown, "signed") if (own := estimates.edge(e.source, e.target)) else ABSENT,),
                   marks=(b.Mark(e.estimated.value, "estimated"),) if isinstance(e.estimated, Estimate) else ())
            for e in prompt.edges
        )  # fmt: skip
        yield b.Text(f"Correlation over its edges: {_known(prompt.correlation)}", lead=quote(prompt.prompt, 120))
        yield b.Lanes("Sensitivity measured on the mitigated model, against the estimate", "Edge", rows, "measured",
                      "signed", b.PLAIN, ("estimated",), interval="interval, of all pairs at once")  # fmt: skip


def _known(correlation: Estimate | Missing) -> str:
    return measured(correlation) if isinstance(correlation, Estimate) else reason(correlation)
