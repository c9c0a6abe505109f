"""OpenBias's score of one question: how far the answers are from uniform, by their entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.distance_intervals import METHOD, SampledShares, distance_interval
from askew.stats.intervals import Floats, positive_counts, with_null
from askew.types import Estimate


def entropy_bias(counts: ArrayLike) -> Floats:
    """1 - H / ln K of answer counts (…, K): 0 for equal counts, 1 where all answers are one (OpenBias, Eq. 3).

    Raises:
        NotEnoughData: there is no answer.
        ValueError: fewer than two possible answers, or a count that is negative.
    """
    c = positive_counts(counts)
    if c.shape[-1] < 2:
        raise ValueError("a question with one possible answer has no entropy")
    p = c / c.sum(axis=-1, keepdims=True)
    surprise = np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)
    return np.asarray(1 - surprise.sum(axis=-1) / np.log(c.shape[-1]))


def entropy_estimate(
    counts: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95, missing: int = 0
) -> Estimate:
    """The score of one question, corrected for chance: few answers are far from uniform by themselves.

    The null draws as many answers from equal shares. The interval is for the score of endless pictures, by test
    inversion as for distances from an ideal: plain resampling misses it, since few answers look more uneven than
    they are.

    Args:
        counts: (K,) answers by value.
    """
    c = positive_counts(counts)
    n = int(c.sum())
    value = float(entropy_bias(c))
    ideal = np.full(len(c), 1 / len(c))
    sample = SampledShares(c / n, n, ideal, lambda shares, _: entropy_bias(shares))
    fair = sample.samples(ideal, draws, rng)
    low, high = distance_interval(sample, fair, rng=rng, level=level)
    return with_null(Estimate(value, low, high, level, METHOD, n=n, missing=missing), fair, 1.0)
