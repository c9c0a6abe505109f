"""Interval of a population's distance from a reference distribution, by inverting a test.

The distance of the shares of n images is too large on average: values that are as frequent as in
the reference still differ by chance. Resampling the shares cannot correct this. So populations on
two paths are tested instead. A population is rejected if too few of its samples have a distance as
extreme as the observed distance. The excess depends on which values truly differ, which the data
reveal only in part. So each end is computed for the least favorable case:

- low: the difference is in as few values as possible (`sparse`). The other values have their
  reference shares and add the most excess. At the level `POINT` this end is the debiased distance:
  0 for half of all samples of a fair population.
- high: starting at the observed shares, increasingly many images show the values that are clearly
  in excess (`outward`). The other values move away from the reference on the other side, where they
  add no excess.

Both paths start at the reference, so the interval excludes 0 only if such data are rare for a fair
population. For the high end, rejection is measured relative to the reference (as in the CLs method
of particle physics). Shares that are closer to the reference than chance allows are replaced by the
closest shares that chance allows. Otherwise they would reject all populations, and the interval
would be empty.

All functions work on one set of shares, or a stack along leading axes. Samples may come from tables
(`common_draws`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.stats.distance import Distance, normalised
from askew.stats.intervals import POINT, TOLERANCE, Floats, first_accepted, tail

PSEUDO_PICTURES = 0.5
"""Number of pseudo-images of the reference that are added to the observed shares at the bend of `outward`."""
PSEUDO_IMAGES = 1.0
"""Images by which a counted reference is pulled to uniform shares, where samples are drawn."""
CLEAR_Z = 1.0
"""Excess over the reference, in standard errors, from which a value is clearly in excess."""
END = 3.0  # of the outward path
TIES = 1e-9  # of values equally in excess, the outward path leads to the rarest
METHOD = "test inversion"

Bools = NDArray[np.bool_]
Sampler = Callable[[Floats], Floats]
"""Populations (..., K) to the distances (..., draws) of samples from them."""
Path = Callable[[Floats], Floats]
"""Positions t (...) on a path to populations (..., K)."""


def as_exact_together(pictures: float, others: float | None) -> int:
    """Return the size n m / (n + m) of a set whose sampling error equals that of a difference of two sets.

    Parameters
    ----------
    pictures
        Size n of the first set.
    others
        Size m of the second set. None: it is exact.
    """
    if others is None:
        return int(pictures)
    return max(round(pictures * others / (pictures + others)), 1)


def sample_of(
    counts: Floats, reference: Floats, reference_images: int | None, measure: Distance
) -> "SampledShares":
    """Return the shares of one set as a sample.

    If the reference was counted, the sample is as small as errs like the difference of both sets.

    Parameters
    ----------
    counts : array, (K,)
        Images by value.
    reference : array, (K,)
        The reference shares.
    reference_images
        Number of images in which they were counted. None: they are exact.
    measure
        The distance.
    """
    n = float(counts.sum())
    population = reference_population(reference, reference_images)
    return SampledShares(
        shares=shifted_shares(counts / n, reference, population),
        pictures=as_exact_together(n, reference_images),
        reference=population,
        measure=measure,
        uncut=None if reference_images is None else np.asarray(measure(counts, reference)),
    )


def reference_population(reference: Floats, images: int | None) -> Floats:
    """Return the shares that samples are drawn from if a set has the reference shares.

    A value that was not seen in a counted reference may be rare, so `PSEUDO_IMAGES` are added.

    Parameters
    ----------
    reference : array, (K,)
        The reference shares.
    images
        Number of images in which they were counted. None: they are exact.
    """
    if images is None:
        return reference
    return normalised(reference * images + PSEUDO_IMAGES / len(reference))


def shifted_shares(shares: Floats, reference: Floats, population: Floats) -> Floats:
    """Return shares whose gap to a reference population is that of shares to the reference.

    Parameters
    ----------
    shares, reference, population : array, (K,)
        The shares, their reference, and its `reference_population`.
    """
    if population is reference:
        return shares
    return normalised(np.maximum(population + shares - reference, 0))


@dataclass(frozen=True, slots=True)
class ObservedDistances:
    """Distances that samples are compared with.

    Attributes
    ----------
    distances : array, (...)
        The observed distances, at least as large as the low quantile of fair samples.
    below_if_fair : array, (...)
        Share of fair samples below them.
    """

    distances: Floats
    below_if_fair: Floats


@dataclass(frozen=True, slots=True)
class SampledShares:
    """Shares of independent images, and their reference distribution.

    Attributes
    ----------
    shares : array, (..., K)
        The observed shares.
    pictures : int or array, (...)
        Number of images.
    reference : array, (..., K)
        The reference shares.
    measure : Distance
        The distance between them.
    uncut : array, (...), optional
        Distance that samples are compared with, if it is not that of `shares` from `reference`: of
        shares that were corrected for an instrument's errors and cut to the simplex, or from a
        counted reference without pseudo-images.
    standard_errors : array, (..., K), optional
        Standard errors of corrected shares.
    """

    shares: Floats
    pictures: int | NDArray[np.int64]
    reference: Floats
    measure: Distance
    uncut: Floats | None = None
    standard_errors: Floats | None = None

    def distance(self, population: Floats) -> Floats:
        """Return the distance (...) of a population (..., K) from the reference."""
        return np.asarray(self.measure(population, self.reference))

    @property
    def observed(self) -> Floats:
        """The distance (...) that samples are compared with."""
        return self.distance(self.shares) if self.uncut is None else self.uncut

    def samples(self, population: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Return distances (draws,) of samples of the same size from one population (K,)."""
        counts = rng.multinomial(self.pictures, population, size=draws)
        return np.asarray(self.measure(counts, self.reference))

    @property
    def errors(self) -> Floats:
        """Standard errors (..., K) of the shares, not below those under the reference."""
        if self.standard_errors is not None:
            return self.standard_errors
        q = self.reference
        p = self.shares
        variance = np.maximum(q * (1 - q), p * (1 - p)) / np.asarray(self.pictures)[..., None]
        return np.asarray(np.sqrt(variance))

    def interval(self, fair: Floats, level: float, rng: np.random.Generator) -> tuple[float, float]:
        """Return the interval (low, high) of the population's distance, for one set of shares (K,).

        Parameters
        ----------
        fair : array, (draws,)
            Distances of samples from the reference. The same number is drawn from each tested
            population.
        level
            Confidence level of the interval, in (0, 1).
        rng
            Random generator for the samples.
        """
        low, high = distance_intervals(self, fair, self._sampler(len(fair), rng), level)
        return float(low), float(high)

    def debiased(self, fair: Floats, rng: np.random.Generator) -> float:
        """Return the low end of `interval` at the level `POINT`, without computing the high end."""
        observed = self.compared(fair, POINT)
        return float(_low_ends(self, observed, self._sampler(len(fair), rng), POINT))

    def _sampler(self, draws: int, rng: np.random.Generator) -> Sampler:
        """Return a function from one population to the distances of its samples."""

        def sampled(population: Floats) -> Floats:
            return self.samples(population, draws, rng)

        return sampled

    def compared(self, fair: Floats, level: float) -> ObservedDistances:
        """Return the distances that samples are compared with, for fair samples (..., draws)."""
        distances = np.maximum(self.observed, np.quantile(fair, tail(level), axis=-1))
        return ObservedDistances(distances=distances, below_if_fair=_share_below(fair, distances))

    def sparse(self) -> Path:
        """Return the path, t in [0, 1], on which values leave the reference by z-value.

        It leads to the observed shares.
        """
        gap = self.shares - self.reference
        error = self.errors
        size = np.abs(gap)
        z = np.divide(size, error, out=np.zeros_like(gap), where=error > 0)
        furthest = z.max(axis=-1, keepdims=True)

        def population(t: Floats) -> Floats:
            threshold = (1 - np.asarray(t)[..., None]) * furthest * error
            shrunk = np.sign(gap) * np.maximum(size - threshold, 0)
            more = np.maximum(shrunk, 0)
            less = np.maximum(-shrunk, 0)
            moved = np.minimum(more.sum(axis=-1, keepdims=True), less.sum(axis=-1, keepdims=True))
            shares = self.reference + moved * (_scaled_to_one(more) - _scaled_to_one(less))
            return np.asarray(np.maximum(shares, 0))  # rounding may lead below

        return population

    def outward(self) -> Path:
        """Return the path, t in [0, 3], from the reference to a population of a single value.

        The path starts at the reference (t = 0), and passes almost through the observed shares (t =
        1) and a population of only the values in excess (t = 2).
        """
        gap = self.shares - self.reference
        n = np.asarray(self.pictures)[..., None]
        turn = self.reference + gap * n / (n + PSEUDO_PICTURES)
        corner = np.eye(gap.shape[-1])[np.argmax(gap - TIES * self.reference, axis=-1)]
        clear = np.maximum(gap - CLEAR_Z * self.errors, 0)
        face = np.where(clear.any(axis=-1, keepdims=True), _scaled_to_one(clear), corner)
        stations = np.stack([np.broadcast_to(self.reference, gap.shape), turn, face, corner])
        positions = tuple(np.indices(gap.shape[:-1]))

        def population(t: Floats) -> Floats:
            start = np.minimum(np.asarray(t).astype(np.int64), len(stations) - 2)
            before = stations[(start, *positions)]
            after = stations[(start + 1, *positions)]
            return np.asarray(before + (t - start)[..., None] * (after - before))

        return population


def distance_intervals(
    sample: SampledShares, fair: Floats, sampler: Sampler, level: float
) -> tuple[Floats, Floats]:
    """Return intervals of the populations' distances: low (...), high (...).

    Parameters
    ----------
    sample
        The observed shares (..., K).
    fair : array, (..., draws)
        Distances of samples from the reference.
    sampler
        Function that draws as many samples from other populations.
    level
        Confidence level of the intervals, in (0, 1).
    """
    observed = sample.compared(fair, level)
    low = _low_ends(sample, observed, sampler, level)
    path = sample.outward()
    rejected_below = tail(level) * observed.below_if_fair

    def not_too_close(t: Floats) -> Bools:
        return np.asarray(_share_below(sampler(path(t)), observed.distances) > rejected_below)

    start = np.zeros_like(observed.distances)
    end = np.full_like(observed.distances, END)
    high = sample.distance(path(first_accepted(not_too_close, end, start)))
    return low, np.maximum(low, high)


def _low_ends(
    sample: SampledShares, observed: ObservedDistances, sampler: Sampler, level: float
) -> Floats:
    """Return the low ends (...) of `distance_intervals`."""
    path = sample.sparse()
    enough = 1 - tail(level)

    def not_too_far(t: Floats) -> Bools:
        return np.asarray(_share_below(sampler(path(t)), observed.distances) < enough)

    start = np.zeros_like(observed.distances)
    accepted = observed.below_if_fair < enough
    return sample.distance(path(first_accepted(not_too_far, start, start + 1, accepted=accepted)))


def _share_below(distances: Floats, observed: Floats) -> Floats:
    """Return the share of distances (..., draws) below the observed distance (...); ties count half."""
    gap = distances - np.asarray(observed)[..., None]
    below = (-gap > TOLERANCE).sum(axis=-1) / gap.shape[-1]
    above = (gap > TOLERANCE).sum(axis=-1) / gap.shape[-1]
    return np.asarray((1 + below - above) / 2)


def _scaled_to_one(parts: Floats) -> Floats:
    """Scale parts to sum 1 along the last axis; zeros stay zeros."""
    total = parts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(parts, total, out=np.zeros_like(parts), where=total > 0))
