"""The page of `askew interact`: what was seen, which axis moves which, and what to do about several biases at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from askew.methods.interact import figures, words
from askew.methods.interact.findings import (
    THIS_MIXTURE,
    Graph,
    InteractionFindings,
    JointCell,
    JointShares,
    Mixture,
    Strategy,
    ValidatedPrompt,
    Validation,
)
from askew.pages import common
from askew.pages.blocks import (
    PLAIN,
    Block,
    Fold,
    Lane,
    Lanes,
    Mark,
    Page,
    Pictures,
    Section,
    Table,
    Text,
)
from askew.pages.media import Media, allowance, set_row
from askew.pages.words import (
    ABSENT,
    axis_label,
    capital,
    listing,
    measured,
    number,
    percent,
    plural,
    probability,
    quote,
    reason,
    shorten,
)
from askew.parts.survey.blocks import gaps, missing_sentences, numbers, seen
from askew.types import Estimate, Missing

SENTENCES = 8
"""Sentences of a graph before the rest is folded away."""

STAGES = ("before", "predicted", "measured")


def page(found: InteractionFindings, media: Media) -> Page:
    """What to show of a run of interactions."""
    view = View(found, media)
    prompts, uneven = view.prompts, missing_sentences(found.missing_pictures)
    return Page(
        kicker=f"askew interact: how biases of {shorten(found.model.name, 80)} pull on each other",
        title=f"“{prompts[0]}”" if len(prompts) == 1 else plural(len(prompts), "prompt"),
        answer=figures.answer(found.biasconnect[0]),
        facts=(*common.facts(found), ("Axes", str(len(found.biasconnect[0].axes)))),
        sections=(
            *view.seen(), view.graph(), *view.each_prompt(), *view.mixtures(), *view.validation(), *view.joint(),
            common.missing_data(found, gaps(found.shares), uneven),
            Section("How to read this", words.reading(found), screen=False),
            Section("Method", words.method(found), screen=False),
            *common.provenance(found),
        ),
        warnings=found.warnings,
        notes=(
            "IS: how much nearer the second axis comes to its ideal. Edges: the χ² test of dependence has p < "
            f"{found.plan.global_threshold if view.several else found.plan.threshold:g}. Bold: the interval leaves out "
            "0. Attributes are perceived.",
            *common.notes(found)[1:], *uneven,
        ),
        version=found.askew,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by prompt and axis."""

    found: InteractionFindings
    media: Media

    @property
    def prompts(self) -> list[str]:
        """Those of the plan."""
        return [prompt.text for prompt in self.found.plan.prompts]

    @property
    def several(self) -> bool:
        """Whether the first graph is of all prompts together."""
        return len(self.found.biasconnect) > 1

    @cached_property
    def axes(self) -> list[str]:
        """The layout of all graphs."""
        return figures.axes_of(self.found.biasconnect)

    def seen(self) -> Iterator[Section]:
        """Shares in the initial pictures."""
        if self.found.shares:
            blocks = seen(self.found.shares, lambda one: f"{one.prompt} {one.axis}")
            yield Section("What was seen", tuple(blocks))

    def graph(self) -> Section:
        """The first graph: that of the only prompt, or of all together."""
        title = "All prompts together" if self.several else "Which axis moves which"
        return Section(title, self._graph(self.found.biasconnect[0]))

    def each_prompt(self) -> Iterator[Section]:
        """Of several prompts the graph of each."""
        if self.several:
            own = self.found.biasconnect[1:]
            rows = tuple(
                (quote(one.prompt or "", 60), len(one.drawn),
                 ", ".join(figures.pair(edge) for edge in one.drawn[:2]) or ABSENT)
                for one in own
            )  # fmt: skip
            table = Table("Edges of every prompt", ("Prompt", "edges", "the strongest"), rows)
            folds = (
                Fold(f"{figures.title(one)}: {plural(len(one.drawn), 'edge')}", self._graph(one), anchor=one.prompt)
                for one in own
            )
            yield Section("Each prompt", (table, *folds))

    def _graph(self, graph: Graph) -> tuple[Block, ...]:
        """All that is shown of a graph."""
        said = figures.sentences(graph)
        weaker = Fold(f"The {plural(len(said) - SENTENCES, 'weaker edge')}", (Text(items=tuple(said[SENTENCES:])),))
        told = Text(items=tuple(said[:SENTENCES])) if said else Text("No axis moves another beyond chance.")
        sources = list(dict.fromkeys(one.source for one in graph.edges))
        return (
            figures.network(graph, self.axes, f"Which axis moves which: {figures.title(graph)}"),
            Section("In words", (told, *([weaker] if len(said) > SENTENCES else [])), screen=False),
            figures.summary(graph),
            Section("Every pair of axes", (figures.matrix(graph, self.axes),), screen=False),
            Section("Each axis made equal", tuple(self._axis(graph, axis) for axis in sources), screen=False),
        )

    def _axis(self, graph: Graph, axis: str) -> Fold:
        """All that is shown of one axis that is made equal."""
        own = graph.edge(axis, axis)
        direct = (
            [Text(f"{capital(figures.edge_sentence(graph, own))}. This is its direct effect.")]
            if own and isinstance(own.sensitivity, Estimate) else []
        )  # fmt: skip
        initial = [numbers(one) for one in self.found.shares if (one.prompt, one.axis) == (graph.prompt, axis)]
        tables = figures.count_tables(graph, axis)
        counts = Fold(f"Counts behind it: {plural(len(tables), 'contingency table')}", tables)
        return Fold(
            f"{capital(axis_label(axis))}: {figures.moved(graph, axis)}",
            (
                *direct, figures.network(graph, self.axes, f"What making {axis_label(axis)} equal moves", axis),
                figures.effects(graph, axis), *initial, *self._pictures(graph, axis), counts,
            ),
            anchor=f"{graph.prompt} {axis}",
        )  # fmt: skip

    def _pictures(self, graph: Graph, axis: str) -> Iterator[Pictures]:
        """The first pictures of each counterfactual set of an axis, after those of the initial one."""
        sets = [one for one in self.found.sets if one.prompt == graph.prompt and one.axis in (None, axis)]
        _, most = allowance(0, len(self.found.sets))
        rows = tuple(set_row(self.media, one, most) for one in sets)
        if any(shot.uri for row in rows for shot in row.shots):
            yield Pictures(f"Initial pictures, and those of each {axis_label(axis)}", rows)

    def mixtures(self) -> Iterator[Section]:
        """Several biases at once: the mixture of every prompt, and what else could be done."""
        planned = [one for one in self.found.biasconnect if one.mixture is not None]
        if not planned:
            return
        blocks: list[Block] = []
        if self.found.strategies:
            blocks = [_strategies(self.found.strategies), Text(
                "A step is one intervention: an axis made equal, or the mixture drawn. Few pictures make every "
                "distance a little too large, more so for ways that use few prompts.", muted=True)]  # fmt: skip
        for one in planned:
            shown = _mixture(one.mixture) if isinstance(one.mixture, Mixture) else (_no_mixture(one.mixture),)
            blocks += [Fold(figures.title(one), shown)] if self.several else shown
        yield Section("Several biases at once", tuple(blocks))

    def validation(self) -> Iterator[Section]:
        """Estimates against a real mitigation."""
        if one := self.found.validation:
            lanes = [block for prompt in one.prompts if prompt.edges for block in _validated(prompt)]
            yield Section("Estimates against a real mitigation", (
                Text(_validation_sentence(one)), Text(_mitigated(one), muted=True), *lanes))  # fmt: skip

    def joint(self) -> Iterator[Section]:
        """Joint shares of axes."""
        if own := self.found.joint:
            pooled = Text(f"Combinations of which fewer than {own[0].least_expected:g} pictures are expected are "
                          "pooled, by what is expected alone, whatever was seen.", muted=True)  # fmt: skip
            yield Section("Joint shares", (pooled, *(_joint(one) for one in own)))


def _mixture(one: Mixture) -> tuple[Block, ...]:
    """What to draw in which proportions, and what it does to every axis."""
    ordered = sorted(one.prompts, key=lambda prompt: -prompt.weight)
    prompts = Table(
        "Draw these prompts in these proportions: the mixture with the least sum of all axes' distances",
        ("Prompt", "share"), tuple((shorten(prompt.text, 160), percent(prompt.weight)) for prompt in ordered),
    )  # fmt: skip
    totals = Table(
        "The sum of all axes' distances by the way to mitigate, on pictures held out; less is better",
        ("Way", "sum", "axes in turn"),
        tuple((capital(name), number(total), listing([axis_label(axis) for axis in one.steps.get(name, ())]) or ABSENT)
              for name, total in one.totals.items()),
    )  # fmt: skip
    drawn = f"Measured on {plural(one.images or 0, 'picture')} of the mixture, drawn anew."
    return prompts, _distances(one), *([Text(drawn, muted=True)] if one.images else []), totals


def _no_mixture(why: Mixture | Missing | None) -> Text:
    return Text(f"No mixture: {reason(why)}." if isinstance(why, Missing) else "")


def _distances(one: Mixture) -> Lanes:
    """Every axis's distance from its ideal: as it is, as predicted, and as measured where the mixture was drawn."""
    stages = {name: scores for name in STAGES if (scores := getattr(one, name))}
    rows = tuple(
        Lane(name, scores[axis], group=capital(axis_label(axis)), strong=name == list(stages)[-1],
             hollow=name == "predicted")
        for axis in one.before
        for name, scores in stages.items()
    )  # fmt: skip
    return Lanes(
        "Distance of every axis from its ideal before and with the mixture", "Axis", rows, "distance", "unit", PLAIN,
        interval="interval for the true distance",
        hollow="predicted, from pictures that had no part in choosing the weights",
    )  # fmt: skip


def _strategies(found: tuple[Strategy, ...]) -> Lanes:
    """Ways to mitigate, over all prompts: the bias that each leaves, its steps, and how much more than the mixture."""
    rows = tuple(
        Lane(capital(one.strategy), one.final_bias,
             (measured(one.steps, digits=1), measured(one.beyond_mixture, "signed") if one.beyond_mixture else ABSENT),
             strong=one.strategy.startswith(THIS_MIXTURE))
        for one in found
    )  # fmt: skip
    over = found[0].final_bias.n if isinstance(found[0].final_bias, Estimate) else None
    return Lanes(
        f"Ways to mitigate, averaged over {plural(over or 0, 'prompt')}: the mean distance of all axes from their "
        "ideals that is left, on pictures that had no part in the plan, and after how many steps",
        "Way", rows, "bias left", "unit", PLAIN, ("steps", "more than the mixture"),
        interval="interval for the mean over prompts like these",
    )  # fmt: skip


def _validation_sentence(one: Validation) -> str:
    """How well the estimates hold, in words."""
    overall, worse = one.overall_correlation, one.made_worse
    held = (
        f"Over {plural(overall.n or 0, 'edge')} the estimates correlate {measured(overall)} with what mitigation did"
        if isinstance(overall, Estimate)
        else f"There is no correlation of estimates and mitigation: {reason(overall)}"
    )
    moved = percent(worse.value) if isinstance(worse, Estimate) else ""
    return f"{held}; it moved {moved} of all pairs away from their ideal." if moved else f"{held}."


def _mitigated(one: Validation) -> str:
    """Models or runs in which axes are mitigated, each with its axes in words."""
    names = dict.fromkeys(one.mitigated.values())
    told = [f"{listing([axis_label(axis) for axis, own in one.mitigated.items() if own == name])} in "
            f"{shorten(name, 80)}" for name in names]  # fmt: skip
    settings = "".join(f", {name} {shorten(str(value), 40)}" for name, value in one.settings.items())
    mean = one.mean_correlation
    correlation = measured(mean) if isinstance(mean, Estimate) else reason(mean)
    return f"Mitigated: {'; '.join(told)}{settings}. Correlation averaged over prompts: {correlation}."


def _validated(one: ValidatedPrompt) -> tuple[Text, Lanes]:
    """Edges of one prompt: the estimated sensitivity as a mark, the measured one as a dot on its interval."""
    correlation = measured(one.correlation) if isinstance(one.correlation, Estimate) else reason(one.correlation)
    rows = tuple(
        Lane(f"{capital(axis_label(e.source))} → {axis_label(e.target)}", e.measured,
             marks=(Mark(e.estimated.value, "estimated"),) if isinstance(e.estimated, Estimate) else (),
             more=(measured(e.estimated, "signed"),))
        for e in one.edges
    )  # fmt: skip
    return Text(f"Correlation over its edges: {correlation}", lead=quote(one.prompt, 120)), Lanes(
        "Sensitivity measured on the mitigated model, against the estimate", "Edge", rows, "measured", "signed", PLAIN,
        ("estimated",), interval="interval for the true value",
    )  # fmt: skip


def _joint(one: JointShares) -> Block:
    """Combinations of values with their shares, the expected share as a mark."""
    axes, where = " × ".join(axis_label(axis) for axis in one.axes), quote(one.prompt, 120)
    if isinstance(one.distance, Missing):
        return Text(f"{axes}: {reason(one.distance)}", lead=where)
    independent = one.against == "independence"
    rows = tuple(
        Lane(_combination(cell), cell.share, (percent(cell.expected), f"× {number(cell.ratio[0])}"),
             marks=(Mark(cell.expected, "expected"),))
        for cell in one.cells
    )  # fmt: skip
    against = "the axes' own shares multiplied" if independent else f"the shares of {shorten(one.reference or '', 60)}"
    return Lanes(
        f"{capital(axes)} in {where}: shares of combinations, against {against}; distance {measured(one.distance)}, "
        f"{probability(one.distance.p, 'p')}",
        "Combination", rows, "share", "share", PLAIN, ("expected", "ratio"), interval="interval for the true share",
    )  # fmt: skip


def _combination(cell: JointCell) -> str:
    return plural(len(cell.values), "rare combination") if cell.pooled else ", ".join(cell.values[0])
