"""Test whether two image sets have the same shares, by exchanging their images.

The statistic is Pearson's for two sets. For sets of equal size with a_k and b_k images of value k, it
is

    sum over k of (b_k - a_k)**2 / (a_k + b_k).

Under the null, the two images of a pair are exchanged with probability 1/2, and images without a
partner are dealt to both sets at random. Exchanges change no a_k + b_k, so the denominators are fixed.
Of images that both models label alike, none counts.

Where images show at most two values, the law of the statistic is exact. Otherwise it is simulated. As
in `goodness_of_fit`, p is the mid-p, and `exact_p` counts samples as extreme as the observed one in
full.

The distance of the two sets is what askew reports, as with the test against a reference.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.stats.distance import Distance, distance_named
from askew.stats.goodness_of_fit import FitTest, NullLaw
from askew.stats.intervals import TOLERANCE, Floats, corrected
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate

FIRST_DRAWS = 20_000
"""Samples of the first simulation."""
MORE_DRAWS = 200_000
"""Samples of the second simulation, which small p-values need."""
SMALL_P = 0.01
"""p of the first simulation below which there is a second one."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExchangeTest(FitTest):
    """Result of a test whether two sets have the same shares.

    Attributes
    ----------
    smallest_p
        Smallest mid-p that any exchange of these images can have. A test whose smallest p is above
        the significance level can be left out of a family of tests (Tarone 1990).
    """

    smallest_p: float

    @classmethod
    def of(cls, law: NullLaw, statistic: Floats) -> Self:
        """Return the result for an observed statistic. p is 1 for the smallest possible statistic."""
        mid, usual = law.p(statistic)
        smallest, _ = law.p(law.statistics[-1])
        p = 1.0 if usual > 1 - TOLERANCE else float(mid)
        return cls(p=p, exact_p=float(usual), smallest_p=float(smallest))


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeCounts:
    """Numbers of images that decide the null law of an exchange.

    Attributes
    ----------
    alike : array, (K,)
        Pairs whose images both show a value.
    different : array, (K, K)
        Pairs whose images show two values, in either order, above the diagonal.
    rest : array, (K,)
        Images without a partner, of both sets.
    sizes : tuple of int
        Images of the first and the second set.
    rest_of_first
        Images of the first set without a partner.
    first : array, (K,)
        Images of the first set.
    """

    alike: Integers
    different: Integers
    rest: Integers
    sizes: tuple[int, int]
    rest_of_first: int
    first: Integers

    @classmethod
    def of(cls, sets: PairedSets) -> Self:
        """Count the images of two sets, without values that no image shows."""
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
        """Images of both sets by value (K,)."""
        of_pairs = 2 * self.alike + self.different.sum(axis=0) + self.different.sum(axis=1)
        return np.asarray(of_pairs + self.rest)

    def statistic(self, first: Integers | Floats) -> Floats:
        """Compute the statistic of counts (..., K) of the first set."""
        n, m = self.sizes
        total = self.total
        gap = np.asarray(first, dtype=float) * (n + m) - n * total
        return np.asarray((gap**2 / total).sum(axis=-1) / (n * m))

    def exact_law(self) -> NullLaw:
        """Return the law of the statistic where images show at most two values."""
        if len(self.first) == 1:
            return NullLaw.of(np.zeros(1), np.ones(1))
        different = int(self.different.sum())
        swapped = np.arange(different + 1)
        of_others = int(self.rest.sum() - self.rest[0])
        least = max(self.rest_of_first - of_others, 0)
        dealt = np.arange(least, min(int(self.rest[0]), self.rest_of_first) + 1)
        dealt_weights = np.ones(1)
        if self.rest.any():
            dealt_weights = scipy.stats.hypergeom.pmf(
                dealt, int(self.rest.sum()), int(self.rest[0]), self.rest_of_first
            )
        weights = np.outer(scipy.stats.binom.pmf(swapped, different, 0.5), dealt_weights)
        of_value = (self.alike[0] + swapped[:, None] + dealt).ravel()
        first = np.stack([of_value, self.sizes[0] - of_value], axis=1)
        return NullLaw.of(self.statistic(first), weights.ravel())

    def simulated_law(self, draws: int) -> NullLaw:
        """Return the law of the statistic in so many exchanges."""
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
        Rows (images, K), 1 in the column of the image's value and 0 in the others.
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
        Result of the test whether the sets have the same shares, which gives p.
    distance
        Name of a distance, as in `shares.distance_estimate`, or a function.
    rng
        Random generator for the permutations, whose mean distance is the null.
    draws
        Number of permutations.
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
    """Estimate the distance between the shares of two sets from their exchanges.

    Parameters
    ----------
    shares : tuple of array, (K,)
        Shares of both sets.
    exchanged : tuple of array, (draws, K)
        Shares after exchanges, whose mean distance is the null.
    images
        Number of images of both sets.
    test, distance
        As in `distance_of_sets`.
    """
    measure = distance_named(distance)
    estimate = Estimate(value=float(measure(*shares)), n=images, max=1.0)
    return corrected(estimate, float(measure(*exchanged).mean()), test.p)
