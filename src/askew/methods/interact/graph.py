"""Build graphs of how bias axes affect each other (BiasConnect, Chinchure et al., 2025).

The counterfactual sets of an axis, taken together, represent a model in which that axis is uniform.
For every ordered pair of axes, including an axis with itself, this module answers two questions:

1. Does the target axis depend on the source axis? This is decided by Pearson's chi-squared test on
   a table with one row per counterfactual set and one column per answer (section 3.3).
2. Does the target come closer to its reference if the source is made uniform? Intersectional
   Sensitivity measures how much closer it comes (section 3.4, `askew.stats.sensitivity`).

`edges` tests and measures all pairs, `graphs` summarizes the pairs of each prompt, and
`over_prompts` summarizes each pair over several prompts. Sensitivities are corrected for known
labeling errors of the instrument. Contingency tables are not corrected.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from askew.methods.interact.counts import GraphCounts, count_rows
from askew.methods.interact.findings import (
    CountRow,
    Edge,
    EdgeOverPrompts,
    Graph,
    RecordedCounts,
)
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.stats import interaction_graph
from askew.stats.contingency import ChiSquare, chi_squares, chi_squares_together
from askew.stats.distance import normalised, sensitivity
from askew.stats.distributions import combined_p
from askew.stats.interaction_graph import AxisPair, busiest, q_values
from askew.stats.intervals import simultaneous
from askew.stats.sensitivity import (
    debiased_value,
    debiased_values,
    interactions,
    least_possible,
    null_sizes,
)
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, Missing

NO_BASELINE = Missing("not_asked", "the prompt itself has no images")

FEW_DRAWS = 99
"""Initial number of permutations for a test whose p-value is not reported.

They suffice for most pairs.
"""

Sensitivities = Mapping[AxisPair, Estimate | Missing]
Tests = Mapping[AxisPair, ChiSquare | Missing]

CountsByPrompt = Mapping[str | None, GraphCounts]
"""Counts, keyed by prompt. The key None stands for all prompts together."""


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """Rule that decides whether a pair of axes is an edge of a graph.

    Attributes
    ----------
    name : "q" or "paper"
        Quantity that is compared with `alpha`: q ("q"), or the p of the chi-squared test ("paper").
        The effect of an axis on itself has no q, so p is used instead.
    alpha : float
        Level in (0, 1). The target is considered dependent on the source if q or p is below this
        level.
    least_sensitivity : float
        Value that |IS| must exceed for the pair to be an edge; 0 for no minimum.
    """

    name: Literal["q", "paper"]
    alpha: float
    least_sensitivity: float


def edge_rule(counts: GraphCounts, plan: InteractionPlan, prompt: str | None) -> EdgeRule:
    """Return the rule that decides which pairs are edges of a graph.

    In the paper, axes with open answers have a different alpha (appendix A.4). The graph of all
    prompts together uses a third alpha and a minimum |IS| (appendix A.8).
    """
    if plan.edge_rule == "q":
        return EdgeRule(name="q", alpha=SIGNIFICANCE_LEVEL, least_sensitivity=0.0)
    least_sensitivity = plan.least_sensitivity if prompt is None else 0.0
    alpha = plan.global_threshold if prompt is None else plan.alpha
    if any(axis.open for axis in counts.axes):
        alpha = plan.open_threshold
    return EdgeRule(name="paper", alpha=alpha, least_sensitivity=least_sensitivity)


def edges(
    counted: CountsByPrompt, plan: InteractionPlan, scoring: Scoring, rng: np.random.Generator
) -> dict[str | None, tuple[Edge, ...]]:
    """Test every pair of axes for every prompt, and estimate the sensitivities.

    The sensitivities of all prompts are computed from the same random draws, which more than halves
    the computing time. An axis affects itself by construction, because its counterfactual sets
    differ on this axis. The test of this effect is therefore excluded from the correction for q,
    and the sensitivities of such effects are corrected separately.

    Parameters
    ----------
    counted
        Counts, keyed by prompt.
    plan
        Plan of the run, which contains the rules for edges.
    scoring
        Instrument, seed, number of draws and confidence level.
    rng
        Random generator for the sensitivities.

    Returns
    -------
    dict of str or None to tuple of Edge
        All pairs of axes, keyed by prompt.
    """
    sensitivities = _sensitivities(counted, scoring, rng)
    pairs_at_once = sum(_known_between(of_prompt) for of_prompt in sensitivities.values())
    edges_of: dict[str | None, tuple[Edge, ...]] = {}
    for prompt, counts in counted.items():
        rule = edge_rule(counts, plan, prompt)
        tests = _tests(counts, counts.pairs(), prompt, rule, scoring)
        test_q = q_values(_p_of_tests(tests))
        estimates = _with_q(sensitivities[prompt])
        edges_of[prompt] = tuple(
            _edge(
                pair,
                counts,
                test=tests[pair],
                test_q=test_q.get(pair),
                estimate=estimates[pair],
                pairs_at_once=pairs_at_once,
                rule=rule,
            )
            for pair in counts.pairs()
        )
    return edges_of


@dataclass(frozen=True, slots=True)
class PairPoint:
    """Result for a pair of different axes, without an interval.

    Without the interval, the computation takes one hundredth of the time.

    Attributes
    ----------
    is_edge : bool
        Whether the pair is an edge of the graph.
    sensitivity : float
        Bias-corrected IS; NaN if it is missing.
    """

    is_edge: bool
    sensitivity: float


def pair_points(
    counts: GraphCounts, plan: InteractionPlan, prompt: str | None, scoring: Scoring
) -> dict[AxisPair, PairPoint]:
    """Test all pairs of different axes, and compute their sensitivities without intervals.

    Permutation tests stop as soon as it is nearly certain whether the pair is an edge.

    Parameters
    ----------
    counts
        Counts of the prompt.
    plan
        Plan of the run, which contains the rule for edges.
    prompt
        The prompt; None for all prompts together.
    scoring
        Instrument and seed.
    """
    rule = edge_rule(counts, plan, prompt)
    pairs = [pair for pair in counts.pairs() if pair[0] != pair[1]]
    tests = _tests(counts, pairs, prompt, rule, scoring, briefly=True)
    test_q = q_values(_p_of_tests(tests))
    values: list[float | Missing] = [NO_BASELINE] * len(pairs)
    if counts.initial:
        values = debiased_values([counts.pair(*pair) for pair in pairs])
    points = {}
    for pair, value in zip(pairs, values, strict=True):
        number = math.nan if isinstance(value, Missing) else value
        points[pair] = PairPoint(
            is_edge=_is_edge(tests[pair], test_q.get(pair), number, rule), sensitivity=number
        )
    return points


def _sensitivities(
    counted: CountsByPrompt, scoring: Scoring, rng: np.random.Generator
) -> dict[str | None, dict[AxisPair, Estimate | Missing]]:
    """Estimate the sensitivities of all pairs in all prompts, using the same random draws."""
    places = [
        (prompt, pair)
        for prompt, counts in counted.items()
        for pair in counts.pairs()
        if counts.initial
    ]
    samples = [counted[prompt].pair(*pair) for prompt, pair in places]
    estimates = interactions(samples, rng=rng, **scoring.interval_options)
    by_place = dict(zip(places, estimates, strict=True))

    sensitivities: dict[str | None, dict[AxisPair, Estimate | Missing]] = {}
    for prompt, counts in counted.items():
        sensitivities[prompt] = {
            pair: by_place.get((prompt, pair), NO_BASELINE) for pair in counts.pairs()
        }
    return sensitivities


def _known_between(sensitivities: Sensitivities) -> int:
    """Count the pairs of different axes whose sensitivity is known."""
    return sum(
        source != target and isinstance(estimate, Estimate)
        for (source, target), estimate in sensitivities.items()
    )


def _tests(
    counts: GraphCounts,
    pairs: Sequence[AxisPair],
    prompt: str | None,
    rule: EdgeRule,
    scoring: Scoring,
    *,
    briefly: bool = False,
) -> dict[AxisPair, ChiSquare | Missing]:
    """Test whether the target of each pair of axes depends on its source.

    The closer p is to the threshold, the more tables a permutation test draws. If the rule compares
    q, the threshold is the smallest level that the Benjamini-Hochberg method compares with p. Brief
    tests draw fewer tables.
    """
    threshold = rule.alpha
    if rule.name == "q":
        threshold /= max(sum(source != target for source, target in pairs), 1)
    rng = scoring.rng(prompt or "", scoring.instrument, "independence")
    contingencies = [counts.contingency(*pair) for pair in pairs]
    if briefly:
        tests = chi_squares_together(
            contingencies,
            rng=rng,
            threshold=threshold,
            first_draws=FEW_DRAWS,
            max_draws=math.ceil(2 / threshold),
        )
    else:
        tests = chi_squares(contingencies, rng=rng, threshold=threshold)
    return dict(zip(pairs, tests, strict=True))


def _p_of_tests(tests: Tests) -> dict[AxisPair, float | None]:
    """Return the p-values of the tests on pairs of different axes. These tests form one family."""
    return {
        (source, target): test.p
        for (source, target), test in tests.items()
        if source != target and isinstance(test, ChiSquare)
    }


def _with_q(sensitivities: Sensitivities) -> dict[AxisPair, Estimate | Missing]:
    """Add q-values.

    Effects of axes on themselves belong to a separate family of tests.
    """
    direct: dict[AxisPair, float | None] = {}
    between: dict[AxisPair, float | None] = {}
    for pair, estimate in sensitivities.items():
        if isinstance(estimate, Estimate):
            family = direct if pair[0] == pair[1] else between
            family[pair] = estimate.p
    q = q_values(direct) | q_values(between)
    return {
        pair: replace(estimate, q=q.get(pair)) if isinstance(estimate, Estimate) else estimate
        for pair, estimate in sensitivities.items()
    }


def _edge(
    pair: AxisPair,
    counts: GraphCounts,
    *,
    test: ChiSquare | Missing,
    test_q: float | None,
    estimate: Estimate | Missing,
    pairs_at_once: int,
    rule: EdgeRule,
) -> Edge:
    """Combine the results for a pair of axes, and decide whether the pair is an edge."""
    value = estimate.value if isinstance(estimate, Estimate) else math.nan
    edge = Edge(
        source=pair[0],
        target=pair[1],
        chi2=None,
        dof=None,
        p=None,
        draws=None,
        cramers_v=None,
        untested=test if isinstance(test, Missing) else None,
        q=test_q,
        sensitivity=estimate,
        simultaneous=None,
        plug_in=None,
        as_read=None,
        significant=_is_edge(test, test_q, value, rule),
    )
    if isinstance(test, ChiSquare):
        edge = replace(
            edge,
            chi2=test.statistic,
            dof=test.dof,
            p=test.p,
            draws=test.draws,
            cramers_v=test.cramers_v,
        )
    if isinstance(estimate, Estimate):
        edge = replace(
            edge,
            simultaneous=_simultaneous_interval(estimate, counts, pair, pairs_at_once),
            plug_in=_plug_in(counts, pair),
            as_read=_value_as_read(counts, pair),
        )
    return edge


def _is_edge(
    test: ChiSquare | Missing, q: float | None, sensitivity: float, rule: EdgeRule
) -> bool:
    if isinstance(test, Missing):
        return False
    compared = q if rule.name == "q" and q is not None else test.p
    if compared >= rule.alpha:
        return False
    if not rule.least_sensitivity:
        return True
    return abs(sensitivity) > rule.least_sensitivity


def _simultaneous_interval(
    estimate: Estimate, counts: GraphCounts, pair: AxisPair, pairs: int
) -> tuple[float, float]:
    """Widen an interval so that the intervals for `pairs` pairs are simultaneously valid."""
    low, high = simultaneous(estimate, pairs)
    return max(low, least_possible(counts.pair(*pair))), min(high, 1.0)


def _plug_in(counts: GraphCounts, pair: AxisPair) -> float:
    """Compute IS from the labeled shares by Equation 4, without bias correction."""
    sample = counts.pair(*pair)
    before = np.sum(sample.initial, axis=0)
    after = normalised(counts.contingency(*pair)).mean(axis=0)
    return float(sensitivity(before, after, sample.reference, sample.distance))


def _value_as_read(counts: GraphCounts, pair: AxisPair) -> float | None:
    """Return IS before the correction for labeling errors; None if errors were not corrected."""
    sample = counts.pair(*pair)
    if sample.confusion is None:
        return None
    value = debiased_value(replace(sample, confusion=None))
    return None if isinstance(value, Missing) else value


def graphs(counted: CountsByPrompt, plan: InteractionPlan, scoring: Scoring) -> list[Graph]:
    """Return the graph of each prompt and, if `counted` contains it, of all prompts together.

    Parameters
    ----------
    counted
        Counts, keyed by prompt.
    plan
        Plan of the run, which contains the rules for edges.
    scoring
        Instrument, seed, number of draws and confidence level.

    Returns
    -------
    list of Graph
        Graphs in the order of `counted`.
    """
    rng = scoring.rng(scoring.instrument, "sensitivity")
    edges_of = edges(counted, plan, scoring, rng)
    return [
        _graph(
            prompt,
            counts=counted[prompt],
            edges_of_prompt=edges_of_prompt,
            nulls=_null_sizes(counted[prompt], edges_of_prompt, prompt, scoring),
            rule=edge_rule(counted[prompt], plan, prompt),
            instrument=scoring.instrument,
        )
        for prompt, edges_of_prompt in edges_of.items()
    ]


def _null_sizes(
    counts: GraphCounts, edges_of_prompt: Iterable[Edge], prompt: str | None, scoring: Scoring
) -> dict[AxisPair, NDArray[np.float64]]:
    """Simulate |IS| for pairs of different axes under the null hypothesis of no effect."""
    effects = _effects_between(edges_of_prompt)
    samples = {pair: counts.pair(*pair) for pair in effects}
    rng = scoring.rng(prompt or "", scoring.instrument, "amplification")
    return null_sizes(samples, rng=rng, draws=scoring.draws)


def _graph(
    prompt: str | None,
    *,
    counts: GraphCounts,
    edges_of_prompt: Sequence[Edge],
    nulls: Mapping[AxisPair, NDArray[np.float64]],
    rule: EdgeRule,
    instrument: str,
) -> Graph:
    """Summarize the pairs of axes in a graph."""
    significant = [edge for edge in edges_of_prompt if edge.significant and not edge.direct]
    effects = _effects_between(edges_of_prompt)
    return Graph(
        scope="global" if prompt is None else "prompt",
        prompt=prompt,
        instrument=instrument,
        edge_rule=rule.name,
        alpha=rule.alpha,
        least_sensitivity=rule.least_sensitivity,
        axes=counts.axes,
        edges=tuple(edges_of_prompt),
        most_influenced=busiest((edge.target, edge.size) for edge in significant),
        most_influential=busiest((edge.source, edge.size) for edge in significant),
        amplification=interaction_graph.amplification(effects, nulls),
        negative_share=interaction_graph.negative_share(list(effects.values())),
        counts=_recorded(counts),
    )


def _effects_between(edges_of_prompt: Iterable[Edge]) -> dict[AxisPair, Estimate]:
    """Return the known sensitivities of pairs of different axes."""
    effects = {}
    for edge in edges_of_prompt:
        if not edge.direct and isinstance(edge.sensitivity, Estimate):
            effects[edge.source, edge.target] = edge.sensitivity
    return effects


def _recorded(counts: GraphCounts) -> RecordedCounts:
    """Return the counts of a graph, summed over prompts, in the form stored in results.json."""
    after: dict[str, dict[str, tuple[CountRow, ...]]] = {}
    for source, target in counts.after:
        rows = count_rows(counts.contingency(source, target))
        after.setdefault(source, {})[target] = rows
    initial = {}
    for target, by_prompt in counts.initial.items():
        initial[target] = tuple(by_prompt.sum(axis=0).tolist())
    return RecordedCounts(initial=initial, after=after, missing=dict(counts.missing))


def over_prompts(graphs: Sequence[Graph], level: float) -> tuple[EdgeOverPrompts, ...]:
    """Summarize every pair of different axes over the graphs of single prompts.

    The paper instead sums the counts over all prompts (Eq. 9-11), so effects in opposite directions
    cancel out. The images of different prompts are independent.

    Parameters
    ----------
    graphs
        Graphs of a run. The graph of all prompts together is not used.
    level
        Confidence level of the mean sensitivities, in (0, 1).

    Returns
    -------
    tuple of EdgeOverPrompts
        Summaries of the pairs; empty if there are fewer than two prompts.
    """
    of_prompts = [graph for graph in graphs if graph.prompt is not None]
    if len(of_prompts) < 2:
        return ()

    summaries = {
        pair: _pair_over_prompts(pair, of_prompts, level) for pair in _pairs_between(of_prompts)
    }
    q = q_values({pair: summary.p for pair, summary in summaries.items()})
    differ_q = q_values({pair: summary.differ_p for pair, summary in summaries.items()})
    return tuple(
        replace(summary, q=q.get(pair), differ_q=differ_q.get(pair))
        for pair, summary in summaries.items()
    )


def _pairs_between(graphs: Iterable[Graph]) -> list[AxisPair]:
    """Return all pairs of different axes that occur in the graphs."""
    pairs = [(edge.source, edge.target) for graph in graphs for edge in graph.edges]
    return [(source, target) for source, target in dict.fromkeys(pairs) if source != target]


def _pair_over_prompts(pair: AxisPair, graphs: Sequence[Graph], level: float) -> EdgeOverPrompts:
    """Summarize a pair of axes over the graphs of several prompts. q-values are added later."""
    edges_of_graphs = [graph.edge(*pair) for graph in graphs]
    known = [edge for edge in edges_of_graphs if edge is not None]
    p_values = [edge.p for edge in known if edge.p is not None]
    estimates = [edge.sensitivity for edge in known if isinstance(edge.sensitivity, Estimate)]
    source, target = pair
    return EdgeOverPrompts(
        source=source,
        target=target,
        prompts=len(p_values),
        edges=sum(edge.significant for edge in known),
        better=sum(edge.effect == "better" for edge in known),
        worse=sum(edge.effect == "worse" for edge in known),
        mean=interaction_graph.mean_sensitivity(estimates, level=level),
        p=combined_p(p_values) if p_values else None,
        q=None,
        differ_p=interaction_graph.heterogeneity(estimates),
        differ_q=None,
    )
