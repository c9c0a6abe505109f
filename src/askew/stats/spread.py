"""Interval of a measure of spread (MAD and its alternatives) of K scores that carry correlated errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from askew.stats.intervals import Floats, first_accepted, tail

Spread = Callable[[Floats], Floats]
FURTHEST = 8.0  # standard errors beyond the observed pattern at which the search ends


def spread_interval(scores: Floats, errors: Floats, spread: Spread, level: float) -> tuple[float, float]:
    """Interval of the spread of the K population scores, by test inversion.

    The spread of noisy scores is too large where they are nearly equal, so a percentile interval would never reach 0.
    Each end is looked for among patterns that are unfavourable to it:

    - low: the scores are drawn towards their median by the same amount each, so that few stay apart. The end is the
      smallest spread whose samples reach the observed one in at least (1 - level) / 2 of cases.
    - high: the pattern shrinks or grows as a whole; beyond the observed one each score moves outward by the same number
      of its standard errors. The end is the smallest spread whose samples exceed the observed one in all but
      (1 - level) / 2 of cases. Scores more alike than equal populations usually give do not exclude a small spread:
      for this end the observed spread counts at least as the median under equality.

    Args:
        scores: (K,) unbiased estimates of the scores.
        errors: (draws, K) draws of their joint error, centred at 0.
        spread: maps (..., K) to (...), 0 where all scores are equal.
    """
    alpha, observed = tail(level), float(spread(scores))
    at_least = max(observed, float(np.median(spread(_gathered(scores, 0.0) + errors))))

    def reached(t: float) -> bool:
        return bool(np.quantile(spread(_gathered(scores, t) + errors), 1 - alpha) >= observed)

    def exceeded(t: float) -> bool:
        return bool(np.quantile(spread(_stretched(scores, t, errors) + errors), alpha) > at_least)

    low = first_accepted(reached, 0.0, 1.0)
    high = first_accepted(exceeded, 0.0, 1.0) if exceeded(1.0) else first_accepted(exceeded, 1.0, 1.0 + FURTHEST)
    low_end, high_end = float(spread(_gathered(scores, low))), float(spread(_stretched(scores, high, errors)))
    return min(low_end, high_end), max(low_end, high_end)


def _gathered(scores: Floats, t: float) -> Floats:
    """t = 0: all at the median; t = 1: as observed; between, every score is pulled in by the same amount."""
    deviation = scores - np.median(scores)
    size = np.abs(deviation)
    return np.asarray(np.median(scores) + np.sign(deviation) * np.maximum(size - (1 - t) * size.max(), 0.0))


def _stretched(scores: Floats, t: float, errors: Floats) -> Floats:
    """t = 0: all at the mean; t = 1: as observed; beyond, each is t - 1 standard errors further out."""
    deviation = scores - scores.mean()
    apart = np.where(np.arange(len(scores)) % 2, 1.0, -1.0)  # equal scores must not all move the same way
    outward = np.where(deviation == 0, apart, np.sign(deviation)) * errors.std(axis=0)
    return np.asarray(scores.mean() + min(t, 1.0) * deviation + max(t - 1.0, 0.0) * outward)
