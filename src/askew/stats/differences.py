"""Differences between two picture sets on one axis, first less second: of a share, and of the
distance from an ideal.

Pictures of the two sets may belong together: the same prompt and seed, drawn by two models
(`PairedSets`). The interval of a difference joins those of both scores (MOVER, Zou and Donner 2008;
for shares, Newcombe's tenth method) and takes off what the pairing shows the two errors to have in
common. Two models that agree in every one of m pairs may still differ in a few pictures of a
hundred. So the correlation never reaches 1: by Newcombe's continuity correction for shares, for
other scores by what that amounts to at a share of one half. p asks whether both sets are drawn
alike: the pictures of a pair change places at random, those without a partner are dealt anew, (1 +
exceedances) / (1 + draws).

And whether one model seems to have made both sets, whether two axes hang together more, and how
much more often one group is shown than another (BiasMap, section 2.2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.contingency import cramers_v
from askew.stats.distance import Distance, distance_max, distance_named, normalised
from askew.stats.distance_intervals import METHOD, SampledShares
from askew.stats.intervals import (
    TOLERANCE,
    Floats,
    array_of,
    bootstrap_weights,
    corrected,
    first_accepted,
    in_order,
    mover,
    p_by_rounds,
    p_value,
    percentile_interval,
)
from askew.stats.shares import axis_counts, wilson
from askew.types import Estimate

PERMUTATIONS = 9_999
# pairs; what a continuity correction of n / 2 takes off a phi of 1 at shares of one half, times n
CORRECTION = 2.0
ROUNDS = 20  # of exchanges at most, while few are as large as what is observed
MOST_TABLES = 1_000_000  # beyond as many possible outcomes a score test is as good as exact
Keys = Sequence[int | None]
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PairedSets:
    """Rows of two sets: `pairs` (2, m, columns) belong together, `rest` are those of each set that
    have no partner.

    What is drawn from it does not depend on the order in which the pictures came.
    """

    pairs: Floats
    rest: tuple[Floats, Floats]

    @classmethod
    def of(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        first_keys: Keys | None = None,
        second_keys: Keys | None = None,
    ) -> Self:
        """Rows (pictures, columns) of both sets, paired where their keys are equal. A key of None
        has no partner.

        Raises NotEnoughData where a set has no picture, ValueError for different columns, and for a
        key that occurs twice in a set.
        """
        a = array_of(first, "the first set")
        b = array_of(second, "the second set")
        if a.shape[1] != b.shape[1]:
            raise ValueError(
                f"the sets have {a.shape[1]} and {b.shape[1]} columns; they must have the same"
            )
        at_a = _places(first_keys, len(a))
        at_b = _places(second_keys, len(b))
        common = sorted(at_a.keys() & at_b.keys())
        rows_a = [at_a[key] for key in common]
        rows_b = [at_b[key] for key in common]
        rest = (in_order(np.delete(a, rows_a, axis=0)), in_order(np.delete(b, rows_b, axis=0)))
        return cls(np.stack([a[rows_a], b[rows_b]]), rest)

    @classmethod
    def of_counts(cls, first: ArrayLike, second: ArrayLike) -> Self:
        """Sets without pairs, from how many pictures show each value, (K,) whole numbers: rows
        (pictures, K).
        """
        a, b = (axis_counts(counts).astype(np.int64) for counts in (first, second))
        return cls.of(np.repeat(np.eye(len(a)), a, axis=0), np.repeat(np.eye(len(b)), b, axis=0))

    @property
    def first(self) -> Floats:
        """All rows of the first set, (pictures, columns)."""
        return np.concatenate([self.pairs[0], self.rest[0]])

    @property
    def second(self) -> Floats:
        """All rows of the second set, (pictures, columns)."""
        return np.concatenate([self.pairs[1], self.rest[1]])

    def __len__(self) -> int:
        """The number of pairs."""
        return int(self.pairs.shape[1])

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The means of both sets, (columns,) each."""
        return self.first.mean(axis=0), self.second.mean(axis=0)

    def resampled(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (draws, columns) of both sets in bootstrap samples: pairs are drawn as pairs, the
        rest by itself.
        """
        shared, *own = (
            bootstrap_weights(n, draws, rng) * n if n else np.zeros((draws, 0))
            for n in (len(self), *map(len, self.rest))
        )
        first, second = (
            (shared @ pairs + weights @ rows) / (len(pairs) + len(rows))
            for pairs, weights, rows in zip(self.pairs, own, self.rest, strict=True)
        )
        return first, second

    def exchanged(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (draws, columns) of both sets if nothing but chance decided which set a picture is
        in.

        The two pictures of a pair change places or not, each way half of the time; pictures without
        a partner are dealt anew, as many to each set as before.
        """
        (a, b), rest = self.pairs, np.concatenate(self.rest)
        kept = rng.integers(0, 2, (draws, len(self))).astype(float)
        labels = np.repeat([1.0, 0.0], [len(rows) for rows in self.rest])
        dealt = rng.permuted(np.tile(labels, (draws, 1)), axis=1)
        first = kept @ (a - b) + b.sum(axis=0) + dealt @ rest
        second = a.sum(axis=0) + b.sum(axis=0) + rest.sum(axis=0) - first
        return first / (len(self) + len(self.rest[0])), second / (len(self) + len(self.rest[1]))


def _places(keys: Keys | None, n: int) -> dict[int, int]:
    """The row of every key."""
    if keys is None:
        return {}
    if len(keys) != n:
        raise ValueError(f"{len(keys)} keys for {n} pictures")
    known = [(key, row) for row, key in enumerate(keys) if key is not None]
    if len(dict(known)) < len(known):
        raise ValueError("a key occurs twice in a set")
    return dict(known)


def share_difference(sets: PairedSets, value: int, *, level: float = 0.95) -> Estimate:
    """Difference of one value's share, in [-1, 1].

    Interval: Newcombe's tenth method, with the correlation scaled down where only some pictures
    have a partner; his hybrid of two Wilson intervals where none has one. p: exact, with complete
    pairs McNemar's test; pictures without a partner are dealt to both sets at random. Where none
    has one: two-sided unconditional score test, that is the probability, at the pooled share, of
    all outcomes with a score statistic at least as large (Storer and Kim 1990). Rows of the sets
    are (pictures, K), 1 in the column of the value seen, 0 elsewhere; `value` is one of the K
    columns.
    """
    first = sets.first[:, value]
    second = sets.second[:, value]
    x = int(first.sum())
    n = len(first)
    y = int(second.sum())
    m = len(second)
    r = _phi(*sets.pairs[:, :, value]) * len(sets) / math.sqrt(n * m)
    low, high = mover(x / n, y / m, wilson(x / n, n, level), wilson(y / m, m, level), r)
    name, p = (
        ("Newcombe, paired", _exact_p(sets, value))
        if len(sets)
        else ("Newcombe", _score_test(x, n, y, m))
    )
    return Estimate(x / n - y / m, low, high, level, name, n + m, null=0.0, max=1.0, p=p)


def distance_difference(
    sets: PairedSets,
    reference: ArrayLike,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Difference of two sets' distances from an ideal; the value is that of median-unbiased
    distances.

    Sets as in `share_difference`; `reference` (K,) and `distance` as in `shares.distance_estimate`.
    """
    target = normalised(reference, "the ideal")
    measure = distance_named(distance)
    n = len(sets.first)
    m = len(sets.second)
    samples = [
        SampledShares(s, size, target, measure) for s, size in zip(sets.means, (n, m), strict=True)
    ]

    def distances(means: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        first, second = (np.asarray(measure(shares, target))[..., None] for shares in means)
        return first, second

    r = correlations(distances(sets.resampled(draws, rng)), len(sets))

    def exchanged() -> Floats:
        return np.asarray(np.subtract(*distances(sets.exchanged(draws, rng))))

    centre = (
        0.0 if n == m else float(exchanged().mean())
    )  # of fewer pictures the distance is the larger one
    observed = np.abs(np.subtract(*distances(sets.means)) - centre)
    p = p_by_rounds(observed, (np.abs(exchanged() - centre) for _ in range(ROUNDS)))
    first, second = (
        one.debiased(one.samples(target, draws, own), own)
        for one, own in zip(samples, twice(rng), strict=True)
    )
    a, b = (
        one.interval(one.samples(target, draws, own), level, own)
        for one, own in zip(samples, twice(rng), strict=True)
    )
    low, _, high = joined(a, b, (first, second), float(r[0]))
    name = f"MOVER, {METHOD}{', paired' if len(sets) else ''}"
    top = distance_max(target, measure)
    return Estimate(first - second, low, high, level, name, n + m, null=0.0, max=top, p=float(p[0]))


def joined(
    a: Ends, b: Ends, points: Ends | None = None, correlation: float = 0.0
) -> tuple[float, float, float]:
    """Interval of a difference of two scores from their own intervals, by MOVER: low end, centre,
    high end.

    It is around the difference of the `points`, or of the middles of both intervals. Where a score
    may be 0, the bound of a spread or distance, the ends are subtracted in full: 0 is then not an
    end that the score reaches once in forty times, but what it may well be.
    """
    x, y = (
        (low + high) / 2 if point is None else min(max(point, low), high)
        for point, (low, high) in zip(points or (None, None), (a, b), strict=True)
    )
    low, high = mover(x, y, a, b, correlation)
    return -b[1] if a[0] == 0 else low, x - y, a[1] if b[0] == 0 else high


def twice(rng: np.random.Generator) -> tuple[np.random.Generator, np.random.Generator]:
    """Two generators of the same numbers: equal data then give equal results, and noise of the
    draws cancels.
    """
    seed = int(rng.integers(2**63))
    return np.random.default_rng(seed), np.random.default_rng(seed)


def correlations(scores: tuple[Floats, Floats], pairs: int) -> Floats:
    """Correlation of two models' bootstrap scores (draws, scores), by score; 0 where a score does
    not vary.
    """
    a, b = (s - s.mean(axis=0) for s in scores)
    if not pairs:
        return np.zeros(a.shape[1])
    size = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    r = np.divide((a * b).sum(axis=0), size, out=np.zeros_like(size), where=size > 0)
    return np.asarray(np.minimum(r, 1.0) * max(1 - CORRECTION / pairs, 0.0))


def _exact_p(sets: PairedSets, value: int) -> float:
    """Two-sided p of a share's difference over all ways to exchange pairs and to deal the rest."""
    (a, b), (rest_a, rest_b) = sets.pairs[:, :, value], (rows[:, value] for rows in sets.rest)
    same = int((a * b).sum())
    discordant = int((a != b).sum())
    alone = int(rest_a.sum() + rest_b.sum())
    n = len(a) + len(rest_a)
    m = len(b) + len(rest_b)
    swaps = np.arange(discordant + 1)[:, None]
    dealt = np.arange(alone + 1)
    chance = scipy.stats.binom.pmf(swaps, discordant, 0.5)
    if len(rest_a) + len(rest_b):
        chance = chance * scipy.stats.hypergeom.pmf(
            dealt, len(rest_a) + len(rest_b), alone, len(rest_a)
        )
    gap = (same + swaps + dealt) / n - (same + discordant - swaps + alone - dealt) / m
    observed = abs(sets.first[:, value].mean() - sets.second[:, value].mean())
    return min(1.0, float(chance[np.abs(gap) >= observed - TOLERANCE].sum()))


def _phi(a: Floats, b: Floats) -> float:
    """Correlation of paired answers (pairs,) of 0 or 1, with Newcombe's continuity correction; 0 if
    one is constant.
    """
    n = len(a)
    x = a.sum()
    y = b.sum()
    covariance = n * (a * b).sum() - x * y
    if covariance > 0:
        covariance = max(covariance - n / 2, 0.0)
    size = math.sqrt(x * (n - x) * y * (n - y))
    return float(covariance / size) if size > 0 else 0.0


def _score_test(x: int, n: int, y: int, m: int) -> float:
    """Two-sided p of equal shares, x of n against y of m, by the size of the score statistic; it is
    0 where all or none of both show the value.
    """

    def score(x: NDArray[np.int64], y: NDArray[np.int64]) -> Floats:
        pooled = (x + y) / (n + m)
        gap = np.abs(x / n - y / m)
        error = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        return np.divide(gap, error, out=np.zeros_like(gap), where=error > 0)

    observed = float(score(np.array(x), np.array(y)))
    if (n + 1) * (m + 1) > MOST_TABLES:
        return float(2 * scipy.stats.norm.sf(observed))
    pooled = (x + y) / (n + m)
    a = np.arange(n + 1)
    b = np.arange(m + 1)
    extreme = score(a[:, None], b) >= observed - TOLERANCE
    return min(
        1.0,
        float(scipy.stats.binom.pmf(a, n, pooled) @ extreme @ scipy.stats.binom.pmf(b, m, pooled)),
    )


def risk_difference(
    first: int, second: int, n: int, *, level: float = 0.95, missing: int = 0
) -> Estimate:
    """|P(first) - P(second)| among n answers, `first` and `second` of which name the two groups; 0 to 1.

    Interval: Wilson's intervals of both shares joined (MOVER) with the correlation of two shares of
    one sample, and folded at 0. For two groups that make up all answers this is Wilson's interval
    of one share. Null: the mean if both groups were equally frequent, which is not 0. debiased: the
    lead of which this is the median, in answers that name a group. p: exact sign test of one group
    against the other, two-sided.
    """
    if min(first, second) < 0 or first + second > n:
        raise ValueError(f"{first} and {second} of {n} answers: counts that do not fit")
    if n == 0:
        raise NotEnoughData("no answer; at least one is needed")
    p = first / n
    q = second / n
    both = first + second
    spread = math.sqrt((1 - p) * (1 - q))
    r = -math.sqrt(p * q) / spread if spread else -1.0
    low, high = np.clip(mover(p, q, wilson(p, n, level), wilson(q, n, level), r), -1, 1).tolist()
    low, high = (low, high) if low > 0 else (-high, -low) if high < 0 else (0.0, max(-low, high))
    k = np.arange(both + 1)
    seen = abs(first - second)

    def share_below(lead: Floats) -> float:
        chance = scipy.stats.binom.pmf(k, both, (1 + lead) / 2)
        return float(chance @ ((abs(2 * k - both) < seen) + 0.5 * (abs(2 * k - both) == seen)))

    lead = first_accepted(lambda tried: share_below(tried) > 0.5 - TOLERANCE, 1.0, 0.0, steps=20)
    debiased = both / n * float(lead)
    found = Estimate(
        seen / n, low, high, level, "Wilson, MOVER, folded", n, missing, debiased=debiased
    )
    null = float(np.sum(scipy.stats.binom.pmf(k, both, 0.5) * np.abs(2 * k - both)) / n)
    return corrected(found, null, float(scipy.stats.binomtest(first, both).pvalue) if both else 1.0)


def kernel_distance(
    first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, draws: int = 1000
) -> Estimate:
    """Squared maximum mean discrepancy of two sets of vectors by the kernel k = (x.y / d + 1)^3,
    unbiased.

    The mean over i != j of h_ij = k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j) (Gretton et
    al. 2012, Eq. 4): the "kernel inception distance" of Binkowski et al. (2018), in whatever
    embedder. 0 on average where one model made both, at any number of pictures and however much x_i
    and y_i, of one seed, have in common; it may be below 0. p: the two of a pair change places at
    random, which turns the signs of their h. Both sets are (n, d), pairs in the same row;
    NotEnoughData is raised for fewer than two pairs.
    """
    x = array_of(first)
    y = array_of(second)
    n, width = x.shape
    if n < 2:
        raise NotEnoughData(
            "a distance between two sets of pictures needs at least two pictures in each"
        )
    xx, yy, xy = ((a @ b.T / width + 1) ** 3 for a, b in ((x, x), (y, y), (x, y)))
    h = xx + yy - xy - xy.T
    np.fill_diagonal(h, 0.0)
    signs = np.concatenate([np.ones((1, n)), rng.choice([-1.0, 1.0], (draws, n))])
    found = ((signs @ h) * signs).sum(axis=1) / (n * (n - 1))
    return Estimate(float(found[0]), n=2 * n, null=0.0, p=p_value(float(found[0]), found[1:]))


def dependence_change(
    sets: PairedSets,
    shape: tuple[int, int],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """How much more two axes hang together in the first set than in the second: difference of
    Cramer's V, in [-1, 1].

    Interval: percentile bootstrap, pairs together. p: by 9,999 exchanges of the pictures of pairs,
    so that one pair of axes can stand out among many; it asks whether one joint distribution gave
    both, for a rise alone. Equal numbers of pictures have V's excess of few pictures in common.
    Rows of the sets are (pictures, K L), 1 in the column of the two values seen, the second axis
    fastest; `shape` is (K, L).
    """

    def rise(means: tuple[ArrayLike, ArrayLike]) -> Floats:
        after, before = (cramers_v(np.asarray(one).reshape(-1, *shape)) for one in means)
        return np.asarray(after - before)

    value = float(rise(sets.means)[0])
    n = len(sets.first) + len(sets.second)
    low, high = percentile_interval(rise(sets.resampled(draws, rng)), level)
    p = p_value(value, rise(sets.exchanged(PERMUTATIONS, rng)))
    name = "percentile bootstrap, paired"
    return Estimate(
        value, min(low, value), max(high, value), level, name, n, null=0.0, max=1.0, p=p
    )
