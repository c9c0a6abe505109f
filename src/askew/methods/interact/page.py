"""The page of `askew interact`: what was seen, and which axis moves which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from askew.methods.interact import figures
from askew.methods.interact.findings import (
    Graph,
    InteractionFindings,
    Validation,
)
from askew.pages import blocks as b
from askew.pages import common, words
from askew.pages.media import Media, allowance, set_row
from askew.pages.phrases import say
from askew.pages.words import ABSENT, axis_label, capital, listing, measured, percent, plural, quote, reason, shorten
from askew.parts.survey.blocks import gaps, missing_sentences, seen
from askew.types import Estimate, Missing

SENTENCES = 8
"""Sentences of a graph before the rest is folded away."""


def page(found: InteractionFindings, media: Media) -> b.Page:
    """What to show of a run of interactions."""
    view = View(found, media)
    prompts = [prompt.text for prompt in found.plan.prompts]
    bold = (
        "IS: how much nearer the second axis comes to its ideal; intervals hold for all pairs of the page at once. "
        f"Edges: {figures.rule(found.biasconnect[0])}. Bold: the interval leaves out 0. Attributes are perceived."
    )
    return common.page(
        found, f"askew interact: how biases of {shorten(found.model.name, 80)} pull on each other",
        f"“{prompts[0]}”" if len(prompts) == 1 else plural(len(prompts), "prompt"),
        figures.answer_over_prompts(found.over_prompts) if found.over_prompts else figures.answer(found.biasconnect[0]),
        (*view.seen(), *view.graphs(), *view.validation()),
        facts=(*common.facts(found), ("Axes", str(len(found.biasconnect[0].axes)))),
        reading=figures.reading(found), notes=(bold, *common.notes(found)[1:]), gaps=gaps(found.shares),
        uneven=missing_sentences(found.missing_pictures),
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by prompt and axis."""

    found: InteractionFindings
    media: Media

    @property
    def several(self) -> bool:
        """Whether the first graph is of all prompts together."""
        return len(self.found.biasconnect) > 1

    @cached_property
    def axes(self) -> list[str]:
        """The layout of all graphs."""
        return figures.axes_of(self.found.biasconnect)

    def seen(self) -> Iterator[b.Section]:
        """Shares in the initial pictures."""
        if self.found.shares:
            blocks = seen(self.found.shares, lambda one: f"{one.prompt} {one.axis}")
            yield b.Section("What was seen", tuple(blocks))

    def graphs(self) -> Iterator[b.Section]:
        """The graph of the only prompt, or of all together, then of each."""
        first, *own = self.found.biasconnect
        if pairs := figures.acting_pairs(self.found.over_prompts):
            yield b.Section("Prompt by prompt", (figures.over_prompts(pairs, own),))
        opposed = [figures.pair(one) for one in pairs if (one.differ_q or 1.0) < words.SIGNIFICANT]
        warning = b.Text(f"Prompts move {listing(opposed[:6])} differently; added up they hide each other.", muted=True)
        told = b.Text("The paper's pooled graph (Eq. 9–11): the counts of all prompts added up.", muted=True)
        yield b.Section("All prompts together" if own else "Which axis moves which",
                        (*([told] if own else []), *([warning] if opposed else []), *self._graph(first)))  # fmt: skip
        if own:
            rows = tuple(
                (quote(one.prompt or "", 60), len(one.drawn),
                 ", ".join(figures.pair(edge) for edge in one.drawn[:2]) or ABSENT)
                for one in own
            )  # fmt: skip
            caption = f"Edges of every prompt: {figures.rule(own[0])}"
            table = b.Table(caption, ("Prompt", "edges", "the strongest"), rows)
            folds = (b.Fold(f"{figures.title(one.prompt)}: {plural(len(one.drawn), 'edge')}", self._graph(one),
                            anchor=one.prompt) for one in own)  # fmt: skip
            yield b.Section("Each prompt", (table, *folds))

    def _graph(self, graph: Graph) -> tuple[b.Block, ...]:
        """All that is shown of a graph."""
        said = figures.sentences(graph)
        weaker = b.Fold(f"The {plural(len(said) - SENTENCES, 'weaker edge')}", (b.Text(items=tuple(said[SENTENCES:])),))
        told = b.Text(items=tuple(said[:SENTENCES])) if said else b.Text("No axis is seen to move another.")
        sources = list(dict.fromkeys(one.source for one in graph.edges))
        return (
            figures.network(graph, self.axes, f"Which axis moves which: {figures.title(graph.prompt)}"),
            b.Section("In words", (told, *([weaker] if len(said) > SENTENCES else [])), screen=False),
            figures.summary(graph),
            b.Section("Every pair of axes", (figures.matrix(graph, self.axes),), screen=False),
            b.Section("Each axis made equal", tuple(self._axis(graph, axis) for axis in sources), screen=False),
        )

    def _axis(self, graph: Graph, axis: str) -> b.Fold:
        """All that is shown of one axis that is made equal."""
        own = graph.edge(axis, axis)
        direct: list[b.Block] = ([b.Text(f"{capital(figures.edge_sentence(graph, own))}. This is its direct effect.")]
                  if own and isinstance(own.sensitivity, Estimate) else [])  # fmt: skip
        sets = [one for one in self.found.sets if one.prompt == graph.prompt and one.axis in (None, axis)]
        _, most = allowance(0, len(self.found.sets))
        pictures = b.Pictures(f"Initial pictures, and those of each {axis_label(axis)}",
                              tuple(set_row(self.media, one, most) for one in sets))  # fmt: skip
        shown = [pictures] if any(shot.uri for row in pictures.rows for shot in row.shots) else []
        told = (*direct, *shown, *figures.count_tables(graph, axis))
        return b.Fold(f"{capital(axis_label(axis))}: {figures.moved(graph, axis)}", told, f"{graph.prompt} {axis}")

    def validation(self) -> Iterator[b.Section]:
        """Estimates against a real mitigation."""
        if one := self.found.validation:
            yield b.Section("Estimates against a real mitigation", tuple(_validation(one)))


def _validation(one: Validation) -> Iterator[b.Block]:
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
    if isinstance(worse, Estimate):
        surely = round((worse.low or 0) * (worse.n or 0))
        held += (f". It surely moved {surely} of {plural(worse.n or 0, 'pair')} away from their ideal; of all, "
                 f"{percent(worse.value)} point that way, where doing nothing gives 50 %")  # fmt: skip
    told = [f"{listing([axis_label(axis) for axis, own in one.mitigated.items() if own == name])} in "
            f"{shorten(name, 80)}" for name in dict.fromkeys(one.mitigated.values())]  # fmt: skip
    settings = "".join(f", {name} {shorten(str(value), 40)}" for name, value in one.settings.items())
    yield b.Text(f"{held}.")
    yield b.Text(f"Mitigated: {'; '.join(told)}{settings}. Correlation averaged over prompts: "
                 f"{_known(one.mean_correlation)}.", muted=True)  # fmt: skip
    for prompt in (prompt for prompt in one.prompts if prompt.edges):
        rows = tuple(
            b.Lane(figures.pair(e), e.measured, (measured(e.estimated, "signed"),),
                   marks=(b.Mark(e.estimated.value, "estimated"),) if isinstance(e.estimated, Estimate) else ())
            for e in prompt.edges
        )  # fmt: skip
        yield b.Text(f"Correlation over its edges: {_known(prompt.correlation)}", lead=quote(prompt.prompt, 120))
        yield b.Lanes("Sensitivity measured on the mitigated model, against the estimate", "Edge", rows, "measured",
                      "signed", b.PLAIN, ("estimated",), interval="interval for the true value")  # fmt: skip


def _known(correlation: Estimate | Missing) -> str:
    return measured(correlation) if isinstance(correlation, Estimate) else reason(correlation)
