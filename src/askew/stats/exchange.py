"""Test whether two image sets have equal shares, by randomly swapping images between the sets.

The statistic is Pearson's chi-squared for two sets. Let a_k and b_k be the numbers of images that show
value k in the two sets. For sets of equal size, the statistic is

    sum over k of (b_k - a_k)**2 / (a_k + b_k).

Under the null hypothesis, the two images of a pair are swapped with probability 1/2, and images
without a partner are randomly assigned to the sets. An *exchange* is a random rearrangement of all
images by these rules. An exchange never changes a_k + b_k, so the denominators are fixed. Swapping
two images that show the same value does not change the statistic.

If the images show at most two values, askew computes the distribution of the statistic exactly.
Otherwise askew simulates it. As in `goodness_of_fit`, p is the mid-p, which counts half of the
samples that are exactly as extreme as the observed sample. `exact_p` counts all of these samples.
askew reports the mid-p together with the distance between the two sets.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.stats.distance import Distance, distance_named
from askew.stats.distributions import binomial_pmf, hypergeometric_pmf
from askew.stats.goodness_of_fit import FitTest, NullLaw
from askew.stats.intervals import TOLERANCE, Floats, corrected
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate

FIRST_DRAWS = 20_000
"""Number of samples in the first simulation."""
MORE_DRAWS = 200_000
"""Number of samples in the second simulation, for small p-values."""
SMALL_P = 0.01
"""askew runs a second simulation if p is below this threshold in the first simulation."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExchangeTest(FitTest):
    """Result of a test for equal shares in two sets.

    Attributes
    ----------
    smallest_p
        Minimum of the mid-p over all exchanges of these images. If this minimum is above the
        significance level, the test can be left out of a family of tests (Tarone 1990).
    """

    smallest_p: float

    @classmethod
    def of(cls, law: NullLaw, statistic: Floats) -> Self:
        """Return the test result for a statistic; p is 1 if the statistic has its minimum value."""
        mid, usual = law.p(statistic)
        smallest, _ = law.p(law.statistics[-1])
        if usual > 1 - TOLERANCE:
            return cls(p=1.0, exact_p=1.0, smallest_p=float(smallest))
        return cls(p=float(mid), exact_p=float(usual), smallest_p=float(smallest))


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeCounts:
    """Image counts that determine the null distribution of the statistic.

    Attributes
    ----------
    alike : array, (K,)
        Number of pairs in which both images show the value, for each value.
    different : array, (K, K)
        Number of pairs in which the images show two different values, in either order. Only the
        cells above the diagonal are used.
    rest : array, (K,)
        For each value, the total number of unpaired images across the two sets.
    sizes : tuple of int
        Number of images in the first set and in the second set.
    rest_of_first
        Number of unpaired images in the first set.
    first : array, (K,)
        For each value, number of images in the first set.
    """

    alike: Integers
    different: Integers
    rest: Integers
    sizes: tuple[int, int]
    rest_of_first: int
    first: Integers

    @classmethod
    def of(cls, sets: PairedSets) -> Self:
        """Count the images in two sets. Values that no image shows are left out."""
        shown = (sets.first.sum(axis=0) + sets.second.sum(axis=0)) > 0
        first, second = sets.pairs[:, :, shown]
        table = np.rint(first.T @ second).astype(np.int64)
        rest = np.concatenate(sets.rest)[:, shown].sum(axis=0)
        return cls(
            alike=np.diag(table).copy(),
            different=np.triu(table + table.T, k=1),
            rest=np.rint(rest).astype(np.int64),
            sizes=(len(sets.first), len(sets.second)),
            rest_of_first=len(sets.rest[0]),
            first=np.rint(sets.first[:, shown].sum(axis=0)).astype(np.int64),
        )

    @property
    def total(self) -> Integers:
        """For each value, total number of images in the two sets."""
        of_pairs = 2 * self.alike + self.different.sum(axis=0) + self.different.sum(axis=1)
        return np.asarray(of_pairs + self.rest)

    def statistic(self, first: Integers | Floats) -> Floats:
        """Compute the statistic from the counts of the first set, which have the shape (..., K)."""
        n, m = self.sizes
        total = self.total
        gap = np.asarray(first, dtype=float) * (n + m) - n * total
        return np.asarray((gap**2 / total).sum(axis=-1) / (n * m))

    def exact_law(self) -> NullLaw:
        """Return the exact distribution of the statistic, for images with at most two values."""
        if len(self.first) == 1:
            return NullLaw.of(np.zeros(1), np.ones(1))
        different = int(self.different.sum())
        swapped = np.arange(different + 1)
        of_others = int(self.rest.sum() - self.rest[0])
        least = max(self.rest_of_first - of_others, 0)
        dealt = np.arange(least, min(int(self.rest[0]), self.rest_of_first) + 1)
        dealt_weights = np.ones(1)
        if self.rest.any():
            dealt_weights = hypergeometric_pmf(
                dealt, int(self.rest.sum()), int(self.rest[0]), self.rest_of_first
            )
        weights = np.outer(binomial_pmf(swapped, different, 0.5), dealt_weights)
        of_value = (self.alike[0] + swapped[:, None] + dealt).ravel()
        first = np.stack([of_value, self.sizes[0] - of_value], axis=1)
        return NullLaw.of(self.statistic(first), weights.ravel())

    def simulated_law(self, draws: int) -> NullLaw:
        """Simulate the distribution of the statistic with `draws` random exchanges."""
        rng = np.random.default_rng([*self.sizes, *self.total.tolist(), draws])
        first = np.tile(self.alike, (draws, 1))
        if self.rest.any():
            first += rng.multivariate_hypergeometric(
                self.rest, self.rest_of_first, size=draws, method="marginals"
            )
        for place, other in np.argwhere(self.different):
            images = self.different[place, other]
            swapped = rng.binomial(images, 0.5, size=draws)
            first[:, place] += swapped
            first[:, other] += images - swapped
        return NullLaw.simulated(self.statistic(first))


def exchange_test(sets: PairedSets) -> ExchangeTest:
    """Test whether two sets have the same shares.

    Parameters
    ----------
    sets
        Both sets, as arrays of shape (images, K). Each row has a 1 in the column of the image's
        value and 0 in all other columns.
    """
    counts = ExchangeCounts.of(sets)
    observed = counts.statistic(counts.first)
    if len(counts.first) <= 2:
        return ExchangeTest.of(counts.exact_law(), observed)
    test = ExchangeTest.of(counts.simulated_law(FIRST_DRAWS), observed)
    if test.p < SMALL_P:
        return ExchangeTest.of(counts.simulated_law(MORE_DRAWS), observed)
    return test


def exchange_test_of_value(sets: PairedSets, value: int) -> ExchangeTest:
    """Test whether two sets have the same share of one value.

    Parameters
    ----------
    sets
        As in `exchange_test`.
    value
        Column of the value.
    """
    return exchange_test(sets.of_value(value))


def distance_of_sets(
    sets: PairedSets,
    test: FitTest,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
) -> Estimate:
    """Estimate the distance between the shares of two sets, without an interval.

    Parameters
    ----------
    sets
        As in `exchange_test`.
    test
        Result of the test for equal shares. The estimate reports its p.
    distance
        Name of a distance, as in `shares.distance_estimate`, or a function.
    rng
        Random generator for the exchanges. The mean distance after an exchange is the null value.
    draws
        Number of exchanges.
    """
    images = len(sets.first) + len(sets.second)
    return tested_distance(sets.means, sets.exchanged(draws, rng), images, test, distance)


def tested_distance(
    shares: tuple[Floats, Floats],
    exchanged: tuple[Floats, Floats],
    images: int,
    test: FitTest,
    distance: str | Distance,
) -> Estimate:
    """Estimate the distance between the shares of two sets from precomputed exchanges.

    Parameters
    ----------
    shares : tuple of array, (K,)
        Shares of both sets.
    exchanged : tuple of array, (draws, K)
        Shares of both sets after each exchange. The mean distance over all exchanges is the null
        value.
    images
        Total number of images in the two sets.
    test, distance
        As in `distance_of_sets`.
    """
    measure = distance_named(distance)
    estimate = Estimate(value=float(measure(*shares)), n=images, max=1.0)
    return corrected(estimate, float(measure(*exchanged).mean()), test.p)
