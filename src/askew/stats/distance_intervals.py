"""Interval of a population's distance from an ideal, by inverting a test along two paths of
possible populations.

The distance of n pictures' shares is too large: values that are as frequent as they should be still
differ by chance, and no resampling of the shares undoes that. So populations are tried instead. One
is rejected if too few of its samples have a distance as far out as the observed one. How large the
excess is depends on where the true difference sits, which the data tell only in part, so each end
is sought where that is least favourable to it:

- low: the difference sits in as few values as possible (`sparse`); the others are ideal and add the most excess. At the
  level `POINT` this end is the debiased distance: 0 for half of all samples of a fair population.
- high: from the observed shares on, ever more pictures show the values that are clearly in excess (`outward`); the
  others move away from the ideal on the other side, where they add no excess.

The ideal itself begins both paths, so the interval leaves out 0 only if a fair population would
rarely look like this. For the high end rejection is measured relative to the ideal (as in the CLs
method of particle physics), and shares more even than chance would make them count as the most even
ones that chance does make: they would otherwise reject every population and leave an interval of no
width.

Everything works on one set of shares, or a stack along leading axes. Samples may be looked up in
tables of pictures that are drawn once (`CommonDraws`), some fifty times as fast as multinomial
draws: a picture shows the first value whose cumulative share exceeds its uniform number, so it is
enough to know how many of these lie below a grid's points.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.stats.distance import Distance
from askew.stats.intervals import POINT, TOLERANCE, Floats, first_accepted, tail

PSEUDO_PICTURES = 0.5  # by which the observed shares are pulled to the ideal where `outward` turns
CLEAR_Z = (
    1.0  # excess over the ideal, in standard errors, from which a value takes part in the turn
)
END = 3.0  # of the outward path
METHOD = "test inversion"
GRID = 2048  # steps of a cumulative share
EXACT_PICTURES = (
    64  # beyond it, numbers of pictures are rounded to 2 %, that is standard errors to 1 %
)
MOST_PICTURES = 2000

Bools = NDArray[np.bool_]
Sampler = Callable[[Floats], Floats]
"""Populations (..., K) to the distances (..., draws) of samples from them."""
Path = Callable[[Floats], Floats]
"""Places t (...) on a path to populations (..., K)."""


def as_exact_together(pictures: float, others: float | None) -> int:
    """The pictures of one set that errs as the difference of two does, n m / (n + m); `others` None
    errs not at all.
    """
    return (
        int(pictures) if others is None else max(round(pictures * others / (pictures + others)), 1)
    )


@dataclass(frozen=True, slots=True)
class SampledShares:
    """Shares (..., K) of so many (...) independent pictures, an ideal (..., K), and the distance
    between them.

    Of shares that were corrected for an instrument's errors, and cut to the simplex, `uncut` is the
    distance (...) that samples are held against, and `standard_errors` (..., K) are their own.
    """

    shares: Floats
    pictures: int | NDArray[np.int64]
    reference: Floats
    measure: Distance
    uncut: Floats | None = None
    standard_errors: Floats | None = None

    def distance(self, population: Floats) -> Floats:
        """The distance (...) of a population from the ideal."""
        return np.asarray(self.measure(population, self.reference))

    @property
    def observed(self) -> Floats:
        """The distance (...) that samples are held against."""
        return self.distance(self.shares) if self.uncut is None else self.uncut

    def samples(self, population: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Distances of samples of as many pictures from one population (K,): (draws,)."""
        counts = rng.multinomial(self.pictures, population, size=draws)
        return np.asarray(self.measure(counts, self.reference))

    @property
    def errors(self) -> Floats:
        """Standard errors (..., K) of the shares, not below those under the ideal."""
        if self.standard_errors is not None:
            return self.standard_errors
        q = self.reference
        p = self.shares
        return np.asarray(
            np.sqrt(np.maximum(q * (1 - q), p * (1 - p)) / np.asarray(self.pictures)[..., None])
        )

    def interval(self, fair: Floats, level: float, rng: np.random.Generator) -> tuple[float, float]:
        """Interval (low, high) of the population's distance, for one set of shares (K,).

        `fair` are distances (draws,) of samples from the ideal; as many are drawn from every
        population tried.
        """
        low, high = distance_intervals(
            self, fair, lambda tried: self.samples(tried, len(fair), rng), level
        )
        return float(low), float(high)

    def debiased(self, fair: Floats, rng: np.random.Generator) -> float:
        """The low end of `interval` at the level `POINT`, without the work for the high one."""
        held = self.held_against(fair, POINT)
        return float(
            _low_ends(self, held, lambda tried: self.samples(tried, len(fair), rng), POINT)
        )

    def held_against(self, fair: Floats, level: float) -> tuple[Floats, Floats]:
        """The distances (...) that samples are held against, and the shares (...) of fair samples
        below them.
        """
        observed = np.maximum(self.observed, np.quantile(fair, tail(level), axis=-1))
        return observed, _share_below(fair, observed)

    def sparse(self) -> Path:
        """The path, t in [0, 1], to the observed shares where values leave the ideal by z-value."""
        gap = self.shares - self.reference
        q = self.reference
        error = self.errors
        size = np.abs(gap)
        sign = np.sign(gap)
        furthest = np.divide(size, error, out=np.zeros_like(gap), where=error > 0).max(
            axis=-1, keepdims=True
        )

        def population(t: Floats) -> Floats:
            shrunk = sign * np.maximum(size - (1 - np.asarray(t)[..., None]) * furthest * error, 0)
            more = np.maximum(shrunk, 0)
            less = np.maximum(-shrunk, 0)
            moved = np.minimum(more.sum(axis=-1, keepdims=True), less.sum(axis=-1, keepdims=True))
            found = q + moved * (_spread_over_one(more) - _spread_over_one(less))
            return np.asarray(np.maximum(found, 0))  # rounding may lead below

        return population

    def outward(self) -> Path:
        """The path: the ideal at t = 0, almost the observed shares at 1, values in excess at 2, one
        value at 3.
        """
        gap = self.shares - self.reference
        n = np.asarray(self.pictures)[..., None]
        turn = self.reference + gap * n / (n + PSEUDO_PICTURES)
        corner = np.eye(gap.shape[-1])[np.argmax(gap, axis=-1)]
        clear = np.maximum(gap - CLEAR_Z * self.errors, 0)
        face = np.where(clear.any(axis=-1, keepdims=True), _spread_over_one(clear), corner)
        stations = np.stack([np.broadcast_to(self.reference, gap.shape), turn, face, corner])
        own = tuple(np.indices(gap.shape[:-1]))

        def population(t: Floats) -> Floats:
            start = np.minimum(np.asarray(t).astype(np.int64), len(stations) - 2)
            before = stations[(start, *own)]
            after = stations[(start + 1, *own)]
            return np.asarray(before + (t - start)[..., None] * (after - before))

        return population


def distance_intervals(
    sample: SampledShares, fair: Floats, sampler: Sampler, level: float
) -> tuple[Floats, Floats]:
    """Intervals of the populations' distances: low (...), high (...).

    `fair` are distances (..., draws) of samples from the ideal; `sampler` draws as many from other
    populations.
    """
    path = sample.outward()
    held = sample.held_against(fair, level)
    low = _low_ends(sample, held, sampler, level)
    observed, below_if_fair = held

    def not_too_close(t: Floats) -> Bools:
        return np.asarray(_share_below(sampler(path(t)), observed) > tail(level) * below_if_fair)

    start = np.zeros_like(observed)
    end = np.full_like(observed, END)
    high = sample.distance(path(first_accepted(not_too_close, end, start)))
    return low, np.maximum(low, high)


def _low_ends(
    sample: SampledShares, held: tuple[Floats, Floats], sampler: Sampler, level: float
) -> Floats:
    """The low ends (...) of `distance_intervals`."""
    path = sample.sparse()
    enough = 1 - tail(level)
    observed, below_if_fair = held

    def not_too_far(t: Floats) -> Bools:
        return np.asarray(_share_below(sampler(path(t)), observed) < enough)

    start = np.zeros_like(observed)
    return sample.distance(
        path(first_accepted(not_too_far, start, start + 1, accepted=below_if_fair < enough))
    )


def _share_below(distances: Floats, observed: Floats) -> Floats:
    """Share of distances (..., draws) below the observed one (...); ties count half."""
    gap = distances - np.asarray(observed)[..., None]
    below, above = ((side > TOLERANCE).sum(axis=-1) / gap.shape[-1] for side in (-gap, gap))
    return np.asarray((1 + below - above) / 2)


def _spread_over_one(parts: Floats) -> Floats:
    """Scaled to sum 1 along the last axis; zeros stay zeros."""
    total = parts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(parts, total, out=np.zeros_like(parts), where=total > 0))


@dataclass(frozen=True, slots=True)
class CommonDraws:
    """`draws` samples of any number of pictures up to `MOST_PICTURES`, from any population; all set
    by `seed`.
    """

    seed: int
    draws: int

    def counts(self, populations: ArrayLike, pictures: int, stream: int = 0) -> NDArray[np.int64]:
        """Counts (..., draws, K) of samples of `pictures` from populations (..., K).

        Samples of the same stream are alike, those of different streams independent.
        """
        below = _table(self.seed, self.draws, pictures, stream)[_places(populations)].astype(
            np.int64
        )
        return np.moveaxis(np.diff(below, axis=-2, prepend=0, append=pictures), -2, -1)

    def counts_of_each(
        self, populations: ArrayLike, pictures: int, stream: int = 0
    ) -> NDArray[np.int64]:
        """`counts` where every draw has a population of its own: (..., draws, K) to (..., draws,
        K).
        """
        table = _table(self.seed, self.draws, pictures, stream)
        below = table[_places(populations), np.arange(self.draws)[:, None]].astype(np.int64)
        return np.diff(below, axis=-1, prepend=0, append=pictures)


def rounded_pictures(pictures: float) -> int:
    """The number of pictures, at least 1, for which there is a table."""
    if pictures <= EXACT_PICTURES:
        return max(1, round(pictures))
    step = math.log(1.02)
    return min(MOST_PICTURES, round(math.exp(round(math.log(pictures) / step) * step)))


def _places(populations: ArrayLike) -> NDArray[np.int64]:
    """Cumulative shares as points of the grid, without the last one: (..., K) to (..., K - 1)."""
    cumulative = np.cumsum(np.asarray(populations, dtype=float), axis=-1)[..., :-1]
    return np.asarray(np.clip(np.rint(cumulative * GRID), 0, GRID), dtype=np.int64)


@lru_cache(maxsize=24)
def _table(seed: int, draws: int, pictures: int, stream: int) -> NDArray[np.uint16]:
    """How many of so many uniform numbers lie below each point of the grid: (GRID + 1, draws)."""
    uniform = np.random.default_rng([seed, pictures, stream]).random((pictures, draws))
    cells = np.ceil(uniform * GRID).astype(np.int64) * draws + np.arange(draws)
    found = (
        np.bincount(cells.ravel(), minlength=(GRID + 1) * draws)
        .astype(np.uint16)
        .reshape(GRID + 1, draws)
    )
    for below, here in pairwise(
        found
    ):  # row by row, some five times as fast as numpy's sum along the first axis
        here += below
    return found
