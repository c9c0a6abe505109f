"""Differences between two picture sets on one axis: of a share, and of the distance from an ideal.

Distances of few pictures are too large, and the more so the fewer they are, so that sets of different sizes differ even
if nothing happened. Here both sets' distances are taken at the same number of pictures, as means over
subsamples without replacement: their expectations are then equal wherever the populations are. What is
left of the excess is reduced by extrapolating from half as many pictures.

Risk difference: how much more often one group is shown than another (BiasMap, section 2.2).

Counts are (K,) whole numbers. NotEnoughData is raised for a set without answers, ValueError for lists of different
length and for what is not a count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.distance import Distance, distance_max, distance_named, normalised
from askew.stats.distance_intervals import METHOD, SampledShares, distance_interval
from askew.stats.intervals import TOLERANCE, Floats, corrected, first_accepted, mover, p_value, tail
from askew.stats.shares import axis_counts
from askew.types import Estimate

EXTRAPOLATION = 0.7  # of the step that would remove an excess in proportion to 1 / sqrt(pictures)
MOST_TABLES = 1_000_000  # beyond as many possible outcomes a score test is as good as exact


def share_difference(counts_a: ArrayLike, counts_b: ArrayLike, value_index: int, *, level: float = 0.95) -> Estimate:
    """Difference of a value's share between two independent sets, a - b, in [-1, 1].

    Interval: Newcombe's hybrid of two Wilson intervals. p: two-sided unconditional score test, that is the probability,
    at the pooled share, of all outcomes with a score statistic at least as large (Storer and Kim 1990).
    """
    a, b = _pair(counts_a, counts_b)
    x, n, y, m = (int(k) for k in (a[value_index], a.sum(), b[value_index], b.sum()))
    p, q = x / n, y / m
    low, high = mover(p, q, wilson(x, n, level), wilson(y, m, level))
    return Estimate(p - q, low, high, level, "Newcombe", n + m, null=0.0, max=1.0, p=_score_test(x, n, y, m))


def distance_difference(
    counts_a: ArrayLike,
    counts_b: ArrayLike,
    ideal: ArrayLike,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Difference of two sets' distances from an ideal, a - b, debiased for their numbers of pictures.

    Interval: both distances' intervals joined as in Newcombe's method (MOVER). p: by permutation of the sets' labels,
    which asks whether the sets come from one population; twice the smaller side.

    Args:
        ideal: (K,) shares, or weights.
        distance: a name of `distance.DISTANCES`, or a function of two distributions.
    """
    a, b = _pair(counts_a, counts_b)
    target, measure = normalised(ideal, "the ideal"), distance_named(distance)
    estimate = _difference(Mixture(a[None]), Mixture(b[None]), target, measure, rng, draws, level)
    observed = float(measure(a, target) - measure(b, target))
    first = rng.multivariate_hypergeometric((a + b).astype(np.int64), int(a.sum()), size=draws)
    permuted = measure(first, target) - measure(a + b - first, target)
    return replace(estimate, p=min(1.0, 2 * min(p_value(observed, permuted), p_value(-observed, -permuted))))


@dataclass(frozen=True, slots=True)
class Mixture:
    """Counts (sets, K) of picture sets that stand for one population, each set with the same weight."""

    counts: Floats

    @property
    def smallest(self) -> int:
        """Pictures of the smallest set."""
        return int(self.counts.sum(axis=1).min())

    @property
    def shares(self) -> Floats:
        """Mean of the sets' shares (K,)."""
        return np.asarray(normalised(self.counts).mean(axis=0))

    @property
    def pictures(self) -> int:
        """How many independent pictures of the mixture would have shares as exact as these."""
        return effective_pictures(self.counts, np.full(len(self.counts), 1 / len(self.counts)))

    def distance(self, pictures: int, target: Floats, measure: Distance, draws: int, rng: np.random.Generator) -> float:
        """Mean distance of so many pictures drawn from the mixture, at most `smallest`, without replacement."""
        if len(self.counts) == 1 and pictures == self.smallest:
            return float(measure(self.counts[0], target))
        per_set = rng.multinomial(pictures, np.full(len(self.counts), 1 / len(self.counts)), size=draws)
        drawn = sum(_without_replacement(c, size, rng) for c, size in zip(self.counts, per_set.T, strict=True))
        return float(np.mean(measure(drawn, target)))

    def debiased(self, pictures: int, target: Floats, measure: Distance, draws: int, rng: np.random.Generator) -> float:
        """Distance at so many pictures, less what extrapolation from half as many shows to be excess."""
        full = self.distance(pictures, target, measure, draws, rng)
        if pictures < 2:
            return full
        half = self.distance(pictures // 2, target, measure, draws, rng)
        return full - EXTRAPOLATION / (math.sqrt(pictures / (pictures // 2)) - 1) * (half - full)

    def interval(
        self, target: Floats, measure: Distance, draws: int, level: float, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Interval of the mixture's distance, from all pictures."""
        sample = SampledShares(self.shares, self.pictures, target, measure)
        return distance_interval(sample, sample.samples(target, draws, rng), rng=rng, level=level)


def effective_pictures(counts: Floats, weights: Floats) -> int:
    """How many independent pictures of a mixture would have shares as exact as the weighted shares of its sets.

    `counts` are (sets, K), each set with at least one picture, `weights` (sets,) with sum 1.
    """
    n = counts.sum(axis=1, keepdims=True)
    smooth = (counts + 1 / counts.shape[1]) / (n + 1)
    mean = weights @ smooth
    variance = (np.square(weights)[:, None] * smooth * (1 - smooth) / n).sum()
    return max(1, round(float((mean * (1 - mean)).sum() / variance)))


def _difference(
    a: Mixture,
    b: Mixture,
    target: Floats,
    measure: Distance,
    rng: np.random.Generator,
    draws: int,
    level: float,
) -> Estimate:
    """Distance of a less that of b, both at the number of pictures of the smallest set."""
    matched = min(a.smallest, b.smallest)
    first, second = (m.debiased(matched, target, measure, draws, rng) for m in (a, b))
    low, centre, high = joined(*(m.interval(target, measure, draws, level, rng) for m in (a, b)))
    n = int(a.counts.sum() + b.counts.sum())
    p = p_from_interval(low, centre, high, level)
    maximum = distance_max(target, measure)
    return Estimate(first - second, low, high, level, f"MOVER, {METHOD}", n, null=0.0, max=maximum, p=p)


def joined(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float, float]:
    """Low end, centre and high end of a difference a - b from the intervals of its parts (MOVER, with their middles).

    Where a part may be 0, the bound of a distance, the ends are subtracted in full: 0 is then not an end that the part
    reaches once in forty times, but what it may well be.
    """
    (low_a, high_a), (low_b, high_b) = a, b
    centre = (low_a + high_a - low_b - high_b) / 2
    reach = math.hypot(high_a - low_a, high_b - low_b) / 2
    low = -high_b if low_a == 0 else centre - reach
    high = high_a if low_b == 0 else centre + reach
    return low, centre, high


def _without_replacement(counts: Floats, sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Values of `sizes` (draws,) pictures taken out of counts (K,): (draws, K)."""
    left, wanted = int(counts.sum()), sizes.copy()
    drawn = np.zeros((len(sizes), len(counts)), dtype=np.int64)
    for i, count in enumerate(counts.astype(np.int64)):
        left -= int(count)
        drawn[:, i] = rng.hypergeometric(count, left, wanted)
        wanted -= drawn[:, i]
    return drawn


def p_from_interval(low: float, centre: float, high: float, level: float) -> float:
    """Two-sided p of the value 0, taking the interval's half towards 0 as a normal quantile times a standard error."""
    reach = centre - low if centre > 0 else high - centre
    if reach <= TOLERANCE:
        return 1.0 if abs(centre) <= TOLERANCE else 0.0
    return float(2 * scipy.stats.norm.sf(abs(centre) / reach * scipy.stats.norm.isf(tail(level))))


def _pair(counts_a: ArrayLike, counts_b: ArrayLike) -> tuple[Floats, Floats]:
    a, b = axis_counts(counts_a), axis_counts(counts_b)
    if a.shape != b.shape:
        raise ValueError(f"counts over {a.size} and {b.size} values; they must share one list")
    return a, b


def wilson(x: int, n: int, level: float) -> tuple[float, float]:
    """Wilson's interval of the share x / n."""
    found = scipy.stats.binomtest(x, n).proportion_ci(level, method="wilson")
    return float(found.low), float(found.high)


def _score_test(x: int, n: int, y: int, m: int) -> float:
    """Two-sided p of equal shares, x of n against y of m."""
    observed = float(_score(np.array(x), n, np.array(y), m))
    if (n + 1) * (m + 1) > MOST_TABLES:
        return float(2 * scipy.stats.norm.sf(observed))
    pooled = (x + y) / (n + m)
    a, b = np.arange(n + 1), np.arange(m + 1)
    extreme = _score(a[:, None], n, b, m) >= observed - TOLERANCE
    return min(1.0, float(scipy.stats.binom.pmf(a, n, pooled) @ extreme @ scipy.stats.binom.pmf(b, m, pooled)))


def _score(x: NDArray[np.int64], n: int, y: NDArray[np.int64], m: int) -> Floats:
    """Size of the score statistic of x of n against y of m; 0 where all or none of both show the value."""
    pooled = (x + y) / (n + m)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    gap = np.abs(x / n - y / m)
    return np.divide(gap, error, out=np.zeros_like(gap), where=error > 0)


def risk_difference(first: int, second: int, n: int, *, level: float = 0.95, missing: int = 0) -> Estimate:
    """|P(first) - P(second)| among n answers, `first` and `second` of which name the two groups; 0 to 1.

    Interval: Wilson's intervals of both shares joined (MOVER) with the correlation of two shares of one sample, and
    folded at 0. For two groups that make up all answers this is Wilson's interval of one share. Null: the mean if both
    groups were equally frequent, which is not 0. debiased: the lead of which this is the median, in answers that name a
    group. p: exact sign test of one group against the other, two-sided.
    """
    if min(first, second) < 0 or first + second > n:
        raise ValueError(f"{first} and {second} of {n} answers: counts that do not fit")
    if n == 0:
        raise NotEnoughData("no answer; at least one is needed")
    p, q, both = first / n, second / n, first + second
    spread = math.sqrt((1 - p) * (1 - q))
    r = -math.sqrt(p * q) / spread if spread else -1.0
    low, high = np.clip(mover(p, q, wilson(first, n, level), wilson(second, n, level), r), -1, 1).tolist()
    low, high = (low, high) if low > 0 else (-high, -low) if high < 0 else (0.0, max(-low, high))
    k, seen = np.arange(both + 1), abs(first - second)

    def share_below(lead: float) -> float:
        chance = scipy.stats.binom.pmf(k, both, (1 + lead) / 2)
        return float(chance @ ((abs(2 * k - both) < seen) + 0.5 * (abs(2 * k - both) == seen)))

    debiased = both / n * first_accepted(lambda lead: share_below(lead) > 0.5 - TOLERANCE, 1.0, 0.0, steps=20)
    found = Estimate(seen / n, low, high, level, "Wilson, MOVER, folded", n, missing, debiased=debiased)
    null = float(np.sum(scipy.stats.binom.pmf(k, both, 0.5) * np.abs(2 * k - both)) / n)
    return corrected(found, null, float(scipy.stats.binomtest(first, both).pvalue) if both else 1.0)
