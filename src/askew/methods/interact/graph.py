"""BiasConnect (Chinchure et al., 2025): how equalising one axis of bias moves the others.

The counterfactual sets of an axis, taken together, stand for its mitigation. Of every pair, an axis
with itself too, contingency tables say whether the second depends on the first (section 3.3),
Intersectional Sensitivity whether it is nearer to its ideal then (3.4). Sensitivities are corrected
for known errors of the instrument; tables are not.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.measure.concepts import concept_counts, merge_synonyms
from askew.methods.interact.findings import CountRow, Edge, EdgeOverPrompts, Graph, GraphAxis
from askew.methods.interact.findings import Counts as Recorded
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.stats import interaction_graph, intervals
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.distance import distance_for, normalised, sensitivity
from askew.stats.interaction_graph import AxisPair, busiest, q_values
from askew.stats.sensitivity import AxisPairSample, debiased_value, interactions, null_sizes
from askew.types import Estimate, Missing

LEAST_FREQUENCY = 0.01
"""Concepts of open answers that are rarer than this, over all picture sets, are left out."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Counts of one prompt, or of several.

    initial  by target: (prompts, m) counts of the initial pictures' answers
    after    by source and target: (prompts, K, m) counts of the answers in each counterfactual set of the source
    missing  by target: pictures of all sets without an answer
    """

    axes: tuple[GraphAxis, ...]
    initial: Mapping[str, Counts]
    after: Mapping[AxisPair, Counts]
    missing: Mapping[str, int]

    def pairs(self) -> list[AxisPair]:
        """Every pair of an intervened axis and a target; an axis on itself too."""
        return [
            (x.name, y.name) for x in self.axes for y in self.axes if (x.name, y.name) in self.after
        ]

    def contingency(self, source: str, target: str) -> Counts:
        """(K, m): a row per value of the source, a column per value of the target, over all
        prompts.
        """
        return np.asarray(self.after[source, target].sum(axis=0))

    def pair(self, source: str, target: str) -> AxisPairSample:
        """What is known of a pair of axes. Of several prompts, those count that have answers in
        every set.
        """
        axis = next(axis for axis in self.axes if axis.name == target)
        initial = self.initial[target]
        after = self.after[source, target]
        answered = (initial.sum(axis=1) > 0) & np.all(after.sum(axis=2) > 0, axis=1)
        kept = answered if answered.any() else np.ones_like(answered)
        return AxisPairSample(
            initial[kept],
            np.concatenate(after[kept]),
            axis.reference,
            axis.distance,
            self.missing[target],
            axis.known_errors,
            axis.reference_images,
        )


Counted = Mapping[str | None, GraphCounts]
"""By prompt, all together being None."""


def tables(
    sets: Sequence[ObservedSet],
    axes: Sequence[AxisPlan],
    instrument: str,
    known_errors: Mapping[str, Counts] | None = None,
    distance: str = "auto",
) -> GraphCounts:
    """The tables of one prompt; `sets` are its initial set and its counterfactual ones. The values
    of an axis with open answers are the concepts in them, its ideal is uniform over those.
    `known_errors` are the instrument's, by axis.
    """
    counted = [
        _counted(axis, sets, instrument, (known_errors or {}).get(axis.name), distance)
        for axis in axes
    ]
    own = {
        axis.name: [k for k, s in enumerate(sets) if s.prompt.axis == axis.name] for axis in axes
    }
    first = next((k for k, s in enumerate(sets) if s.prompt.axis is None), None)
    return GraphCounts(
        tuple(axis for axis, _ in counted),
        {} if first is None else {y.name: counts[None, first] for y, counts in counted},
        {
            (x, y.name): counts[None, at]
            for x, at in own.items()
            for y, counts in counted
            if len(at) > 1
        },
        {
            axis.name: sum(sum(s.missing(instrument, axis.axis()).values()) for s in sets)
            for axis in axes
        },
    )


def _counted(
    axis: AxisPlan,
    sets: Sequence[ObservedSet],
    instrument: str,
    errors: Counts | None,
    distance: str,
) -> tuple[GraphAxis, Counts]:
    """An axis and its counts (sets, m)."""
    options = tuple(str(s.prompt.value) for s in sets if s.prompt.axis == axis.name)
    values = axis.values
    scale = axis.scale
    known = None
    if values:
        counts = np.array([s.counts(instrument, axis.axis()) for s in sets], dtype=np.int64)
        if errors is not None and len(errors) == len(values):
            known = _rows(errors)
    else:
        answers = [
            [a for a in s.values[instrument][axis.name] if not isinstance(a, Missing)] for s in sets
        ]
        merged = merge_synonyms([concept_counts([[text] for text in some]) for some in answers])
        counts = np.array([(each.counts > 0).sum(axis=0) for each in merged], dtype=np.int64)
        kept = np.flatnonzero(counts.sum(axis=0) > LEAST_FREQUENCY * max(sum(map(len, answers)), 1))
        counts = counts[:, kept]
        values = tuple(merged[0].vocabulary[k] for k in kept)
        scale = "nominal"
    reference = (
        tuple(axis.reference[value] for value in values)
        if axis.reference
        else (1 / max(len(values), 1),) * len(values)
    )
    return GraphAxis(
        axis.name,
        values,
        options,
        scale,
        not axis.values,
        distance_for(distance, scale),
        reference,
        known,
        axis.reference_images,
    ), counts


def _rows(table: Counts) -> tuple[CountRow, ...]:
    return tuple(map(tuple, table.tolist()))


def pooled(parts: Sequence[GraphCounts]) -> GraphCounts:
    """The tables of several prompts together (appendix A.8), their ideals averaged. An axis counts
    where it was asked with the same values as at the first prompt that has it; concepts of open
    answers are joined.
    """
    same = defaultdict[str, list[GraphAxis]](list)
    for axis in (axis for part in parts for axis in part.axes):
        if axis.fits(same[axis.name][0] if same[axis.name] else axis):
            same[axis.name].append(axis)
    axes = {}
    for name, (first, *others) in same.items():
        if first.open:
            values = tuple(sorted({value for axis in (first, *others) for value in axis.values}))
            reference = (1 / max(len(values), 1),) * len(values)
        else:
            values = first.values
            reference = tuple(
                np.mean([axis.reference for axis in (first, *others)], axis=0).tolist()
            )
        pictures = sum(axis.reference_images or 0 for axis in (first, *others)) or None
        axes[name] = replace(first, values=values, reference=reference, reference_images=pictures)

    def spread(counts: Counts, own: GraphAxis) -> Counts:
        """Counts (..., m) over an axis's own values as counts over the values of all prompts."""
        joint = axes[own.name].values
        made = np.zeros((*counts.shape[:-1], len(joint)), dtype=np.int64)
        made[..., [joint.index(value) for value in own.values]] = counts
        return made

    initial = defaultdict[str, list[Counts]](list)
    after = defaultdict[AxisPair, list[Counts]](list)
    for part in parts:
        own = {axis.name: axis for axis in part.axes if axis.fits(axes[axis.name])}
        for y, counts in part.initial.items():
            if y in own:
                initial[y].append(spread(counts, own[y]))
        for (x, y), table in part.after.items():
            if x in own and y in own:
                after[x, y].append(spread(table, own[y]))
    return GraphCounts(
        tuple(axes.values()),
        {name: np.concatenate(some) for name, some in initial.items()},
        {pair: np.concatenate(some) for pair, some in after.items()},
        {name: sum(part.missing.get(name, 0) for part in parts) for name in axes},
    )


def graphs(counted: Counted, plan: InteractionPlan, scoring: Scoring) -> list[Graph]:
    """The graphs of several prompts, their samples drawn at once, which takes less than half the
    time.
    """
    found = edges(counted, plan, scoring, scoring.rng(scoring.instrument, "sensitivity"))
    asked = [
        (k, (one.source, one.target))
        for k, own in found.items()
        for one in own
        if isinstance(one.sensitivity, Estimate)
    ]
    rng = scoring.rng(scoring.instrument, "nothing happens")
    nulls = dict(
        zip(
            asked,
            null_sizes([counted[k].pair(*at) for k, at in asked], rng=rng, draws=scoring.draws),
            strict=True,
        )
    )
    made = []
    for prompt, own in found.items():
        tables = counted[prompt]
        between = [e for e in own if not e.direct]
        threshold, least = thresholds(tables, plan, prompt)
        after: dict[str, dict[str, tuple[CountRow, ...]]] = {}
        for source, target in tables.after:
            after.setdefault(source, {})[target] = _rows(tables.contingency(source, target))
        initial = {
            target: tuple(counts.sum(axis=0).tolist()) for target, counts in tables.initial.items()
        }
        effects = {
            (e.source, e.target): e.sensitivity
            for e in between
            if isinstance(e.sensitivity, Estimate)
        }
        made.append(
            Graph(
                scope="global" if prompt is None else "prompt",
                prompt=prompt,
                instrument=scoring.instrument,
                alpha=threshold,
                least_sensitivity=least,
                axes=tables.axes,
                edges=tuple(own),
                most_influenced=busiest((e.target, e.size) for e in between if e.significant),
                most_influential=busiest((e.source, e.size) for e in between if e.significant),
                amplification=interaction_graph.amplification(
                    effects, {at: nulls[prompt, at] for at in effects}
                ),
                negative_share=interaction_graph.negative_share([*effects.values()]),
                counts=Recorded(initial, after, dict(tables.missing)),
            )
        )
    return made


def edges(
    counted: Counted, plan: InteractionPlan, scoring: Scoring, rng: np.random.Generator
) -> dict[str | None, tuple[Edge, ...]]:
    """By prompt every pair of axes with its test and its sensitivity; edges by the thresholds of
    the paper's appendix. Sensitivities of all pairs of all prompts come from the same random draws.
    What an axis's own counterfactual prompts show of it depends on them by construction: those
    tests are in no family of q, and those sensitivities in their own.
    """
    asked = [(k, at) for k, tables in counted.items() for at in tables.pairs() if tables.initial]
    effects = dict(
        zip(
            asked,
            interactions(
                [counted[k].pair(*at) for k, at in asked], rng=rng, **scoring.interval_options
            ),
            strict=True,
        )
    )
    at_once = sum(isinstance(e, Estimate) and at[0] != at[1] for (_, at), e in effects.items())
    nothing = Missing("not_asked", "there are no pictures of the initial prompt")
    found = {}
    for prompt, tables in counted.items():
        threshold, least = thresholds(tables, plan, prompt)
        pairs = tables.pairs()
        rng = scoring.rng(prompt or "", scoring.instrument, "independence")
        tested = chi_squares(
            [tables.contingency(*one) for one in pairs], rng=rng, threshold=threshold
        )
        tests = dict(zip(pairs, tested, strict=True))
        own = {at: effects.get((prompt, at), nothing) for at in pairs}
        q = q_values(
            {at: t.p for at, t in tests.items() if isinstance(t, ChiSquare) and at[0] != at[1]}
        )
        known_p = {at: e.p for at, e in own.items() if isinstance(e, Estimate)}
        families = (
            {at: p for at, p in known_p.items() if (at[0] == at[1]) is direct}
            for direct in (False, True)
        )
        own_q = {at: one for family in families for at, one in q_values(family).items()}
        made = []
        for at, e in own.items():
            test = tests[at]
            plug_in = None
            as_read = None
            simultaneous = None
            if isinstance(e, Estimate):
                known = tables.pair(*at)
                e = replace(e, q=own_q.get(at))
                read = (
                    None
                    if known.confusion is None
                    else debiased_value(replace(known, confusion=None))
                )
                as_read = read if isinstance(read, float) else None
                before = np.sum(known.initial, axis=0)
                after = normalised(tables.contingency(*at)).mean(axis=0)
                plug_in = float(
                    sensitivity(before, after, known.reference, known.distance)
                )  # Eq. 4 as it stands
                low, high = intervals.simultaneous(e, at_once)
                simultaneous = max(low, -1.0), min(high, 1.0)
            dependent = isinstance(test, ChiSquare) and test.p < threshold
            strong = not least or (isinstance(e, Estimate) and abs(e.value) > least)
            told: dict[str, Any] = {
                name: getattr(test, name, None) for name in ("dof", "p", "draws", "cramers_v")
            }
            made.append(
                Edge(
                    *at,
                    **told,
                    chi2=getattr(test, "statistic", None),
                    q=q.get(at),
                    untested=test if isinstance(test, Missing) else None,
                    sensitivity=e,
                    simultaneous=simultaneous,
                    plug_in=plug_in,
                    as_read=as_read,
                    significant=dependent and strong,
                )
            )
        found[prompt] = tuple(made)
    return found


def thresholds(
    tables: GraphCounts, plan: InteractionPlan, prompt: str | None
) -> tuple[float, float]:
    """p below which an axis depends on another, and what |IS| must exceed (A.4: open answers; A.8:
    all prompts).
    """
    least = plan.least_sensitivity if prompt is None else 0.0
    if any(axis.open for axis in tables.axes):
        return plan.open_threshold, least
    return (plan.global_threshold if prompt is None else plan.alpha), least


def over_prompts(graphs: Sequence[Graph], level: float) -> tuple[EdgeOverPrompts, ...]:
    """Every pair of different axes over the graphs of single prompts: in how many it acts, which
    way, and whether they agree; none of one graph. The prompts' pictures are independent. The paper
    adds up the tables of all prompts (Eq. 9-11). Effects to opposite sides then cancel out.
    """
    own = [graph for graph in graphs if graph.prompt is not None]
    if len(own) < 2:
        return ()
    found = {}
    for at in dict.fromkeys(
        (e.source, e.target) for graph in own for e in graph.edges if not e.direct
    ):
        edges = [e for graph in own if (e := graph.edge(*at))]
        p = [one.p for one in edges if one.p is not None]
        known = [one.sensitivity for one in edges if isinstance(one.sensitivity, Estimate)]
        effects = [one.effect for one in edges]
        found[at] = EdgeOverPrompts(
            *at,
            len(p),
            sum(e.significant for e in edges),
            effects.count("better"),
            effects.count("worse"),
            mean=interaction_graph.mean_sensitivity(known, level=level),
            p=float(scipy.stats.combine_pvalues(p).pvalue) if p else None,
            q=None,
            differ_p=interaction_graph.heterogeneity(known),
            differ_q=None,
        )
    q, differ_q = (
        q_values({at: getattr(one, name) for at, one in found.items()})
        for name in ("p", "differ_p")
    )
    return tuple(replace(one, q=q.get(at), differ_q=differ_q.get(at)) for at, one in found.items())
