"""Interval for the spread of several noisy scores, computed by inverting a test.

If the population scores are nearly equal, noise makes their observed spread too large, so a
percentile interval would never reach 0. Instead, askew tests possible sets of population scores,
called patterns. It rejects a pattern if too few samples from the pattern have a spread as extreme
as the observed spread.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.intervals import Floats, first_accepted, quantile, tail

FURTHEST = 8.0  # standard errors beyond the observed pattern at which the search ends
SpreadMeasure = Callable[[Floats], Floats]
"""Function that computes the spread of K scores along the last axis; equal scores give 0."""


def low_end(scores: Floats, errors: Floats, spread: SpreadMeasure, level: float) -> float:
    """Return the low end of the interval for the spread of K population scores.

    To form the tested patterns, all scores move toward their median by the same amount, so that
    only a few scores still differ from the median. This is the least favorable case for the low
    end. The low end is the smallest population spread for which at least a fraction (1 - level) / 2
    of all samples reaches the observed spread.

    Parameters
    ----------
    scores : array, (K,)
        Observed scores.
    errors : array, (draws, K)
        Draws of the joint sampling error of the scores, centered at 0.
    spread
        Function that computes the spread.
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

    The high end is the smallest population spread for which at most a fraction (1 - level) / 2 of
    all samples has a spread no larger than the observed spread. Observed scores can be unusually
    similar by chance, even for equal populations. So if the observed spread is below the median
    spread of samples from equal populations, askew uses this median instead.

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
    """Move all scores toward the median by the same amount.

    At t = 0, all scores are equal. At t = 1, they are the observed scores.
    """
    deviation = scores - median
    size = np.abs(deviation)
    remaining = np.maximum(size - (1 - np.asarray(t)) * size.max(), 0.0)
    return np.asarray(median + np.sign(deviation) * remaining)


def _stretched(scores: Floats, outward: Floats, t: Floats) -> Floats:
    """Move the scores away from their mean.

    Up to t = 1, the observed deviations from the mean are multiplied by t. Beyond t = 1, the scores
    move further apart, in the directions and proportions that `outward` contains.
    """
    mean = scores.mean()
    return np.asarray(
        mean + np.minimum(t, 1.0) * (scores - mean) + np.maximum(t - 1.0, 0.0) * outward
    )


def _outward(scores: Floats, errors: Floats) -> Floats:
    """Return each score's standard error, with the sign of the score's deviation from the mean."""
    deviation = scores - scores.mean()
    # equal scores must not all move the same way
    alternating = np.where(np.arange(len(scores)) % 2, 1.0, -1.0)
    direction = np.where(deviation == 0, alternating, np.sign(deviation))
    return np.asarray(direction * errors.std(axis=0))
