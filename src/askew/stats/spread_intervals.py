"""Interval for the spread of several noisy scores, by test inversion.

If the population scores are nearly equal, noise makes their observed spread too large, so a
percentile interval would never reach 0. Instead, askew tests patterns of population scores. It
rejects a pattern if too few samples from it have a spread as extreme as the observed spread.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.intervals import Floats, first_accepted, quantile, tail

FURTHEST = 8.0  # standard errors beyond the observed pattern at which the search ends
SpreadMeasure = Callable[[Floats], Floats]
"""Function that maps scores (..., K) to their spread (...), which is 0 if all scores are equal."""


def low_end(scores: Floats, errors: Floats, spread: SpreadMeasure, level: float) -> float:
    """Return the low end of the interval for the spread of K population scores.

    The tested patterns move all scores toward their median by the same amount, so that only few
    still differ from it. This is the least favorable case for the low end. The low end is the
    smallest spread whose samples reach the observed spread in at least (1 - level) / 2 of cases.

    Parameters
    ----------
    scores : array, (K,)
        Observed scores.
    errors : array, (draws, K)
        Draws of the joint error of the scores, centered at 0.
    spread
        Measure of spread.
    level
        Confidence level of the interval, in (0, 1).
    """
    observed = float(spread(scores))
    median = float(np.median(scores))

    def reached(t: Floats) -> bool:
        spreads = spread(_gathered(scores, median, t) + errors)
        return bool(quantile(spreads, 1 - tail(level)) >= observed)

    return float(spread(_gathered(scores, median, first_accepted(reached, 0.0, 1.0))))


def high_end(scores: Floats, errors: Floats, spread: SpreadMeasure, level: float) -> float:
    """Return the high end of the interval for the spread of K population scores.

    It is the smallest spread whose samples exceed the observed spread in all but (1 - level) / 2 of
    cases. Even equal populations can have observed scores that are unusually similar by chance. So
    an observed spread below the median spread for equal populations is replaced by this median.

    Parameters
    ----------
    scores, errors, spread, level
        As in `low_end`.
    """
    under_equality = spread(_gathered(scores, float(np.median(scores)), 0.0) + errors)
    observed = max(float(spread(scores)), float(np.median(under_equality)))
    outward = _outward(scores, errors)

    def exceeded(t: Floats) -> bool:
        spreads = spread(_stretched(scores, outward, t) + errors)
        return bool(quantile(spreads, tail(level)) > observed)

    start = 0.0
    stop = 1.0
    if not exceeded(np.ones(())):
        start = 1.0
        stop = 1.0 + FURTHEST
    return float(spread(_stretched(scores, outward, first_accepted(exceeded, start, stop))))


def _gathered(scores: Floats, median: float, t: ArrayLike) -> Floats:
    """Move all scores toward the median by the same amount: equal at t = 0, as observed at t = 1."""
    deviation = scores - median
    size = np.abs(deviation)
    remaining = np.maximum(size - (1 - np.asarray(t)) * size.max(), 0.0)
    return np.asarray(median + np.sign(deviation) * remaining)


def _stretched(scores: Floats, outward: Floats, t: Floats) -> Floats:
    """Scale the pattern by t, up to the observed pattern at t = 1; beyond 1, move scores outward."""
    mean = scores.mean()
    return np.asarray(
        mean + np.minimum(t, 1.0) * (scores - mean) + np.maximum(t - 1.0, 0.0) * outward
    )


def _outward(scores: Floats, errors: Floats) -> Floats:
    """Return one standard error of each score (K,), with the sign of the score minus the mean."""
    deviation = scores - scores.mean()
    # equal scores must not all move the same way
    alternating = np.where(np.arange(len(scores)) % 2, 1.0, -1.0)
    direction = np.where(deviation == 0, alternating, np.sign(deviation))
    return np.asarray(direction * errors.std(axis=0))
