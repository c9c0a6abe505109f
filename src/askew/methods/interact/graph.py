"""BiasConnect (Chinchure et al., 2025): how equalising one axis of bias moves the others.

The counterfactual sets of an axis, taken together, stand for its mitigation. A contingency table of their answers
about another axis says whether that axis depends on it (section 3.3), and Intersectional Sensitivity whether it comes
nearer to its ideal (3.4). Both questions are answered for every pair, an axis with itself included.

Where the instrument's errors on an axis are known, sensitivities are corrected for them. The contingency tables are
tested as read: sets that differ in what is read differ in what is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from askew.methods.interact.findings import Edge, Graph, GraphAxis
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.tables import Tables, as_recorded, rows
from askew.parts.scoring import Scoring
from askew.stats import interaction_graph
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.distance import distance_for
from askew.stats.interaction_graph import AxisPair
from askew.stats.sensitivity import Pair, debiased_value, interactions, null_sizes
from askew.types import Estimate, Missing

NOTHING_INITIAL = Missing("not_asked", "there are no pictures of the initial prompt")

Counted = Mapping[str | None, Tables]
"""By prompt, all together being None."""


def graphs(counted: Counted, plan: InteractionPlan, scoring: Scoring) -> list[Graph]:
    """The graphs of several prompts, the same as one by one.

    Samples are drawn for all of them at once, which takes less than half the time.
    """
    found = edges(counted, plan, scoring)
    known = [(k, edge) for k, graph in found.items() for edge in graph if isinstance(edge.sensitivity, Estimate)]
    asked = [(k, edge.source, edge.target) for k, edge in known]
    rng = scoring.rng(scoring.instrument, "nothing happens")
    nulls = null_sizes([pair(counted[k], plan, x, y) for k, x, y in asked], rng=rng, draws=scoring.draws)
    sizes: dict[str | None, dict[AxisPair, float]] = {prompt: {} for prompt in counted}
    for (prompt, source, target), null in zip(asked, nulls, strict=True):
        if isinstance(null, float):
            sizes[prompt][source, target] = null
    return [_graph(prompt, found[prompt], sizes[prompt], counted[prompt], plan, scoring) for prompt in counted]


def edges(
    counted: Counted, plan: InteractionPlan, scoring: Scoring
) -> dict[str | None, tuple[interaction_graph.Edge, ...]]:
    """By prompt every pair of axes with its test and its sensitivity, by the thresholds of the paper's appendix."""
    effects = _sensitivities(counted, plan, scoring)
    found = {}
    for prompt, tables in counted.items():
        threshold, least = thresholds(tables, plan, prompt)
        tested = tests(tables, plan, scoring, prompt)
        found[prompt] = interaction_graph.edges(tested, effects[prompt], threshold=threshold, least_sensitivity=least)
    return found


def tests(
    tables: Tables, plan: InteractionPlan, scoring: Scoring, prompt: str | None
) -> dict[AxisPair, ChiSquare | Missing]:
    """Does the target change with the counterfactual prompts of the source? By every pair of axes."""
    pairs = [(x.name, y.name) for x, y in tables.pairs()]
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
    return Pair(initial[kept], sets, axis.ideal, distance, tables.missing[target], axis.known_errors)


def thresholds(tables: Tables, plan: InteractionPlan, prompt: str | None) -> tuple[float, float]:
    """p below which an axis depends on another, and what |IS| must exceed (A.4: open answers; A.8: all prompts)."""
    least = plan.least_sensitivity if prompt is None else 0.0
    if any(axis.open for axis in tables.axes):
        return plan.open_threshold, least
    return (plan.global_threshold if prompt is None else plan.threshold), least


def _sensitivities(
    counted: Counted, plan: InteractionPlan, scoring: Scoring
) -> dict[str | None, dict[AxisPair, Estimate | Missing]]:
    """Of all pairs of all prompts, from the same random draws."""
    asked = [(k, x.name, y.name) for k, tables in counted.items() for x, y in tables.pairs() if tables.initial]
    rng = scoring.rng(scoring.instrument, "sensitivity")
    pairs = [pair(counted[k], plan, x, y) for k, x, y in asked]
    found: dict[str | None, dict[AxisPair, Estimate | Missing]] = {
        prompt: {(x.name, y.name): NOTHING_INITIAL for x, y in tables.pairs()} for prompt, tables in counted.items()
    }
    estimates = interactions(pairs, rng=rng, level=scoring.level, draws=scoring.draws)
    for (prompt, source, target), estimate in zip(asked, estimates, strict=True):
        found[prompt][source, target] = estimate
    return found


def _graph(
    prompt: str | None, found: Sequence[interaction_graph.Edge], nulls: Mapping[AxisPair, float], tables: Tables,
    plan: InteractionPlan, scoring: Scoring,
) -> Graph:  # fmt: skip
    axes = (
        GraphAxis(axis.name, axis.values, axis.counterfactuals, axis.scale, axis.open,
                  distance_for(plan.distance, axis.scale), tuple(axis.ideal.tolist()),
                  None if axis.known_errors is None else rows(axis.known_errors))
        for axis in tables.axes
    )  # fmt: skip
    return Graph(
        scope="global" if prompt is None else "prompt",
        prompt=prompt,
        instrument=scoring.instrument,
        axes=tuple(axes),
        edges=tuple(_edge(edge, tables, plan) for edge in found),
        most_influenced=interaction_graph.most_influenced(found),
        most_influential=interaction_graph.most_influential(found),
        amplification=interaction_graph.amplification(found, nulls),
        negative_share=interaction_graph.negative_share(found),
        mixture=None,
        counts=as_recorded(tables),
    )


def _edge(found: interaction_graph.Edge, tables: Tables, plan: InteractionPlan) -> Edge:
    test = None if isinstance(found.test, Missing) else found.test
    return Edge(
        source=found.source,
        target=found.target,
        chi2=test.statistic if test else None,
        dof=test.dof if test else None,
        p=test.p if test else None,
        draws=test.draws if test else None,
        cramers_v=test.cramers_v if test else None,
        untested=found.test if isinstance(found.test, Missing) else None,
        q=found.q,
        sensitivity=found.sensitivity,
        as_read=_as_read(found, tables, plan),
        significant=found.significant,
    )


def _as_read(edge: interaction_graph.Edge, tables: Tables, plan: InteractionPlan) -> float | None:
    """The sensitivity if the instrument did not err, where it was corrected for errors."""
    if isinstance(edge.sensitivity, Missing):
        return None
    known = pair(tables, plan, edge.source, edge.target)
    found = None if known.confusion is None else debiased_value(replace(known, confusion=None))
    return found if isinstance(found, float) else None
