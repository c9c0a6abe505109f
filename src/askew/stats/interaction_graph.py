"""From tested pairs of axes to a graph: its edges, and what sums them up (BiasConnect, Table 1, Eq. 7-8, 14, A.5-A.8).

Global graphs (Eq. 9-11) come from the same functions: the tables of all prompts are added up by `pooled`, and the
sensitivity takes every prompt's sets as sets of their own (`sensitivity.Pair` with an initial of shape (prompts, m)).
A comparison with the real world (Eq. 12-13) is a sensitivity whose ideal is the reference's distribution.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.contingency import ChiSquare
from askew.stats.intervals import TOLERANCE, Floats, benjamini_hochberg, ends, mover, p_value, simultaneous, tail
from askew.stats.means import student_mean
from askew.types import Estimate, Missing

PROMPT_THRESHOLD = 1e-4
DYNAMIC_THRESHOLD = 0.05
GLOBAL_THRESHOLD = 5e-5
GLOBAL_SENSITIVITY = 0.03

AxisPair = tuple[str, str]
"""(intervened axis, target axis)."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One ordered pair of axes: does the target change with the intervened axis, and is that for the better?

    test         of the table (values of `source`, values of `target`)
    q            Benjamini-Hochberg q-value of that test among all pairs of different axes; None for an axis on itself
    sensitivity  Intersectional Sensitivity, its q likewise; effects of axes on themselves are a family of their own
    significant  whether the pair is an edge of the graph
    """

    source: str
    target: str
    test: ChiSquare | Missing
    q: float | None
    sensitivity: Estimate | Missing
    significant: bool

    @property
    def direct(self) -> bool:
        """Whether this is the effect of an intervention on its own axis."""
        return self.source == self.target


def edges(
    tests: Mapping[AxisPair, ChiSquare | Missing],
    sensitivities: Mapping[AxisPair, Estimate | Missing],
    *,
    threshold: float = PROMPT_THRESHOLD,
    least_sensitivity: float = 0.0,
) -> tuple[Edge, ...]:
    """Every tested pair, in the order of `tests`; significant if p < threshold and |IS| > least_sensitivity.

    The paper's thresholds: 1e-4 for one prompt, 0.05 for dynamic axes, 5e-5 and |IS| > 0.03 over many prompts. What an
    axis's own counterfactual prompts show of it depends on them by construction: those tests are in no family of q.

    Raises:
        ValueError: the two mappings are not about the same pairs.
    """
    if tests.keys() != sensitivities.keys():
        raise ValueError("tests and sensitivities are about different pairs of axes")
    q = _q_values({(x, y): test.p for (x, y), test in tests.items() if isinstance(test, ChiSquare) and x != y})
    known = {pair: e.p for pair, e in sensitivities.items() if isinstance(e, Estimate) and e.p is not None}
    own_q: dict[AxisPair, float] = {}
    for direct in (False, True):
        own_q |= _q_values({(x, y): p for (x, y), p in known.items() if (x == y) is direct})
    found = []
    for (source, target), test in tests.items():
        pair, effect = (source, target), sensitivities[source, target]
        if isinstance(effect, Estimate):
            effect = replace(effect, q=own_q.get(pair))
        strong = isinstance(effect, Estimate) and abs(effect.value) > least_sensitivity
        dependent = isinstance(test, ChiSquare) and test.p < threshold
        found.append(Edge(source, target, test, q.get(pair), effect, dependent and (strong or not least_sensitivity)))
    return tuple(found)


def pooled(tables: Sequence[ArrayLike]) -> Floats:
    """The contingency table of one pair of axes over all prompts: the sum of their tables, (K, m) (appendix A.8)."""
    if not tables:
        raise NotEnoughData("no prompt has a table")
    if len({np.shape(table) for table in tables}) > 1:
        raise ValueError("tables of the same pair of axes must have the same values")
    return np.asarray(np.sum(np.asarray(tables, dtype=float), axis=0))


def most_influenced(graph: Sequence[Edge]) -> str | None:
    """The axis that most other axes act upon (MaxInf): most incoming edges, then the largest sum of |IS|, then by name.

    None without an edge between two axes.
    """
    return _busiest([(edge.target, edge) for edge in graph])


def most_influential(graph: Sequence[Edge]) -> str | None:
    """The axis that acts upon most other axes (MaxImp): as `most_influenced`, by outgoing edges."""
    return _busiest([(edge.source, edge) for edge in graph])


def amplification(graph: Sequence[Edge], null_sizes: Mapping[AxisPair, Floats]) -> Estimate | Missing:
    """Overall amplification: the sum of |IS| over all pairs of two different axes (Eq. 14). Unbounded.

    Of many pairs in which nothing happens each still adds a little, so the null is the sum of what they would add, and
    p how often that is as large. Interval for the true sum: at least what the pairs' simultaneous intervals of |IS| add
    up to; at most the value, itself too large, and its error: the pairs' reaches added within a target axis, whose
    pairs share the initial pictures, and joined as independent between target axes.

    Args:
        graph: edges; whether they are significant does not matter.
        null_sizes: |IS| (draws,) of every pair if nothing happens, from `sensitivity.null_sizes`.

    Returns:
        Missing if no pair has a sensitivity.
    """
    found = _measured(graph)
    if not found:
        return Missing("not_asked", "no pair of axes has a sensitivity")
    surely, above = 0.0, defaultdict[str, float](float)
    for edge, effect in found:
        low, high = simultaneous(effect, len(found))
        surely += max(0.0, low, -high)
        above[edge.target] += max(map(abs, ends(effect))) - abs(effect.value)
    value = sum(abs(effect.value) for _, effect in found)
    draws = np.sum([null_sizes[edge.source, edge.target] for edge, _ in found], axis=0)
    null = float(draws.mean())
    return Estimate(
        value,
        surely,
        value + math.hypot(*above.values()),
        found[0][1].level,
        "sum of the pairs' intervals",
        max(effect.n or 1 for _, effect in found),
        null=null,
        corrected=value - null,
        corrected_form="value - null",
        debiased=value - null,
        p=p_value(value, draws),
    )


def negative_share(graph: Sequence[Edge]) -> Estimate | Missing:
    """Share of pairs of two different axes where the intervention makes the target worse: IS < 0 (appendix A.5).

    low counts only pairs whose simultaneous interval lies below 0, high all whose interval reaches below 0. Where
    nothing happens signs are a matter of chance, so the null is one half. n is the number of pairs.

    Returns:
        Missing if no pair has a sensitivity.
    """
    effects = [effect for _, effect in _measured(graph)]
    if not effects:
        return Missing("not_asked", "no pair of axes has a sensitivity")
    perhaps, surely = np.mean([np.less(simultaneous(e, len(effects)), 0) for e in effects], axis=0).tolist()
    value = float(np.mean([effect.value < 0 for effect in effects]))
    return Estimate(
        value, surely, perhaps, effects[0].level, "pairs surely, perhaps below 0", len(effects), null=0.5, max=1.0
    )


def correlation(
    before: ArrayLike, after: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate | Missing:
    """Pearson's correlation of predicted with measured sensitivities over pairs of axes (Eq. 7-8, Table 1), in [-1, 1].

    The pairs of one target share its initial pictures, so targets, not pairs, are what varies independently. p:
    two-sided, by exchanging whole targets of a prompt. Interval: a jackknife over targets on Fisher's z, Student's t,
    where there are three or more. Both lists carry sampling error, which draws the correlation towards 0.

    Args:
        before: (..., sources, targets) IS that the counterfactual pictures predict, of each prompt; NaN where there is
            no pair, or none to be counted.
        after: the same shape, IS measured on pictures of the mitigated model and on initial pictures that had no part
            in `before`: with the same ones nothing but their noise gives r = .6.

    Returns:
        Missing with fewer than three pairs, or where all of one side are equal.

    Raises:
        ValueError: arrays of different shapes.
    """
    x, y = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if x.shape != y.shape or x.ndim < 2:
        raise ValueError("two arrays (..., sources, targets) of the same shape are needed")
    x, y = (values.reshape(-1, *values.shape[-2:]) for values in (x, y))
    r, n = pearson(x, y), int(np.isfinite(x + y).sum())
    if math.isnan(r):
        return Missing("not_asked", "a correlation needs at least three pairs whose values are not all equal")
    orders = rng.random((draws, len(x), x.shape[2])).argsort(axis=2)
    exchanged = np.array([pearson(x, np.take_along_axis(y, order[:, None], axis=2)) for order in orders])
    p = p_value(abs(r), np.abs(exchanged[np.isfinite(exchanged)]))
    z, without = math.atanh(np.clip(r, -1 + TOLERANCE, 1 - TOLERANCE)), []
    for at in zip(*np.nonzero(np.isfinite(x + y).any(axis=1)), strict=True):
        left = x.copy()
        left[at[0], :, at[1]] = np.nan
        without.append(np.arctanh(np.clip(pearson(left, y), -1 + TOLERANCE, 1 - TOLERANCE)))
    if len(without) < 3 or np.isnan(without).any():
        return Estimate(r, n=n, null=0.0, max=1.0, p=p)
    error = math.sqrt((len(without) - 1) * float(np.var(without)))
    reach = float(scipy.stats.t.isf(tail(level), len(without) - 1)) * error
    return Estimate(r, math.tanh(z - reach), math.tanh(z + reach), level, "jackknife over targets, Fisher z", n,
                    null=0.0, max=1.0, p=p)  # fmt: skip


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's r over the places where both are numbers; NaN with fewer than three, or where one side is all equal."""
    both = np.isfinite(x) & np.isfinite(y)
    a, b = x[both], y[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1, 1))


def mean_correlation(prompts: Sequence[Estimate | Missing], *, level: float = 0.95) -> Estimate | Missing:
    """The prompts' correlations averaged, as Table 1 does. n is the number of prompts that have one.

    Interval: Student's t over the prompts, within [-1, 1]; from two prompts on.
    """
    r = [found.value for found in prompts if isinstance(found, Estimate)]
    if not r:
        return Missing("not_asked", "no prompt has a correlation")
    return replace(student_mean(r, level, bounds=(-1, 1)), null=0.0, max=1.0)


def difference(first: Estimate, second: Estimate) -> tuple[float, float, float]:
    """The same sensitivity in two runs: the second less the first, with an interval (value, low, high).

    Both intervals joined as in Newcombe's method (MOVER), each end's reach from its own value. Runs that share seeds
    are a little alike, which this counts as if they were not: the interval is on the safe side.

    Raises:
        ValueError: an estimate without an interval.
    """
    if None in (first.low, first.high, second.low, second.high):
        raise ValueError("a difference needs two estimates with intervals")
    return second.value - first.value, *mover(second.value, first.value, ends(second), ends(first))


def mean_sensitivity(models: Sequence[Estimate | Missing], *, level: float = 0.95) -> Estimate | Missing:
    """The sensitivity of one pair of axes averaged over several models, each with the same weight. In [-1, 1].

    Interval: of the mean of these very models, their independent intervals joined (MOVER); other models may differ. n
    is the number of models, missing of those without a sensitivity.

    Returns:
        Missing if no model has one.

    Raises:
        ValueError: an estimate without an interval.
    """
    found = [effect for effect in models if isinstance(effect, Estimate)]
    if not found:
        return Missing("not_asked", "no model has a sensitivity of this pair of axes")
    if any(effect.low is None or effect.high is None for effect in found):
        raise ValueError("a mean over models needs estimates with intervals")
    values, lows, highs = np.array([(e.value, e.low, e.high) for e in found], dtype=float).T
    mean, n = float(values.mean()), len(found)
    low, high = mean - math.hypot(*(values - lows)) / n, mean + math.hypot(*(highs - values)) / n
    return Estimate(mean, low, high, level, "MOVER over models", n, len(models) - n)


def _measured(graph: Sequence[Edge]) -> list[tuple[Edge, Estimate]]:
    """Pairs of two different axes that have a sensitivity."""
    return [(edge, edge.sensitivity) for edge in graph if isinstance(edge.sensitivity, Estimate) and not edge.direct]


def _busiest(ends: Sequence[tuple[str, Edge]]) -> str | None:
    edges_at: dict[str, list[float]] = {}
    for axis, edge in ends:
        if edge.significant and not edge.direct:
            size = abs(edge.sensitivity.value) if isinstance(edge.sensitivity, Estimate) else 0.0
            edges_at.setdefault(axis, []).append(size)
    return min(edges_at, key=lambda axis: (-len(edges_at[axis]), -sum(edges_at[axis]), axis), default=None)


def _q_values(p: Mapping[AxisPair, float]) -> dict[AxisPair, float]:
    return dict(zip(p, benjamini_hochberg(list(p.values())).tolist(), strict=True))
