"""What sums up a graph of interactions, and how several of them agree (BiasConnect, Table 1, Eq.
7-8, 14, A.5-A.8). An effect is the Intersectional Sensitivity of an ordered pair of different axes.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.intervals import (
    TOLERANCE,
    Floats,
    benjamini_hochberg,
    ends,
    p_value,
    simultaneous,
    tail,
)
from askew.stats.means import student_mean
from askew.types import Estimate, Missing, grouped

AxisPair = tuple[str, str]
"""(intervened axis, target axis)."""

T = TypeVar("T")


def q_values(p: Mapping[T, float | None]) -> dict[T, float]:
    """Benjamini-Hochberg over the tests that have a p."""
    known = {one: value for one, value in p.items() if value is not None}
    return dict(zip(known, benjamini_hochberg([*known.values()]).tolist(), strict=True))


def busiest(edges: Iterable[tuple[str, float]]) -> str | None:
    """The axis with most edges, each given as (axis, |IS|), then the largest sum of |IS|, then by
    name; None of none.

    Of the edges' targets this is MaxInf, which most others act upon; of their sources MaxImp.
    """
    of = grouped(edges, lambda edge: edge[0])
    return min(
        of,
        key=lambda axis: (-len(of[axis]), -sum(size for _, size in of[axis]), axis),
        default=None,
    )


def amplification(
    effects: Mapping[AxisPair, Estimate], null_sizes: Mapping[AxisPair, Floats]
) -> Estimate | Missing:
    """Overall amplification: the sum of |IS| over all pairs of two different axes (Eq. 14).
    Unbounded.

    Of many pairs in which nothing happens each still adds a little, so the null is the sum of what
    they would add, and p how often that is as large. Interval for the true sum: at least what the
    pairs' simultaneous intervals of |IS| add up to; at most the value, itself too large, and its
    error: the pairs' reaches added within a target axis, whose pairs share the initial pictures,
    and joined as independent between target axes. `null_sizes` are |IS| (draws,) of every pair if
    nothing happens, from `sensitivity.null_sizes`. Missing if no pair has a sensitivity.
    """
    if not effects:
        return Missing("not_asked", "no pair of axes has a sensitivity")
    surely = 0.0
    above = defaultdict[str, float](float)
    for (_, target), effect in effects.items():
        low, high = simultaneous(effect, len(effects))
        surely += max(0.0, low, -high)
        above[target] += max(map(abs, ends(effect))) - abs(effect.value)
    value = sum(abs(effect.value) for effect in effects.values())
    draws = np.sum([null_sizes[pair] for pair in effects], axis=0)
    null = float(draws.mean())
    n = max(effect.n or 1 for effect in effects.values())
    return Estimate(
        value,
        surely,
        value + math.hypot(*above.values()),
        next(iter(effects.values())).level,
        "sum of the pairs' intervals",
        n,
        null=null,
        corrected=value - null,
        corrected_form="value - null",
        debiased=value - null,
        p=p_value(value, draws),
    )


def negative_share(effects: Sequence[Estimate]) -> Estimate | Missing:
    """Share of pairs of two different axes where the intervention makes the target worse: IS < 0
    (appendix A.5).

    low counts only pairs whose simultaneous interval lies below 0, high all whose interval reaches
    below 0. Where nothing happens signs are a matter of chance, so the null is one half. n is the
    number of pairs. Missing if there is none.
    """
    if not effects:
        return Missing("not_asked", "no pair of axes has a sensitivity")
    perhaps, surely = np.mean(
        [np.less(simultaneous(e, len(effects)), 0) for e in effects], axis=0
    ).tolist()
    value = float(np.mean([effect.value < 0 for effect in effects]))
    name = "pairs surely, perhaps below 0"
    return Estimate(value, surely, perhaps, effects[0].level, name, len(effects), null=0.5, max=1.0)


def mean_sensitivity(effects: Sequence[Estimate], *, level: float = 0.95) -> Estimate | Missing:
    """The effects of one pair of axes in several prompts averaged, each with the same weight. In
    [-1, 1].

    Interval: of the mean over these very prompts, their independent intervals joined (MOVER). n is
    the number of prompts. Missing of no effect.
    """
    if not effects:
        return Missing("not_asked", "no prompt has a sensitivity")
    values, (lows, highs), n = (
        np.array([e.value for e in effects]),
        np.array([*map(ends, effects)]).T,
        len(effects),
    )
    mean = float(values.mean())
    low = mean - math.hypot(*(values - lows)) / n
    high = mean + math.hypot(*(highs - values)) / n
    return Estimate(mean, low, high, level, "MOVER over prompts", n)


def heterogeneity(effects: Sequence[Estimate]) -> float | None:
    """p that effects are the same in all prompts: Cochran's Q, the sum of squared standardised gaps
    to their weighted mean, against χ² with one degree of freedom less than there are. Standard
    errors are from the intervals.
    """
    if len(effects) < 2:
        return None
    values, (low, high) = np.array([e.value for e in effects]), np.array([*map(ends, effects)]).T
    errors = np.maximum(high - low, 1e-9) / 2 / scipy.stats.norm.isf(tail(effects[0].level or 0.95))
    mean = np.average(values, weights=errors**-2)
    return float(scipy.stats.chi2.sf(np.sum(((values - mean) / errors) ** 2), len(values) - 1))


def correlation(
    before: ArrayLike,
    after: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate | Missing:
    """Pearson's correlation of predicted with measured sensitivities over pairs of axes (Eq. 7-8,
    Table 1), in [-1, 1].

    The pairs of one target share its initial pictures, so targets, not pairs, are what varies
    independently. p: two-sided, by exchanging whole targets of a prompt. Interval: a jackknife over
    targets on Fisher's z, Student's t, where there are three or more. Both lists carry sampling
    error, which draws the correlation towards 0. Missing with fewer than three pairs, or where all
    of one side are equal. `before` (..., sources, targets) is the IS that the counterfactual
    pictures of each prompt predict, NaN where there is no pair to be counted; `after`, of the same
    shape, was measured on pictures of the mitigated model and on initial pictures that had no part
    in `before`: with the same ones nothing but their noise gives r = .6.
    """
    x = np.asarray(before, dtype=float)
    y = np.asarray(after, dtype=float)
    if x.shape != y.shape or x.ndim < 2:
        raise ValueError("two arrays (..., sources, targets) of the same shape are needed")
    x, y = (values.reshape(-1, *values.shape[-2:]) for values in (x, y))
    r = pearson(x, y)
    n = int(np.isfinite(x + y).sum())
    if math.isnan(r):
        return Missing(
            "not_asked", "a correlation needs at least three pairs whose values are not all equal"
        )
    orders = rng.random((draws, len(x), x.shape[2])).argsort(axis=2)
    exchanged = np.array(
        [pearson(x, np.take_along_axis(y, order[:, None], axis=2)) for order in orders]
    )
    p = p_value(abs(r), np.abs(exchanged[np.isfinite(exchanged)]))
    found = Estimate(r, n=n, null=0.0, max=1.0, p=p)
    without = []
    for prompt, target in zip(*np.nonzero(np.isfinite(x + y).any(axis=1)), strict=True):
        left = x.copy()
        left[prompt, :, target] = np.nan
        without.append(pearson(left, y))
    if len(without) < 3 or np.isnan(without).any():
        return found
    z, *others = np.arctanh(np.clip([r, *without], -1 + TOLERANCE, 1 - TOLERANCE)).tolist()
    error = math.sqrt((len(others) - 1) * float(np.var(others)))
    reach = float(scipy.stats.t.isf(tail(level), len(others) - 1)) * error
    low = math.tanh(z - reach)
    high = math.tanh(z + reach)
    return replace(
        found, low=low, high=high, level=level, interval="jackknife over targets, Fisher z"
    )


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's r over the places where both are numbers; NaN with fewer than three, or where one
    side is all equal.
    """
    both = np.isfinite(x) & np.isfinite(y)
    a = x[both]
    b = y[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def mean_correlation(
    prompts: Sequence[Estimate | Missing], *, level: float = 0.95
) -> Estimate | Missing:
    """The prompts' correlations averaged, as Table 1 does. n is the number of prompts that have
    one.

    Interval: Student's t over the prompts, within [-1, 1]; from two prompts on.
    """
    r = [found.value for found in prompts if isinstance(found, Estimate)]
    if not r:
        return Missing("not_asked", "no prompt has a correlation")
    return replace(student_mean(r, level, bounds=(-1, 1)), null=0.0, max=1.0)
