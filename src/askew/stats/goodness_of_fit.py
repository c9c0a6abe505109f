"""Tests of whether an image set has the reference shares, based on Pearson's chi-squared.

askew reports the distance from the reference but tests Pearson's statistic, because this test has
more power. Compared with a distance, the statistic gives more weight to images whose label should
be rare according to the reference. p is the mid-p: samples that are exactly as extreme as the
observed sample count half. The usual p-value, which counts these samples fully, is reported as
`exact_p`. With few images, a test based on the usual p-value rejects less often than its level
allows.

There are three null hypotheses:

- Images are drawn from an exact reference. The distribution of the statistic is exact if there are
  at most `MOST_OUTCOMES` possible counts, and simulated if there are more.
- Labels have known errors. Images have the reference shares, and labeling errors are drawn from
  matrices that are compatible with the error counts (`confusion.ReadingErrors.drawn`).
- The reference was computed from another set of images. The images of both sets are pooled and
  randomly divided into two sets of the same sizes.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.confusion import ReadingErrors
from askew.stats.distance import distributions
from askew.stats.distributions import hypergeometric_pmf
from askew.stats.intervals import TOLERANCE, Floats, positive_counts

MOST_OUTCOMES = 200_000
"""Maximum number of possible counts (one number per value) that askew enumerates."""
DRAWS = 100_000
"""Number of simulated samples if there are too many possible counts to enumerate."""
ERROR_DRAWS = 20_000
"""Number of simulated samples if labels have errors, or if the reference comes from images."""


@dataclass(frozen=True, slots=True)
class FitTest:
    """Result of a test of whether images have the reference shares.

    Attributes
    ----------
    p
        Mid-p value: the probability of samples that are more extreme than the observed sample, plus
        half the probability of samples that are equally extreme.
    exact_p
        Probability of samples that are at least as extreme as the observed sample.
    """

    p: float
    exact_p: float


@dataclass(frozen=True, slots=True, eq=False)
class NullLaw:
    """Distribution of a statistic under a null hypothesis.

    Attributes
    ----------
    statistics : array, (outcomes,)
        Values of the statistic in ascending order.
    above : array, (outcomes + 1,)
        For each index, the probability of the value at this index or of any later value. The last
        is 0.
    unseen : float
        Probability that is added to every tail so that no p-value is 0: 1 / (1 + draws) in a
        simulation, 0 for an exact distribution.
    """

    statistics: Floats
    above: Floats
    unseen: float = 0.0

    @classmethod
    def of(cls, statistics: Floats, weights: Floats) -> "NullLaw":
        """Return the distribution of a statistic, given the probability of each of its values."""
        order = np.argsort(statistics, kind="stable")
        above = np.append(np.cumsum(weights[order][::-1])[::-1], 0.0)
        return cls(statistics=statistics[order], above=above)

    @classmethod
    def simulated(cls, statistics: Floats) -> "NullLaw":
        """Return the distribution of a statistic from its simulated values."""
        draws = len(statistics)
        weights = np.full(draws, 1 / (1 + draws))
        law = cls.of(statistics, weights)
        return cls(statistics=law.statistics, above=law.above, unseen=1 / (1 + draws))

    def p(self, statistics: ArrayLike) -> tuple[Floats, Floats]:
        """Return the mid-p and the usual p-value of each observed statistic."""
        observed = np.asarray(statistics, dtype=float)
        slack = TOLERANCE * (1 + np.where(np.isfinite(observed), np.abs(observed), 0))
        reached = self.above[np.searchsorted(self.statistics, observed - slack, side="left")]
        exceeded = self.above[np.searchsorted(self.statistics, observed + slack, side="right")]
        mid = (reached + exceeded) / 2 + self.unseen
        return np.minimum(mid, 1.0), np.minimum(reached + self.unseen, 1.0)


def pearson(counts: ArrayLike, expected: ArrayLike) -> Floats:
    """Compute Pearson's statistic, the sum of (x - e)**2 / e over the values.

    The statistic is infinite if images show a value whose expected number is 0.

    Parameters
    ----------
    counts, expected : array, (..., K)
        Observed and expected numbers of images for each value.
    """
    x = np.asarray(counts, dtype=float)
    e = np.broadcast_to(np.asarray(expected, dtype=float), x.shape)
    gap = np.square(x - e)
    if (e > 0).all():
        return np.asarray((gap / e).sum(axis=-1))
    terms = np.divide(gap, e, out=np.where(gap > 0, np.inf, 0.0), where=e > 0)
    return np.asarray(terms.sum(axis=-1))


def reference_test(
    counts: ArrayLike,
    reference: ArrayLike,
    *,
    reference_images: int | None = None,
    errors: ReadingErrors | None = None,
) -> FitTest:
    """Test whether images have the reference shares.

    Parameters
    ----------
    counts : array, (K,)
        Number of images with each label.
    reference : array, (K,)
        Reference shares.
    reference_images
        Number of images from which the reference was computed, with labels from the same
        instrument; None if the reference is exact. If the reference was computed from images, it
        has the same labeling errors, and `errors` is ignored.
    errors
        Known labeling errors.

    Raises
    ------
    NotEnoughData
        If there are no images.
    ValueError
        If `counts` are not non-negative whole numbers, or the shapes do not match.
    """
    c = positive_counts(counts, "counts of one image set", whole=True)
    _, q = distributions(c, reference)
    if reference_images is not None:
        return _exchange_test(c, np.rint(q * reference_images))
    n = int(c.sum())
    if errors is not None:
        expected, law = law_with_errors(n, tuple(q.tolist()), errors)
    else:
        expected = n * q
        law = exact_law(n, tuple(q.tolist()))
    return _fit_test(law, float(pearson(c, expected)))


def smallest_p(n: int, reference: tuple[float, ...]) -> float:
    """Return the minimum p-value that is possible for n images and an exact reference."""
    law = exact_law(n, reference)
    mid, _ = law.p(law.statistics[-1])
    return float(mid)


def _fit_test(law: NullLaw, statistic: float) -> FitTest:
    mid, usual = law.p(statistic)
    return FitTest(p=float(mid), exact_p=float(usual))


@lru_cache(maxsize=64)
def exact_law(n: int, reference: tuple[float, ...]) -> NullLaw:
    """Return the distribution of Pearson's statistic for n images drawn from a reference."""
    q = np.array(reference)
    if not counts_are_listed(n, len(q)):
        rng = np.random.default_rng([n, len(q)])
        return NullLaw.simulated(pearson(rng.multinomial(n, q, size=DRAWS), n * q))
    outcomes = possible_counts(n, len(q))
    return NullLaw.of(pearson(outcomes, n * q), multinomial_probabilities(outcomes, q))


def multinomial_probabilities(counts: Floats, shares: Floats) -> Floats:
    """Return the probability of each row of counts if the values have these shares."""
    images = counts.sum(axis=1)
    logs = scipy.special.gammaln(images + 1) - scipy.special.gammaln(counts + 1).sum(axis=1)
    logs = logs + scipy.special.xlogy(counts, shares).sum(axis=1)
    return np.asarray(np.exp(logs))


def counts_are_listed(n: int, values: int) -> bool:
    """Check whether the possible counts of n images are few enough to enumerate."""
    return math.comb(n + values - 1, values - 1) <= MOST_OUTCOMES


@lru_cache(maxsize=16)
def possible_counts(n: int, values: int) -> Floats:
    """Return all possible counts per value for n images (method of stars and bars).

    The counts have the shape (outcomes, K).
    """
    bars = np.array(list(combinations(range(n + values - 1), values - 1)), dtype=float)
    first = np.full((len(bars), 1), -1.0)
    last = np.full((len(bars), 1), float(n + values - 1))
    return np.asarray(np.diff(np.hstack([first, bars.reshape(len(first), -1), last])) - 1)


def law_with_errors(
    n: int, reference: tuple[float, ...], errors: ReadingErrors
) -> tuple[Floats, NullLaw]:
    """Return expected counts and the null distribution for labels with known errors.

    Parameters
    ----------
    n
        Number of images.
    reference
        Shares of the true values.
    errors
        Known labeling errors.
    """
    return _law_with_errors(n, reference, errors.key)


@lru_cache(maxsize=64)
def _law_with_errors(n: int, reference: tuple[float, ...], key: bytes) -> tuple[Floats, NullLaw]:
    values = len(reference)
    errors = ReadingErrors(np.frombuffer(key).reshape(values, values))
    shares = np.einsum("k,dkl->dl", reference, errors.drawn(ERROR_DRAWS, values))
    expected = n * shares.mean(axis=0)
    rng = np.random.default_rng([n, values])
    labels = rng.multinomial(n, shares / shares.sum(axis=1, keepdims=True))
    return expected, NullLaw.simulated(pearson(labels, expected))


def _exchange_test(counts: Floats, others: Floats) -> FitTest:
    """Test whether two sets have equal shares by randomly dividing all images into two sets."""
    pooled = counts + others
    n = int(counts.sum())
    total = int(pooled.sum())
    expected = pooled * n / total
    if len(counts) == 2:
        first = np.arange(max(0, n - int(pooled[1])), min(n, int(pooled[0])) + 1)
        weights = hypergeometric_pmf(first, total, int(pooled[0]), n)
        law = NullLaw.of(pearson(np.stack([first, n - first], axis=1), expected), weights)
    else:
        rng = np.random.default_rng([n, len(counts)])
        dealt = rng.multivariate_hypergeometric(
            pooled.astype(np.int64), n, size=ERROR_DRAWS, method="marginals"
        )
        law = NullLaw.simulated(pearson(dealt, expected))
    # given the pool, both sets' terms of the two-sample statistic are in a fixed ratio
    return _fit_test(law, float(pearson(counts, expected)))
