"""Tests whether images show the requested values.

A table counts images by requested value (rows) and label (columns). Images that follow their
request are on the diagonal. The tests answer two questions:

1. Do more images follow their request than expected by chance? Under the null hypothesis, labels
   are independent of requests, so the test permutes the labels among the images. If value v is
   requested for r_v of n images and c_v images are labeled v, the expected number on the diagonal
   is the sum of r_v c_v / n over the values.
2. Does a value occur less often among the labels than among the requests? For each requested value,
   an exact binomial test compares its share of the labels with its share of the requests,
   multiplied by 1 - `LABEL_ERRORS`. Holm's method corrects the p-values for the number of values.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.stats.distributions import binomial_cdf, hypergeometric_pmf
from askew.stats.intervals import corrected, holm
from askew.stats.shares import share_intervals
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate

LABEL_ERRORS = 0.05
"""Assumed share of wrong labels.

This allowance prevents labeling errors from counting against a mitigation.
"""
DRAWS = 9_999
"""Number of random permutations of the labels if there are more than two values."""

Verdict = Literal["followed", "fewer_than_asked", "no_more_than_by_chance", "less_than_by_chance"]


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Agreement of labels with requests.

    Attributes
    ----------
    rate : Estimate
        Share of labeled images with the requested value. `null` is the share expected by chance.
        `p` comes from the one-sided permutation test, which checks whether more images follow their
        request than expected by chance.
    below_p : float
        p-value of the opposite test, which checks whether fewer images follow their request than
        expected by chance.
    least_p : float
        Minimum possible p-value for these numbers of requests and labels.
    shortfall_p : array, (K,)
        For each value, p-value of a test for fewer labels than requests, corrected by Holm's
        method. If a value was not requested, p is 1.
    """

    rate: Estimate
    below_p: float
    least_p: float
    shortfall_p: NDArray[np.float64]

    @property
    def verdict(self) -> Verdict:
        """Answer to both questions.

        If no assignment of labels could make the test significant, the verdict is
        "no_more_than_by_chance" only if the observed share is below the share expected by chance.
        """
        if self.below_p < SIGNIFICANCE_LEVEL:
            return "less_than_by_chance"
        null = self.rate.null or 0.0
        could_be_significant = self.least_p < SIGNIFICANCE_LEVEL
        by_chance = could_be_significant and (self.rate.p or 0.0) >= SIGNIFICANCE_LEVEL
        if by_chance or self.rate.value < null:
            return "no_more_than_by_chance"
        if self.shortfall_p.min() < SIGNIFICANCE_LEVEL:
            return "fewer_than_asked"
        return "followed"


def followed(table: ArrayLike, *, level: float = 0.95, missing: int = 0) -> Followed:
    """Test whether the labels of images follow the requests.

    Parameters
    ----------
    table : array, (K, K)
        Number of images for each requested value (rows) and each label (columns). At least one
        image.
    level
        Confidence level of the interval, in (0, 1).
    missing
        Number of images that have a request but no label.

    Raises
    ------
    ValueError
        If the table is not square, or contains no images.
    """
    counts = np.asarray(table, dtype=np.int64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.any():
        raise ValueError(
            "the table of requested values and labels must be square and contain at least one image"
        )
    n = int(counts.sum())
    on_diagonal = int(np.trace(counts))
    requested = counts.sum(axis=1)
    labeled = counts.sum(axis=0)
    outcomes, weights = _law(requested, labeled)
    rate = share_intervals([on_diagonal, n - on_diagonal], level=level, missing=missing)[0]
    expected = float(requested @ labeled) / n
    p = _tail(outcomes >= on_diagonal, weights)
    return Followed(
        rate=corrected(rate, expected / n, p),
        below_p=_tail(outcomes <= on_diagonal, weights),
        least_p=_tail(outcomes >= _most(requested, labeled), weights),
        shortfall_p=_shortfalls(requested, labeled, n),
    )


def _law(
    requested: NDArray[np.int64], labeled: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the possible numbers of images that follow their request, with their probabilities.

    With two values, the probabilities are hypergeometric. With more values, they come from random
    permutations. In this case, the probabilities sum to less than 1, because the observed labels
    are counted as an additional draw.
    """
    n = int(requested.sum())
    shown = np.flatnonzero(requested + labeled)
    if len(shown) <= 2:
        first = int(shown[0])
        agreeing = np.arange(min(requested[first], labeled[first]) + 1)
        weights = hypergeometric_pmf(agreeing, n, requested[first], labeled[first])
        possible = weights > 0
        outcomes = n - requested[first] - labeled[first] + 2 * agreeing
        return outcomes[possible], weights[possible]
    requests = np.repeat(np.arange(len(requested)), requested)
    labels = np.repeat(np.arange(len(labeled)), labeled)
    rng = np.random.default_rng([*requested.tolist(), *labeled.tolist()])
    permuted = rng.permuted(np.tile(labels, (DRAWS, 1)), axis=1)
    return (permuted == requests).sum(axis=1), np.full(DRAWS, 1 / (1 + DRAWS))


def _tail(reached: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Return the tail probability, counting the observed labels as an additional draw."""
    unseen = max(1.0 - float(weights.sum()), 0.0)
    return min(float(weights[reached].sum()) + unseen, 1.0)


def _most(requested: NDArray[np.int64], labeled: NDArray[np.int64]) -> int:
    """Return the maximum number of images that could follow their request."""
    return int(np.minimum(requested, labeled).sum())


def _shortfalls(
    requested: NDArray[np.int64], labeled: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return, for each value, the p-value of the test for fewer labels than requests."""
    p = np.ones(len(requested))
    wanted = np.flatnonzero(requested)
    shares = requested[wanted] / n * (1 - LABEL_ERRORS)
    p[wanted] = holm(binomial_cdf(labeled[wanted], n, shares).tolist())
    return p
