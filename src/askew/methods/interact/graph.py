"""BiasConnect (Chinchure et al., 2025): how equalising one axis of bias moves the others.

The counterfactual sets of an axis, taken together, stand for its mitigation. A contingency table of their answers
about another axis says whether that axis depends on it (section 3.3), and Intersectional Sensitivity whether it comes
nearer to its ideal (3.4). Both questions are answered for every pair, an axis with itself included.

Where the instrument's errors on an axis are known, sensitivities are corrected for them. The contingency tables are
tested as read: sets that differ in what is read differ in what is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from askew.measure.concepts import concept_counts, merge_synonyms
from askew.methods.interact.findings import Counts as Recorded
from askew.methods.interact.findings import Edge, Graph, GraphAxis, Row
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.stats import interaction_graph
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.distance import distance_for, normalised, sensitivity
from askew.stats.interaction_graph import AxisPair
from askew.stats.intervals import simultaneous
from askew.stats.sensitivity import Pair, debiased_value, interactions, null_sizes
from askew.types import Estimate, Missing, Scale

LEAST_FREQUENCY = 0.01
"""Concepts of open answers that are rarer than this, over all picture sets, are left out."""

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_ERRORS: Mapping[str, Counts] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CountedAxis:
    """An axis as a target, with the values that are seen on it, and as a source, with its counterfactual prompts.

    ideal         (m,) shares that the values should have, counted in so many `ideal_pictures`; exact if None
    open          whether the values are concepts of open answers
    known_errors  (m, m) the instrument's answers (columns) on pictures whose truth is known (rows), or None
    """

    name: str
    values: tuple[str, ...]
    counterfactuals: tuple[str, ...]
    scale: Scale
    ideal: Floats
    open: bool = False
    known_errors: Counts | None = None
    ideal_pictures: int | None = None

    def fits(self, other: CountedAxis) -> bool:
        """Whether the counts of both can be added up."""
        same_values = (self.open and other.open) or self.values == other.values
        return same_values and self.counterfactuals == other.counterfactuals


@dataclass(frozen=True, slots=True)
class Tables:
    """Counts of one prompt, or of several.

    initial  by target: (prompts, m) counts of the initial pictures' answers
    after    by source and target: (prompts, K, m) counts of the answers in each counterfactual set of the source
    missing  by target: pictures of all sets without an answer
    """

    axes: tuple[CountedAxis, ...]
    initial: Mapping[str, Counts]
    after: Mapping[AxisPair, Counts]
    missing: Mapping[str, int]

    def pairs(self) -> list[AxisPair]:
        """Every pair of an intervened axis and a target; an axis on itself too."""
        return [(x.name, y.name) for x in self.axes for y in self.axes if (x.name, y.name) in self.after]

    def contingency(self, source: str, target: str) -> Counts:
        """(K, m): a row per value of the source, a column per value of the target, over all prompts."""
        return np.asarray(self.after[source, target].sum(axis=0))


Counted = Mapping[str | None, Tables]
"""By prompt, all together being None."""


def tables(
    sets: Sequence[ObservedSet],
    axes: Sequence[AxisPlan],
    instrument: str,
    known_errors: Mapping[str, Counts] = NO_ERRORS,
) -> Tables:
    """The tables of one prompt; `sets` are its initial set and its counterfactual ones.

    The values of an axis with open answers are the concepts in them, its ideal is uniform over those. `known_errors`
    are the instrument's, by axis.
    """
    counted = [_count(axis, sets, instrument, known_errors.get(axis.name)) for axis in axes]
    own = {axis.name: [k for k, s in enumerate(sets) if s.prompt.axis == axis.name] for axis in axes}
    first = next((k for k, s in enumerate(sets) if s.prompt.axis is None), None)
    return Tables(
        tuple(axis for axis, _ in counted),
        {} if first is None else {y.name: counts[None, first] for y, counts in counted},
        {(x, y.name): counts[None, at] for x, at in own.items() for y, counts in counted if len(at) > 1},
        {axis.name: sum(sum(s.missing(instrument, axis.axis()).values()) for s in sets) for axis in axes},
    )


def _count(
    axis: AxisPlan, sets: Sequence[ObservedSet], instrument: str, errors: Counts | None
) -> tuple[CountedAxis, Counts]:
    """An axis and its counts (sets, m)."""
    options = tuple(str(s.prompt.value) for s in sets if s.prompt.axis == axis.name)
    if axis.values:
        counts = np.array([s.counts(instrument, axis.axis()) for s in sets], dtype=np.int64)
        known = errors if errors is not None and len(errors) == len(axis.values) else None
        made = CountedAxis(axis.name, axis.values, options, axis.scale, ideal(axis), False, known, axis.ideal_pictures)
        return made, counts
    told = [[a for a in s.values[instrument][axis.name] if not isinstance(a, Missing)] for s in sets]
    values, counts = _concepts(told)
    return CountedAxis(axis.name, values, options, "nominal", _uniform(values), open=True), counts


def ideal(axis: AxisPlan) -> Floats:
    """(m,) shares that the values of an axis should have: uniform unless its plan says otherwise."""
    return np.array([axis.ideal[value] for value in axis.values]) if axis.ideal else _uniform(axis.values)


def _uniform(values: Sequence[str]) -> Floats:
    return np.full(len(values), 1 / max(len(values), 1))


def _concepts(answers: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], Counts]:
    """Concepts that are not rare, and in how many pictures of each set (sets, concepts) they are named."""
    merged = merge_synonyms([concept_counts([[text] for text in some]) for some in answers])
    counts = np.array([(each.counts > 0).sum(axis=0) for each in merged], dtype=np.int64)
    kept = np.flatnonzero(counts.sum(axis=0) > LEAST_FREQUENCY * max(sum(map(len, answers)), 1))
    return tuple(merged[0].vocabulary[k] for k in kept), counts[:, kept]


def pooled(parts: Sequence[Tables]) -> Tables:
    """The tables of several prompts together (appendix A.8), their ideals averaged.

    An axis counts where it was asked with the same values as at the first prompt that has it; concepts of open
    answers are joined.
    """
    found: dict[str, list[CountedAxis]] = {}
    for axis in (axis for part in parts for axis in part.axes):
        if axis.name not in found or axis.fits(found[axis.name][0]):
            found.setdefault(axis.name, []).append(axis)
    axes = {name: _joined(same) for name, same in found.items()}
    initial: dict[str, list[Counts]] = {}
    after: dict[AxisPair, list[Counts]] = {}
    for part in parts:
        own = {axis.name: axis for axis in part.axes if axis.fits(axes[axis.name])}
        for name in (name for name in part.initial if name in own):
            initial.setdefault(name, []).append(_spread(part.initial[name], own[name], axes[name]))
        for (x, y), table in part.after.items():
            if x in own and y in own:
                after.setdefault((x, y), []).append(_spread(table, own[y], axes[y]))
    return Tables(
        tuple(axes.values()),
        {name: np.concatenate(some) for name, some in initial.items()},
        {pair: np.concatenate(some) for pair, some in after.items()},
        {name: sum(part.missing.get(name, 0) for part in parts) for name in axes},
    )


def _joined(same: Sequence[CountedAxis]) -> CountedAxis:
    """One axis of several prompts."""
    first = same[0]
    if not first.open:
        counted = [axis.ideal_pictures for axis in same if axis.ideal_pictures]
        return replace(first, ideal=np.mean([axis.ideal for axis in same], axis=0), ideal_pictures=sum(counted) or None)
    values = tuple(sorted({value for axis in same for value in axis.values}))
    return replace(first, values=values, ideal=_uniform(values))


def _spread(counts: Counts, own: CountedAxis, joint: CountedAxis) -> Counts:
    """Counts (..., m) over an axis's own values as counts over the values of all prompts."""
    spread = np.zeros((*counts.shape[:-1], len(joint.values)), dtype=np.int64)
    spread[..., [joint.values.index(value) for value in own.values]] = counts
    return spread


def recorded_tables(graph: Graph) -> Tables:
    """The tables of one prompt, from its graph."""
    counts = graph.counts
    axes = (
        CountedAxis(a.name, a.values, a.counterfactuals, a.scale, np.array(a.ideal, dtype=float), a.open,
                    None if a.known_errors is None else np.array(a.known_errors, dtype=np.int64), a.ideal_pictures)
        for a in graph.axes
    )  # fmt: skip
    return Tables(
        tuple(axes),
        {y: np.array([row], dtype=np.int64) for y, row in counts.initial.items()},
        {(x, y): np.array([table], dtype=np.int64) for x, own in counts.after.items() for y, table in own.items()},
        counts.missing,
    )


def graphs(counted: Counted, plan: InteractionPlan, scoring: Scoring) -> list[Graph]:
    """The graphs of several prompts, the same as one by one.

    Samples are drawn for all of them at once, which takes less than half the time.
    """
    found = edges(counted, plan, scoring)
    asked = [
        (k, (one.source, one.target))
        for k, own in found.items()
        for one in own
        if isinstance(one.sensitivity, Estimate)
    ]
    rng = scoring.rng(scoring.instrument, "nothing happens")
    nulls = null_sizes([pair(counted[k], plan, *at) for k, at in asked], rng=rng, draws=scoring.draws)
    sizes: dict[str | None, dict[AxisPair, Floats]] = {prompt: {} for prompt in counted}
    for (prompt, at), null in zip(asked, nulls, strict=True):
        if not isinstance(null, Missing):
            sizes[prompt][at] = null
    return with_simultaneous(
        [_graph(prompt, found[prompt], sizes[prompt], counted[prompt], plan, scoring) for prompt in counted]
    )


def with_simultaneous(graphs: Sequence[Graph]) -> list[Graph]:
    """The graphs with intervals that hold at once for all pairs of different axes in them."""
    between = [one.sensitivity for graph in graphs for one in graph.edges if not one.direct]
    tests = sum(isinstance(e, Estimate) for e in between)

    def told(one: Edge) -> Edge:
        if isinstance(one.sensitivity, Missing):
            return one
        low, high = simultaneous(one.sensitivity, tests)
        return replace(one, simultaneous=(max(low, -1.0), min(high, 1.0)))

    return [replace(graph, edges=tuple(map(told, graph.edges))) for graph in graphs]


def edges(
    counted: Counted, plan: InteractionPlan, scoring: Scoring
) -> dict[str | None, tuple[interaction_graph.Edge, ...]]:
    """By prompt every pair of axes with its test and its sensitivity, by the thresholds of the paper's appendix.

    Sensitivities of all pairs of all prompts come from the same random draws.
    """
    asked = [(k, at) for k, tables in counted.items() for at in tables.pairs() if tables.initial]
    rng, pairs = scoring.rng(scoring.instrument, "sensitivity"), [pair(counted[k], plan, *at) for k, at in asked]
    effects = dict(zip(asked, interactions(pairs, rng=rng, **scoring.how), strict=True))
    nothing = Missing("not_asked", "there are no pictures of the initial prompt")
    found = {}
    for prompt, tables in counted.items():
        threshold, least = thresholds(tables, plan, prompt)
        tested = tests(tables, plan, scoring, prompt)
        own = {at: effects.get((prompt, at), nothing) for at in tested}
        found[prompt] = interaction_graph.edges(tested, own, threshold=threshold, least_sensitivity=least)
    return found


def tests(
    tables: Tables, plan: InteractionPlan, scoring: Scoring, prompt: str | None
) -> dict[AxisPair, ChiSquare | Missing]:
    """Does the target change with the counterfactual prompts of the source? By every pair of axes."""
    pairs = tables.pairs()
    rng = scoring.rng(prompt or "", scoring.instrument, "independence")
    threshold, _ = thresholds(tables, plan, prompt)
    found = chi_squares([tables.contingency(*one) for one in pairs], rng=rng, threshold=threshold)
    return dict(zip(pairs, found, strict=True))


def pair(tables: Tables, plan: InteractionPlan, source: str, target: str) -> Pair:
    """What is known of a pair of axes. Of several prompts, those count that have answers in every set."""
    axis = next(axis for axis in tables.axes if axis.name == target)
    initial, after = tables.initial[target], tables.after[source, target]
    answered = (initial.sum(axis=1) > 0) & np.all(after.sum(axis=2) > 0, axis=1)
    kept = answered if answered.any() else np.ones_like(answered)
    distance = distance_for(plan.distance, axis.scale)
    sets = after[kept].reshape(-1, after.shape[2])
    lost = tables.missing[target]
    return Pair(initial[kept], sets, axis.ideal, distance, lost, axis.known_errors, axis.ideal_pictures)


def thresholds(tables: Tables, plan: InteractionPlan, prompt: str | None) -> tuple[float, float]:
    """p below which an axis depends on another, and what |IS| must exceed (A.4: open answers; A.8: all prompts)."""
    least = plan.least_sensitivity if prompt is None else 0.0
    if any(axis.open for axis in tables.axes):
        return plan.open_threshold, least
    return (plan.global_threshold if prompt is None else plan.threshold), least


def _graph(
    prompt: str | None, found: Sequence[interaction_graph.Edge], nulls: Mapping[AxisPair, Floats], tables: Tables,
    plan: InteractionPlan, scoring: Scoring,
) -> Graph:  # fmt: skip
    axes = (
        GraphAxis(axis.name, axis.values, axis.counterfactuals, axis.scale, axis.open,
                  distance_for(plan.distance, axis.scale), tuple(axis.ideal.tolist()),
                  None if axis.known_errors is None else _rows(axis.known_errors), axis.ideal_pictures)
        for axis in tables.axes
    )  # fmt: skip
    after: dict[str, dict[str, tuple[Row, ...]]] = {}
    for source, target in tables.after:
        after.setdefault(source, {})[target] = _rows(tables.contingency(source, target))
    initial = {target: tuple(counts.sum(axis=0).tolist()) for target, counts in tables.initial.items()}
    threshold, least = thresholds(tables, plan, prompt)
    return Graph(
        scope="global" if prompt is None else "prompt",
        prompt=prompt,
        instrument=scoring.instrument,
        threshold=threshold,
        least_sensitivity=least,
        axes=tuple(axes),
        edges=tuple(_edge(edge, tables, plan) for edge in found),
        most_influenced=interaction_graph.most_influenced(found),
        most_influential=interaction_graph.most_influential(found),
        amplification=interaction_graph.amplification(found, nulls),
        negative_share=interaction_graph.negative_share(found),
        counts=Recorded(initial, after, dict(tables.missing)),
    )


def _rows(table: Counts) -> tuple[Row, ...]:
    return tuple(tuple(row) for row in table.tolist())


def _edge(found: interaction_graph.Edge, tables: Tables, plan: InteractionPlan) -> Edge:
    """A pair as it stands in findings, with the paper's plain sensitivity, and that without a correction for errors."""
    test, as_read, plug_in = found.test, None, None
    if isinstance(found.sensitivity, Estimate):
        known, table = pair(tables, plan, found.source, found.target), tables.contingency(found.source, found.target)
        as_read = None if known.confusion is None else debiased_value(replace(known, confusion=None))
        before, after = np.atleast_2d(known.initial).sum(axis=0), normalised(table).mean(axis=0)
        plug_in = float(sensitivity(before, after, known.ideal, known.distance))
    edge = Edge(found.source, found.target, None, None, None, None, None, None, found.q, found.sensitivity, None,
                plug_in, as_read if isinstance(as_read, float) else None, found.significant)  # fmt: skip
    if isinstance(test, Missing):
        return replace(edge, untested=test)
    return replace(edge, chi2=test.statistic, dof=test.dof, p=test.p, draws=test.draws, cramers_v=test.cramers_v)
