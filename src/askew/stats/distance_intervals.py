"""Interval for a population's distance from a reference distribution, computed by inverting a test.

A *fair* population has the reference shares. By chance, the observed share of a value differs from
its reference share even if the population has exactly the reference share. So the distance computed
from n images is too large on average. Resampling the shares cannot correct this excess. So askew
tests populations along two paths. It rejects a population if too few of its samples have a distance
as extreme as the observed distance. The excess depends on which values truly differ from the
reference, and the data reveal this only in part. So askew computes each end of the interval for the
least favorable case:

- Low end: as few values as possible differ from the reference (`sparse`). All other values have
  their reference shares. A value adds most to the excess when its share equals its reference share.
  At the level `POINT`, the low end is the debiased distance. The debiased distance is 0 for half of
  all samples from a fair population.
- High end: the path (`outward`) continues beyond the observed shares, with more and more images
  that show clearly over-represented values. All other values fall below their reference shares,
  where they add no excess.

Both paths start at the reference, so the interval excludes 0 only if the observed data would be
rare under a fair population. For the upper limit of the interval, the rate at which the test
rejects a candidate population is compared with the rate at which it rejects the reference (as in
the CLs method of particle physics). An observed distance may be smaller than almost all distances
of fair samples. The test would then reject all populations, and the interval would be empty. So
askew replaces such a distance with a low quantile of the distances of fair samples.

All functions accept one array of shares, or several arrays that are stacked along leading axes.
Samples may come from tables of random numbers (`common_draws`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.stats.distance import Distance, normalised
from askew.stats.intervals import POINT, TOLERANCE, Floats, first_accepted, tail

PSEUDO_PICTURES = 0.5
"""Number of pseudo-images, distributed like the reference, that are added to the observed images.

The path `outward` changes direction at the shares that include these pseudo-images.
"""
PSEUDO_IMAGES = 1.0
"""Number of pseudo-images that are added to a reference set and spread evenly over the values."""
CLEAR_Z = 1.0
"""A value is clearly over-represented if its share is this many standard errors above its
reference."""
END = 3.0  # of the outward path
TIES = 1e-9  # of values equally in excess, the outward path leads to the rarest
METHOD = "test inversion"

Bools = NDArray[np.bool_]
Sampler = Callable[[Floats], Floats]
"""Function that draws samples from populations and computes their distances.

The function maps an array of shape (..., K) to an array of shape (..., draws).
"""
Path = Callable[[Floats], Floats]
"""Function that maps a position t on a path to a population.

The function maps an array of shape (...) to an array of shape (..., K).
"""


def as_exact_together(pictures: float, others: float | None) -> int:
    """Return the size of a set that has the same sampling error as a difference between two sets.

    This size is n m / (n + m).

    Parameters
    ----------
    pictures
        Number n of images in the first set.
    others
        Number m of images in the second set; None if its shares are exact.
    """
    if others is None:
        return int(pictures)
    return max(round(pictures * others / (pictures + others)), 1)


def sample_of(
    counts: Floats, reference: Floats, reference_images: int | None, measure: Distance
) -> "SampledShares":
    """Return the shares of one set as `SampledShares`.

    If the reference was computed from images, it has a sampling error, too. askew then reduces the
    number of images until the sampling error of the set equals the error of the difference between
    the set and the reference.

    Parameters
    ----------
    counts : array, (K,)
        Number of images that show each value.
    reference : array, (K,)
        Reference shares.
    reference_images
        Number of images from which the reference was computed; None if it is exact.
    measure
        Function that computes the distance.
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
    """Return the population from which fair samples are drawn.

    If the reference was computed from images, a value that is missing from it may still occur,
    though rarely. So `PSEUDO_IMAGES` are added to such a reference.

    Parameters
    ----------
    reference : array, (K,)
        Reference shares.
    images
        Number of images from which the reference was computed; None if it is exact.
    """
    if images is None:
        return reference
    return normalised(reference * images + PSEUDO_IMAGES / len(reference))


def shifted_shares(shares: Floats, reference: Floats, population: Floats) -> Floats:
    """Shift shares by the difference between a reference and the population that it represents.

    Parameters
    ----------
    shares, reference, population : array, (K,)
        Shares to shift, reference shares, and the population that `reference_population` returns
        for this reference.
    """
    if population is reference:
        return shares
    return normalised(np.maximum(population + shares - reference, 0))


@dataclass(frozen=True, slots=True)
class ObservedDistances:
    """Observed distances, for comparison with the distances of samples.

    Attributes
    ----------
    distances : array, (...)
        Observed distances. A distance below a low quantile of the distances of fair samples is
        replaced by this quantile.
    below_if_fair : array, (...)
        Share of fair samples whose distance is below the observed distance.
    """

    distances: Floats
    below_if_fair: Floats


@dataclass(frozen=True, slots=True)
class SampledShares:
    """Observed shares of independent images, and their reference distribution.

    Attributes
    ----------
    shares : array, (..., K)
        Observed shares.
    pictures : int or array, (...)
        Number of images.
    reference : array, (..., K)
        Reference shares.
    measure : Distance
        Function that computes the distance between shares and reference.
    uncut : array, (...), optional
        Observed distance, if it differs from the distance between `shares` and `reference`. Shares
        that are corrected for labeling errors may be negative; `shares` then contains 0 instead. If
        the reference was computed from images, `reference` includes pseudo-images. `uncut` is the
        distance without these two changes.
    standard_errors : array, (..., K), optional
        Standard errors of shares that are corrected for labeling errors.
    """

    shares: Floats
    pictures: int | NDArray[np.int64]
    reference: Floats
    measure: Distance
    uncut: Floats | None = None
    standard_errors: Floats | None = None

    def distance(self, population: Floats) -> Floats:
        """Return the distance of a population from the reference."""
        return np.asarray(self.measure(population, self.reference))

    @property
    def observed(self) -> Floats:
        """Observed distance, for comparison with the distances of samples."""
        return self.distance(self.shares) if self.uncut is None else self.uncut

    def samples(self, population: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Draw samples from one population, and return the distance of each sample.

        The distances from the reference have the shape (draws,). Each sample has as many images as
        the observed set.
        """
        counts = rng.multinomial(self.pictures, population, size=draws)
        return np.asarray(self.measure(counts, self.reference))

    @property
    def errors(self) -> Floats:
        """Standard errors at the observed or the reference shares, whichever are larger."""
        if self.standard_errors is not None:
            return self.standard_errors
        q = self.reference
        p = self.shares
        variance = np.maximum(q * (1 - q), p * (1 - p)) / np.asarray(self.pictures)[..., None]
        return np.asarray(np.sqrt(variance))

    def interval(self, fair: Floats, level: float, rng: np.random.Generator) -> tuple[float, float]:
        """Return the lower and the upper limit of the interval for the distance of one population.

        Parameters
        ----------
        fair : array, (draws,)
            Distances of fair samples. The same number of samples is drawn from each tested population.
        level
            Confidence level of the interval, in (0, 1).
        rng
            Random generator for the samples.
        """
        low, high = distance_intervals(self, fair, self._sampler(len(fair), rng), level)
        return float(low), float(high)

    def debiased(self, fair: Floats, rng: np.random.Generator) -> float:
        """Return the debiased distance: the low end of `interval` at the level `POINT`."""
        observed = self.compared(fair, POINT)
        return float(_low_ends(self, observed, self._sampler(len(fair), rng), POINT))

    def _sampler(self, draws: int, rng: np.random.Generator) -> Sampler:
        """Return a function that draws samples from a population and returns their distances."""

        def sampled(population: Floats) -> Floats:
            return self.samples(population, draws, rng)

        return sampled

    def compared(self, fair: Floats, level: float) -> ObservedDistances:
        """Replace observed distances that are below a low quantile of `fair` with this quantile."""
        distances = np.maximum(self.observed, np.quantile(fair, tail(level), axis=-1))
        return ObservedDistances(distances=distances, below_if_fair=_share_below(fair, distances))

    def sparse(self) -> Path:
        """Return the path on which shares leave the reference in order of decreasing z-value.

        The path starts at the reference (t = 0) and ends at the observed shares (t = 1).
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
        """Return the path from the reference to a population whose images all show one value.

        The path starts at the reference (t = 0) and passes close to the observed shares (t = 1). It
        then passes through a population that contains only clearly over-represented values (t = 2),
        and ends at a population that contains only the most over-represented value (t = 3).
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
    """Return the lower and the upper limits of intervals for the distances of populations.

    Parameters
    ----------
    sample
        Observed shares and their reference.
    fair : array, (..., draws)
        Distances of fair samples.
    sampler
        Function that draws, from any population, the same number of samples as `fair` contains.
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
    """Return the low ends of the intervals from `distance_intervals`."""
    path = sample.sparse()
    enough = 1 - tail(level)

    def not_too_far(t: Floats) -> Bools:
        return np.asarray(_share_below(sampler(path(t)), observed.distances) < enough)

    start = np.zeros_like(observed.distances)
    accepted = observed.below_if_fair < enough
    return sample.distance(path(first_accepted(not_too_far, start, start + 1, accepted=accepted)))


def _share_below(distances: Floats, observed: Floats) -> Floats:
    """Return the share of `distances` below the observed distance. Ties count half."""
    gap = distances - np.asarray(observed)[..., None]
    below = (-gap > TOLERANCE).sum(axis=-1) / gap.shape[-1]
    above = (gap > TOLERANCE).sum(axis=-1) / gap.shape[-1]
    return np.asarray((1 + below - above) / 2)


def _scaled_to_one(parts: Floats) -> Floats:
    """Scale numbers to sum to 1 along the last axis, or leave them unchanged if all are 0."""
    total = parts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(parts, total, out=np.zeros_like(parts), where=total > 0))
