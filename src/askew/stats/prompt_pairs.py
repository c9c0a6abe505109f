"""Shares in two conditions of the same prompts, such as the images of two models, paired by prompt.

Images of a prompt are alike, and prompts have different shares. So the unit is the prompt. Under the
null, all images of a prompt in the two conditions are exchanged with probability 1/2. Images of one
seed are in the same prompt and are exchanged together, so what they have in common cancels out.

The share of a value over all prompts is the mean of the prompts' shares. Prompt p with n_p and m_p
images has the weight w_p = 2 n_p m_p / (n_p + m_p), as in the estimate of Mantel and Haenszel. With
equal numbers of images it is the share in all images. With x_p and y_p images of each value, the
statistic of the test is

    sum over k of (sum over p of w_p (x_pk / n_p - y_pk / m_p))**2 / t_k,
    t_k = sum over p of w_p (x_pk / n_p + y_pk / m_p).

With an image of each prompt and condition, it is the statistic of `exchange`. Exchanges change no t_k.
Prompts that differ alike are counted together. The law is exact unless there are very many sums.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.clustered import cluster_correlation
from askew.stats.distance import Distance
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
"""Number of prompts from which exchanging the conditions of prompts can be significant."""
MOST_SUMS = 20_000
"""Number of different sums over prompts up to which the law of the test is exact."""
BATCH = 20_000  # draws that are simulated together
LARGEST_DENOMINATOR = 1_000_000
"""Common denominator of the differences of prompts up to which they are whole numbers."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PromptPairs:
    """Labels of the images of the same prompts in two conditions.

    Attributes
    ----------
    first, second : array, (prompts, K)
        Images by prompt and label, at least one for each prompt.
    """

    first: Floats
    second: Floats

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike) -> Self:
        """Return checked counts.

        Raises
        ------
        NotEnoughData
            If there are fewer than two prompts.
        ValueError
            If the shapes differ, or a prompt has no images.
        """
        x = np.asarray(first, dtype=float)
        y = np.asarray(second, dtype=float)
        if x.shape != y.shape or x.ndim != 2:
            raise ValueError("both conditions need counts of the same prompts and values")
        if len(x) < 2:
            raise NotEnoughData("two prompts with labeled images are needed")
        if not (x.sum(axis=1).all() and y.sum(axis=1).all()):
            raise ValueError("a prompt has no labeled image; leave it out")
        return cls(first=x, second=y)

    def of_value(self, value: int) -> Self:
        """Return counts with two columns: an image shows a value, or it does not.

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
        """Number of images of both conditions."""
        return int(self.first.sum() + self.second.sum())

    @property
    def weights(self) -> Floats:
        """Weights of the prompts (prompts,)."""
        n = self.first.sum(axis=1)
        m = self.second.sum(axis=1)
        return np.asarray(2 * n * m / (n + m))

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """Shares (K,) of both conditions over all prompts."""
        of_first, of_second = self._weighted()
        total = self.weights.sum()
        return of_first.sum(axis=0) / total, of_second.sum(axis=0) / total

    def exchanged(self, draws: int, rng: Generator) -> tuple[Floats, Floats]:
        """Return shares (draws, K) of both conditions after random exchanges of prompts.

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
        """Estimate the shares of a value over all prompts, in [0, 1].

        Interval: Wilson's with the number of independent images (see `independent_images`).

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
        """Estimate the share of a value in the first minus its share in the second condition.

        Interval: both shares' intervals combined (MOVER; Newcombe 1998), with the correlation of
        the prompts. p: mid-p of the exchange of prompts.

        Parameters
        ----------
        value
            Column of the value.
        level
            Confidence level of the interval, in (0, 1).
        test
            Result of the test of the value (`of_value(value).test()`), if it is known.
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
            Result of `test`, which gives p.
        distance
            Name of a distance, as in `shares.distance_estimate`, or a function.
        rng
            Random generator for the permutations, whose mean distance is the null.
        draws
            Number of permutations.
        """
        exchanged = self.exchanged(draws, rng)
        return tested_distance(self.shares, exchanged, self.images, test, distance)

    def _weighted(self) -> tuple[Floats, Floats]:
        """Return the weighted shares (prompts, K) of both conditions."""
        weights = self.weights[:, None]
        first, second = (
            weights * counts / counts.sum(axis=1, keepdims=True)
            for counts in (self.first, self.second)
        )
        return first, second

    def _differences(self) -> tuple[Integers, int]:
        """Return the differences (prompts, K) of weighted shares as fractions with one denominator.

        Whole numerators make equal sums equal. Prompts with many different numbers of images have
        no small common denominator, so their differences are rounded.
        """
        n = self.first.sum(axis=1, keepdims=True)
        m = self.second.sum(axis=1, keepdims=True)
        denominator = math.lcm(*(n + m).astype(int).ravel().tolist())
        denominator = min(denominator, LARGEST_DENOMINATOR)
        differences = 2 * (self.first * m - self.second * n) / (n + m)
        return np.rint(differences * denominator).astype(np.int64), denominator


@dataclass(frozen=True, eq=False)
class DifferentPrompts:
    """Differences of prompts, without zeros. Equal differences are counted together.

    Attributes
    ----------
    differences : array, (U, K)
        Different differences, each with the sign that makes its first number that is not 0
        positive.
    counts : array, (U,)
        Number of prompts with this difference or its negative.
    """

    differences: Integers
    counts: Integers

    @classmethod
    def of(cls, differences: Integers) -> Self:
        """Count the differences (prompts, K) of prompts."""
        rows = differences[differences.any(axis=1)]
        leading = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
        unique, counts = np.unique(rows * np.sign(leading)[:, None], axis=0, return_counts=True)
        return cls(differences=unique, counts=counts.astype(np.int64))

    def exact_sums(self) -> tuple[Integers, Floats] | None:
        """Return all sums (sums, K) with random signs, and their probabilities; None if too many."""
        sums = np.zeros((1, self.differences.shape[1]), dtype=np.int64)
        weights: Floats = np.ones(1)
        for difference, count in zip(self.differences, self.counts, strict=True):
            if len(sums) * (count + 1) > MOST_SUMS:
                return None
            signs = 2 * np.arange(count + 1) - count
            chances = scipy.stats.binom.pmf(np.arange(count + 1), count, 0.5)
            steps = signs[:, None] * difference
            reached = (sums[:, None] + steps).reshape(-1, sums.shape[1])
            sums, places = np.unique(reached, axis=0, return_inverse=True)
            products = np.outer(weights, chances).ravel()
            weights = np.bincount(places.ravel(), weights=products).astype(float)
        return sums, weights

    def sums(self, draws: int, rng: Generator) -> Integers:
        """Return sums (draws, K) of the differences with random signs.

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
        """Return sums (number, K) that depend only on the differences."""
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
    """Return the number of independent images whose share errs as much as that of some prompts.

    It is the number of images, reduced for unequal weights, divided by the design effect (at least
    1), and reduced for few prompts (t for z) where the prompts differ.

    Parameters
    ----------
    shown, sizes, weights : array, (prompts,)
        Images that show a value, images, and weight of each prompt.
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
