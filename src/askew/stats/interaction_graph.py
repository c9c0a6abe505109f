"""Summaries of interaction graphs between axes, and agreement between graphs (BiasConnect).

An effect is the Intersectional Sensitivity (IS) of an ordered pair of two different axes. The
summaries come from BiasConnect's Table 1, Eq. 7-8 and 14, and appendices A.5 to A.8.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.distributions import chi2_sf, folded_normal_moments, student_isf
from askew.stats.intervals import (
    TOLERANCE,
    Floats,
    benjamini_hochberg,
    critical_value,
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
    """Convert the p-values of several tests to q-values with Benjamini and Hochberg's method.

    Parameters
    ----------
    p
        p-value of each test; None for a test that has no p-value.

    Returns
    -------
    dict
        q-value of each test that has a p-value.
    """
    known = {test: value for test, value in p.items() if value is not None}
    return dict(zip(known, benjamini_hochberg([*known.values()]).tolist(), strict=True))


def busiest(edges: Iterable[tuple[str, float]]) -> str | None:
    """Return the axis with the most edges. Ties are resolved by the sum of |IS|, then by name.

    If `edges` contains the target of each edge, the result is MaxInf, the axis that depends on the
    most axes. If `edges` contains the source of each edge, the result is MaxImp, the axis on which
    the most axes depend.

    Parameters
    ----------
    edges
        For each edge, its source or its target, and its |IS|.

    Returns
    -------
    str or None
        None if there is no edge.
    """
    edges_of = grouped(edges, lambda edge: edge[0])

    def order(axis: str) -> tuple[int, float, str]:
        return -len(edges_of[axis]), -sum(size for _, size in edges_of[axis]), axis

    return min(edges_of, key=order, default=None)


def amplification(
    effects: Mapping[AxisPair, Estimate], null_sizes: Mapping[AxisPair, Floats]
) -> Estimate | Missing:
    """Compute the overall amplification, the sum of |IS| over all pairs (BiasConnect, Eq. 14).

    It has no upper bound. Because of noise, every pair contributes a small amount, even a pair
    without an effect. The null value is the mean sum of such contributions if no pair has an
    effect, and p is the probability that this sum is at least as large as the observed value. The
    interval is for the true sum. Noise increases the value most if only a few pairs have effects.
    Noise increases the value least if all effects are equally large in units of their standard
    errors. The low end assumes that only a few pairs have effects. At level .95, the low end is the
    value minus the 97.5 % quantile of the null distribution, or 0 if this is negative. So the low
    end is above 0 if p is below .025. The high end assumes equal effects. The high end is the true
    sum for which 2.5 % of all samples would have at most the observed value.

    Parameters
    ----------
    effects
        IS of each pair of axes.
    null_sizes : mapping to array, (draws,)
        Values of |IS| for each pair, simulated under the null hypothesis of no effect
        (`sensitivity.null_sizes`).

    Returns
    -------
    Estimate or Missing
        Missing if no pair has a sensitivity.
    """
    if not effects:
        return Missing("not_asked", "no pair of axes has a sensitivity")
    value = sum(abs(effect.value) for effect in effects.values())
    draws = np.sum([null_sizes[pair] for pair in effects], axis=0)
    null = float(draws.mean())
    level = next(iter(effects.values())).level or 0.95
    return Estimate(
        value=value,
        low=max(0.0, value - float(np.quantile(draws, 1 - tail(level)))),
        high=_largest_amplification(value, draws, level),
        level=level,
        interval="test inversion, few or equal effects",
        n=max(effect.n or 1 for effect in effects.values()),
        null=null,
        corrected=value - null,
        corrected_form="value - null",
        debiased=value - null,
        p=p_value(value, draws),
    )


def _largest_amplification(value: float, draws: Floats, level: float) -> float:
    """Return the sum of equal true effects for which a value as low as `value` is rare.

    An effect of c standard errors is observed as |X| with X ~ N(c, 1). The null draws determine the
    mean and the standard deviation of the sum at c = 0. The mean and the standard deviation of |X|
    then determine how the sum changes for larger c.
    """
    mean = float(draws.mean())
    deviation = float(draws.std())
    if mean <= TOLERANCE:
        return value
    quantile = critical_value(level)
    mean_without_effect, deviation_without_effect = folded_normal_moments(0.0)

    def gap(c: float) -> float:
        """Return the low quantile of the sum for effects of size c, minus the observed value."""
        mean_with_effect, deviation_with_effect = folded_normal_moments(c)
        center = mean * mean_with_effect / mean_without_effect
        spread = deviation * deviation_with_effect / deviation_without_effect
        return center - quantile * spread - value

    unit = mean / mean_without_effect  # sum of all standard errors
    furthest = (value + quantile * deviation / deviation_without_effect) / unit + 1
    if gap(0.0) >= 0 or gap(furthest) <= 0:
        return value
    return float(scipy.optimize.brentq(gap, 0.0, furthest)) * unit


def negative_share(effects: Sequence[Estimate]) -> Estimate | Missing:
    """Compute the share of pairs with IS < 0, whose target becomes more biased (BiasConnect, A.5).

    The low end counts only the pairs whose simultaneous interval is entirely below 0. The high end
    counts all pairs whose interval starts below 0. Without effects, both signs are equally likely,
    so the null value is 1/2. n is the number of pairs.

    Parameters
    ----------
    effects
        IS of pairs of two different axes.

    Returns
    -------
    Estimate or Missing
        Missing if there are no pairs.
    """
    if not effects:
        return Missing("not_asked", "no pair of axes has a sensitivity")
    intervals = np.array([simultaneous(effect, len(effects)) for effect in effects])
    high, low = np.mean(intervals < 0, axis=0).tolist()
    return Estimate(
        value=float(np.mean([effect.value < 0 for effect in effects])),
        low=low,
        high=high,
        level=effects[0].level,
        interval="pairs surely, perhaps below 0",
        n=len(effects),
        null=0.5,
        max=1.0,
    )


def mean_sensitivity(effects: Sequence[Estimate], *, level: float = 0.95) -> Estimate | Missing:
    """Average the effect for a pair of axes over prompts, giving each prompt the same weight.

    The interval is for the mean over these prompts only. The interval combines the prompts'
    independent intervals (MOVER). n is the number of prompts.

    Parameters
    ----------
    effects
        IS of the pair for each prompt, in [-1, 1].
    level
        Confidence level of the effects' intervals, in (0, 1).

    Returns
    -------
    Estimate or Missing
        Missing if there are no effects.
    """
    if not effects:
        return Missing("not_asked", "no prompt has a sensitivity")
    n = len(effects)
    values = np.array([effect.value for effect in effects])
    lows, highs = np.array([*map(ends, effects)]).T
    mean = float(values.mean())
    return Estimate(
        value=mean,
        low=mean - math.hypot(*(values - lows)) / n,
        high=mean + math.hypot(*(highs - values)) / n,
        level=level,
        interval="MOVER over prompts",
        n=n,
    )


def heterogeneity(effects: Sequence[Estimate]) -> float | None:
    """Use Cochran's Q to test the hypothesis that an effect is the same in all prompts.

    If the n effects e_i are the same, Q = sum_i ((e_i - m) / s_i)**2 follows a chi-squared
    distribution with n - 1 degrees of freedom. m is the mean of the effects, weighted by 1 /
    s_i**2. The standard errors s_i are computed from the widths of the intervals.

    Parameters
    ----------
    effects
        The effect for each prompt.

    Returns
    -------
    float or None
        p-value; None if there are fewer than two effects.
    """
    if len(effects) < 2:
        return None
    values = np.array([effect.value for effect in effects])
    low, high = np.array([*map(ends, effects)]).T
    errors = np.maximum(high - low, 1e-9) / 2 / critical_value(effects[0].level or 0.95)
    mean = np.average(values, weights=errors**-2)
    return float(chi2_sf(np.sum(((values - mean) / errors) ** 2), len(values) - 1))


def correlation(
    before: ArrayLike,
    after: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate | Missing:
    """Correlate predicted and measured sensitivities over pairs (BiasConnect, Eq. 7-8, Table 1).

    The value is Pearson's r, in [-1, 1]. Pairs with the same target share the baseline images of
    this target, so targets are independent but pairs are not. p is two-sided and comes from
    permutations. Each permutation shuffles the targets of a prompt, and keeps all pairs of a target
    together. With three targets or more, the interval comes from a jackknife over targets. The
    interval is computed on Fisher's z scale with Student's t. Sampling errors in both arrays reduce
    the correlation.

    Parameters
    ----------
    before : array, (..., sources, targets)
        IS predicted from the counterfactual images of each prompt; NaN for pairs that should be
        left out.
    after : array, (..., sources, targets)
        IS measured on images of the mitigated model, and on baseline images that were not used for
        `before`. If both arrays used the same baseline images, noise would cause a correlation of r
        = .6.
    rng
        Random generator for the permutations.
    draws
        Number of permutations.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate or Missing
        Missing if there are fewer than three pairs, or if all values of `before` or all values of
        `after` are equal.

    Raises
    ------
    ValueError
        If the arrays have different shapes or fewer than two dimensions.
    """
    x = np.asarray(before, dtype=float)
    y = np.asarray(after, dtype=float)
    if x.shape != y.shape or x.ndim < 2:
        raise ValueError("two arrays (..., sources, targets) of the same shape are needed")
    x = x.reshape(-1, *x.shape[-2:])
    y = y.reshape(-1, *y.shape[-2:])
    r = pearson(x, y)
    if math.isnan(r):
        return Missing(
            "not_asked", "a correlation needs at least three pairs whose values are not all equal"
        )
    n = int(np.isfinite(x + y).sum())
    p = p_value(abs(r), _exchanged_sizes(x, y, rng, draws))
    estimate = Estimate(value=r, n=n, null=0.0, max=1.0, p=p)
    left_out = _without_each_target(x, y)
    if len(left_out) < 3 or np.isnan(left_out).any():
        return estimate
    low, high = _jackknife_interval(r, left_out, level)
    return replace(
        estimate, low=low, high=high, level=level, interval="jackknife over targets, Fisher z"
    )


def _exchanged_sizes(x: Floats, y: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Return |r| for several random permutations of the targets of `y` within prompts."""
    orders = rng.random((draws, len(x), x.shape[2])).argsort(axis=2)
    exchanged = np.array(
        [pearson(x, np.take_along_axis(y, order[:, None], axis=2)) for order in orders]
    )
    return np.asarray(np.abs(exchanged[np.isfinite(exchanged)]))


def _without_each_target(x: Floats, y: Floats) -> list[float]:
    """Return jackknife values of r, each computed with one target of one prompt left out."""
    correlations = []
    for prompt, target in zip(*np.nonzero(np.isfinite(x + y).any(axis=1)), strict=True):
        remaining = x.copy()
        remaining[prompt, :, target] = np.nan
        correlations.append(pearson(remaining, y))
    return correlations


def _jackknife_interval(r: float, left_out: Sequence[float], level: float) -> tuple[float, float]:
    """Compute the interval for r on Fisher's z scale, from the jackknife values of r."""
    z, *others = np.arctanh(np.clip([r, *left_out], -1 + TOLERANCE, 1 - TOLERANCE)).tolist()
    error = math.sqrt((len(others) - 1) * float(np.var(others)))
    reach = student_isf(tail(level), len(others) - 1) * error
    return math.tanh(z - reach), math.tanh(z + reach)


def pearson(x: Floats, y: Floats) -> float:
    """Compute Pearson's r from the positions where both arrays are finite.

    Parameters
    ----------
    x, y : array
        Arrays of numbers or NaN, of the same shape.

    Returns
    -------
    float
        The correlation. NaN if there are fewer than three such positions, or if all numbers of one
        array are equal.
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
    """Average the correlations of several prompts (BiasConnect, Table 1).

    With two prompts or more, the interval is Student's interval over the prompts, clipped to [-1,
    1].

    Parameters
    ----------
    prompts
        Correlation for each prompt.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate or Missing
        Mean correlation, where n is the number of prompts with a correlation. Missing if no prompt
        has a correlation.
    """
    correlations = [prompt.value for prompt in prompts if isinstance(prompt, Estimate)]
    if not correlations:
        return Missing("not_asked", "no prompt has a correlation")
    return replace(student_mean(correlations, level, bounds=(-1, 1)), null=0.0, max=1.0)
