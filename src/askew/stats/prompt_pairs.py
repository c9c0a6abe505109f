"""Shares of values in two conditions that have the same prompts, such as the images of two models.

A test compares the two conditions. Images of the same prompt are similar, and shares differ between
prompts, so the test treats each prompt as a unit. The test randomly chooses prompts, each with
probability 1/2, and swaps all images of a chosen prompt between the two conditions. Two images with
the same seed belong to the same prompt and are swapped together, so their common properties cancel
out.

The share of a value over all prompts is a weighted mean of the prompts' shares. Prompt p has n_p
images in the first condition and m_p images in the second condition. The weight of prompt p is w_p
= 2 n_p m_p / (n_p + m_p), as in the Mantel-Haenszel estimate. If all prompts have the same n_p and
the same m_p, the weighted mean equals the share in all images of a condition.

The test statistic measures how much the weighted shares differ between the conditions. Let x_pk be
the number of images of prompt p that show value k in the first condition, and y_pk the
corresponding number in the second condition. The statistic is

    sum over k of (sum over p of w_p (x_pk / n_p - y_pk / m_p))**2 / t_k,
    t_k = sum over p of w_p (x_pk / n_p + y_pk / m_p).

With one image per prompt and condition, this is the statistic that `exchange` uses. Swaps do not
change any t_k. The null distribution of the statistic is computed exactly unless there are too many
different sums over prompts. To reduce the number of sums, askew groups prompts that have the same
difference between the two conditions.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.clustered import cluster_correlation
from askew.stats.distance import Distance
from askew.stats.distributions import binomial_pmf
from askew.stats.exchange import (
    FIRST_DRAWS,
    MORE_DRAWS,
    SMALL_P,
    ExchangeTest,
    tested_distance,
)
from askew.stats.goodness_of_fit import FitTest, NullLaw
from askew.stats.intervals import Floats, ends, mover, student_stretch
from askew.stats.shares import wilson
from askew.types import Estimate

FEWEST_PAIRS = 6
"""Minimum number of prompts for which a test that swaps conditions can be significant."""
MOST_SUMS = 20_000
"""Maximum number of different sums over prompts for which the test is exact."""
BATCH = 20_000  # draws that are simulated together
LARGEST_DENOMINATOR = 1_000_000
"""Maximum common denominator for which differences are computed as exact fractions."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PromptPairs:
    """Label counts for the images in two conditions that have the same prompts.

    Attributes
    ----------
    first, second : array, (prompts, K)
        Number of images in each condition for each prompt and label, at least one image per prompt.
    """

    first: Floats
    second: Floats

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike) -> Self:
        """Check the counts of both conditions, and return them.

        Raises
        ------
        NotEnoughData
            If there are fewer than two prompts.
        ValueError
            If the two arrays have different shapes, or a prompt has no images.
        """
        x = np.asarray(first, dtype=float)
        y = np.asarray(second, dtype=float)
        if x.shape != y.shape or x.ndim != 2:
            raise ValueError("both conditions need counts for the same prompts and values")
        if len(x) < 2:
            raise NotEnoughData("two prompts with labeled images are needed")
        if not (x.sum(axis=1).all() and y.sum(axis=1).all()):
            raise ValueError("a prompt has no labeled images; leave out this prompt")
        return cls(first=x, second=y)

    def of_value(self, value: int) -> Self:
        """Return counts in two columns: images that show the value, and images that do not.

        Parameters
        ----------
        value
            Column of the value.
        """

        def columns(counts: Floats) -> Floats:
            shown = counts[:, value]
            return np.stack([shown, counts.sum(axis=1) - shown], axis=1)

        return type(self)(first=columns(self.first), second=columns(self.second))

    @property
    def images(self) -> int:
        """Total number of images in the two conditions."""
        return int(self.first.sum() + self.second.sum())

    @property
    def weights(self) -> Floats:
        """Weight (prompts,) of each prompt."""
        n = self.first.sum(axis=1)
        m = self.second.sum(axis=1)
        return np.asarray(2 * n * m / (n + m))

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """Shares over all prompts in the first condition and in the second condition."""
        of_first, of_second = self._weighted()
        total = self.weights.sum()
        return of_first.sum(axis=0) / total, of_second.sum(axis=0) / total

    def exchanged(self, draws: int, rng: Generator) -> tuple[Floats, Floats]:
        """Return the shares of both conditions after swapping the conditions of random prompts.

        Parameters
        ----------
        draws
            Number of permutations.
        rng
            Random generator for the permutations.
        """
        of_first, of_second = self._weighted()
        total = self.weights.sum()
        middle = (of_first + of_second).sum(axis=0) / 2
        numerators, denominator = self._differences()
        halves = DifferentPrompts.of(numerators).sums(draws, rng) / denominator / 2
        first, second = (np.maximum(sums, 0) / total for sums in (middle + halves, middle - halves))
        return first, second

    def test(self) -> ExchangeTest:
        """Test whether both conditions have the same shares over all prompts."""
        of_first, of_second = self._weighted()
        totals = (of_first + of_second).sum(axis=0)
        shown = totals > 0
        numerators, denominator = self._differences()
        numerators = numerators[:, shown]
        prompts = DifferentPrompts.of(numerators)

        def statistic(sums: Integers) -> Floats:
            return np.asarray((np.square(sums / denominator) / totals[shown]).sum(axis=-1))

        observed = statistic(numerators.sum(axis=0))
        law = prompts.exact_sums()
        if law is not None:
            sums, weights = law
            return ExchangeTest.of(NullLaw.of(statistic(sums), weights), observed)
        result = ExchangeTest.of(NullLaw.simulated(statistic(prompts.draws(FIRST_DRAWS))), observed)
        if result.p < SMALL_P:
            simulated = NullLaw.simulated(statistic(prompts.draws(MORE_DRAWS)))
            return ExchangeTest.of(simulated, observed)
        return result

    def share_estimates(self, value: int, *, level: float = 0.95) -> tuple[Estimate, Estimate]:
        """Estimate the share of a value over all prompts in each condition, in [0, 1].

        The interval is a Wilson interval at the effective sample size (`independent_images`).

        Parameters
        ----------
        value
            Column of the value.
        level
            Confidence level of the intervals, in (0, 1).
        """
        first, second = (
            _share(counts[:, value], counts.sum(axis=1), self.weights, level)
            for counts in (self.first, self.second)
        )
        return first, second

    def share_difference(
        self, value: int, *, level: float = 0.95, test: FitTest | None = None
    ) -> Estimate:
        """Estimate the difference in a value's share between the conditions (first minus second).

        The interval combines the intervals of both shares (MOVER; Newcombe 1998), using the
        correlation between the conditions across prompts. p is the mid-p of the test that randomly
        swaps the conditions of each prompt.

        Parameters
        ----------
        value
            Column of the value.
        level
            Confidence level of the interval, in (0, 1).
        test
            Result of `of_value(value).test()`, if it is already known.
        """
        a, b = self.share_estimates(value, level=level)
        of_first = self.first[:, value] / self.first.sum(axis=1)
        of_second = self.second[:, value] / self.second.sum(axis=1)
        correlation = cluster_correlation(of_first, of_second)
        low, high = mover(a.value, b.value, ends(a), ends(b), correlation)
        return Estimate(
            value=a.value - b.value,
            low=max(low, -1.0),
            high=min(high, 1.0),
            level=level,
            interval="MOVER, Wilson, paired by prompt",
            n=self.images,
            null=0.0,
            max=1.0,
            p=(test or self.of_value(value).test()).p,
        )

    def distance(
        self,
        test: FitTest,
        *,
        distance: str | Distance = "total_variation",
        rng: Generator,
        draws: int = 1000,
    ) -> Estimate:
        """Estimate the distance between the shares of both conditions, without an interval.

        Parameters
        ----------
        test
            Result of the method `test`. The estimate reports its p.
        distance
            Name of a distance, as in `shares.distance_estimate`, or a function.
        rng
            Random generator for the permutations. The mean distance after swaps is the null value.
        draws
            Number of permutations.
        """
        exchanged = self.exchanged(draws, rng)
        return tested_distance(self.shares, exchanged, self.images, test, distance)

    def _weighted(self) -> tuple[Floats, Floats]:
        """Return, for both conditions, the shares of each prompt multiplied by its weight."""
        weights = self.weights[:, None]
        first, second = (
            weights * counts / counts.sum(axis=1, keepdims=True)
            for counts in (self.first, self.second)
        )
        return first, second

    def _differences(self) -> tuple[Integers, int]:
        """Return the differences between weighted shares as fractions with a common denominator.

        The numerators are whole numbers, so equal sums never differ because of rounding errors. If
        the numbers of images vary a lot between prompts, the common denominator may become too
        large. The differences are then rounded.
        """
        n = self.first.sum(axis=1, keepdims=True)
        m = self.second.sum(axis=1, keepdims=True)
        denominator = math.lcm(*(n + m).astype(int).ravel().tolist())
        denominator = min(denominator, LARGEST_DENOMINATOR)
        differences = 2 * (self.first * m - self.second * n) / (n + m)
        return np.rint(differences * denominator).astype(np.int64), denominator


@dataclass(frozen=True, eq=False)
class DifferentPrompts:
    """Distinct differences between the two conditions, with the number of prompts for each.

    Prompts without a difference are left out.

    Attributes
    ----------
    differences : array, (U, K)
        Distinct differences. The sign of each difference is chosen so that its first nonzero number
        is positive.
    counts : array, (U,)
        Number of prompts that have this difference or its negative.
    """

    differences: Integers
    counts: Integers

    @classmethod
    def of(cls, differences: Integers) -> Self:
        """Return the distinct differences, with the number of prompts that have each difference."""
        rows = differences[differences.any(axis=1)]
        leading = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
        unique, counts = np.unique(rows * np.sign(leading)[:, None], axis=0, return_counts=True)
        return cls(differences=unique, counts=counts.astype(np.int64))

    def exact_sums(self) -> tuple[Integers, Floats] | None:
        """Return the possible sums under random signs, and their probabilities.

        Return None if there are too many sums.
        """
        sums = np.zeros((1, self.differences.shape[1]), dtype=np.int64)
        weights: Floats = np.ones(1)
        for difference, count in zip(self.differences, self.counts, strict=True):
            if len(sums) * (count + 1) > MOST_SUMS:
                return None
            signs = 2 * np.arange(count + 1) - count
            chances = binomial_pmf(np.arange(count + 1), count, 0.5)
            steps = signs[:, None] * difference
            reached = (sums[:, None] + steps).reshape(-1, sums.shape[1])
            sums, places = np.unique(reached, axis=0, return_inverse=True)
            products = np.outer(weights, chances).ravel()
            weights = np.bincount(places.ravel(), weights=products).astype(float)
        return sums, weights

    def sums(self, draws: int, rng: Generator) -> Integers:
        """Draw sums of the differences under random signs, as an array of shape (draws, K).

        Parameters
        ----------
        draws
            Number of sums.
        rng
            Random generator for the signs.
        """
        signs = 2 * rng.binomial(self.counts, 0.5, size=(draws, len(self.counts))) - self.counts
        return np.asarray(signs @ self.differences)

    def draws(self, number: int) -> Integers:
        """Draw `number` sums, with a seed that depends only on the differences and on `number`."""
        rng = np.random.default_rng([*self.counts.tolist(), number])
        return np.concatenate(list(self._batches(number, rng)))

    def _batches(self, number: int, rng: Generator) -> Iterator[Integers]:
        for start in range(0, number, BATCH):
            yield self.sums(min(BATCH, number - start), rng)


def _share(shown: Floats, sizes: Floats, weights: Floats, level: float) -> Estimate:
    """Estimate the weighted mean share of a value over prompts, in [0, 1]."""
    share = min(float((weights * shown / sizes).sum() / weights.sum()), 1.0)
    low, high = wilson(share, independent_images(shown, sizes, weights, level), level)
    return Estimate(
        value=share,
        low=low,
        high=high,
        level=level,
        interval="Wilson, independent images",
        n=int(sizes.sum()),
        max=1.0,
    )


def independent_images(
    shown: ArrayLike, sizes: ArrayLike, weights: ArrayLike, level: float
) -> float:
    """Return the effective sample size for a weighted mean of the prompts' shares.

    This is the number of independent images whose share would have the same sampling error. The
    effective sample size is the number of images, reduced if the weights are unequal, and divided
    by the design effect, which is at least 1. If the design effect is above 1 and there are few
    prompts, the effective sample size is reduced further, because Student's t replaces the normal
    quantile.

    Parameters
    ----------
    shown, sizes, weights : array, (prompts,)
        Number of images that show a value, number of images, and weight of each prompt.
    level
        Confidence level of the interval, in (0, 1).
    """
    x = np.asarray(shown, dtype=float)
    n = np.asarray(sizes, dtype=float)
    parts = np.asarray(weights, dtype=float) / np.sum(weights)
    prompts = len(parts)
    independent = 1 / float((parts**2 / n).sum())
    share = float(parts @ (x / n))
    variance_of_images = share * (1 - share) / independent
    between = float(np.square(parts * (x / n - share)).sum())
    variance = prompts / (prompts - 1) * between
    if variance_of_images <= 0 or variance <= variance_of_images:
        return independent
    effect = variance / variance_of_images
    return independent / effect / student_stretch(level, prompts - 1) ** 2
