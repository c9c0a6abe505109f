"""Whether images show the values that were requested of them.

A table counts images by requested value (rows) and label (columns). Images that follow their request
are on the diagonal. Two questions are answered:

1. Do more images follow than by chance? Under the null, labels are independent of requests: the labels
   are permuted over the images. The expected number is the sum of r_v c_v / n, for r_v requests and
   c_v labels of value v among n images.
2. Does a value have fewer labels than requests? An exact binomial test of each requested value, at the
   requested share times 1 - `LABEL_ERRORS`, with Holm's correction for the values.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.stats.intervals import corrected, holm
from askew.stats.shares import share_intervals
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate

LABEL_ERRORS = 0.05
"""Share of wrong labels that does not count against a mitigation."""
DRAWS = 9_999
"""Permutations of the labels of more than two values."""

Verdict = Literal["followed", "fewer_than_asked", "no_more_than_by_chance", "less_than_by_chance"]


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Agreement of labels with requests.

    Attributes
    ----------
    rate : Estimate
        Share of labeled images with the requested value. `null` is the share by chance, and p the
        one-sided permutation test whether more images follow than by chance.
    below_p : float
        p of the test whether fewer images follow than by chance.
    least_p : float
        Smallest p that these requests and labels allow.
    shortfall_p : array, (K,)
        p by value, corrected by Holm, of the test whether fewer images have the value than was
        requested. 1 for a value that was not requested.
    """

    rate: Estimate
    below_p: float
    least_p: float
    shortfall_p: NDArray[np.float64]

    @property
    def verdict(self) -> Verdict:
        """Result of both questions.

        Where no labels could be significant, only a number below that by chance counts.
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
    """Compare labels with requests.

    Parameters
    ----------
    table : array, (K, K)
        Images by requested value (rows) and label (columns), at least one.
    level
        Confidence level of the interval, in (0, 1).
    missing
        Images with a request and without a label.

    Raises
    ------
    ValueError
        If the table is not square or has no image.
    """
    counts = np.asarray(table, dtype=np.int64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.any():
        raise ValueError("a square table of requested values and labels with images is needed")
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
    """Return numbers of images that follow if labels are permuted, and their probabilities.

    With two values the law is hypergeometric. Otherwise it is drawn, and the first probability is
    that of the observed labels among the draws.
    """
    n = int(requested.sum())
    shown = np.flatnonzero(requested + labeled)
    if len(shown) <= 2:
        first = int(shown[0])
        agreeing = np.arange(min(requested[first], labeled[first]) + 1)
        weights = scipy.stats.hypergeom.pmf(agreeing, n, requested[first], labeled[first])
        possible = weights > 0
        outcomes = n - requested[first] - labeled[first] + 2 * agreeing
        return outcomes[possible], weights[possible]
    requests = np.repeat(np.arange(len(requested)), requested)
    labels = np.repeat(np.arange(len(labeled)), labeled)
    rng = np.random.default_rng([*requested.tolist(), *labeled.tolist()])
    permuted = rng.permuted(np.tile(labels, (DRAWS, 1)), axis=1)
    return (permuted == requests).sum(axis=1), np.full(DRAWS, 1 / (1 + DRAWS))


def _tail(reached: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Return the probability of outcomes. The observed labels are a draw, too."""
    unseen = max(1.0 - float(weights.sum()), 0.0)
    return min(float(weights[reached].sum()) + unseen, 1.0)


def _most(requested: NDArray[np.int64], labeled: NDArray[np.int64]) -> int:
    """Return the largest number of images that can follow."""
    return int(np.minimum(requested, labeled).sum())


def _shortfalls(
    requested: NDArray[np.int64], labeled: NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return p by value of the test whether fewer images have it than was requested."""
    p = np.ones(len(requested))
    wanted = np.flatnonzero(requested)
    shares = requested[wanted] / n * (1 - LABEL_ERRORS)
    p[wanted] = holm(scipy.stats.binom.cdf(labeled[wanted], n, shares).tolist())
    return p
