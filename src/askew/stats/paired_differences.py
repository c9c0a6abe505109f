"""Differences between two models' scores, first less second, where pictures of the same prompt and seed are pairs.

Every score of one model has an interval already, by whatever method keeps its coverage at few pictures. The interval of
a difference joins two of them (MOVER, Zou and Donner 2008; for shares, Newcombe's tenth method) and takes off what the
pairing shows the two errors to have in common. Where pictures have no partner, nothing is in common, and the
interval is that of independent sets.

Two models that agree in every one of m pairs may still differ in a few pictures of a hundred, which m pairs would often
not show. So the correlation never reaches 1: by Newcombe's continuity correction for shares, and for the other scores
by what that amounts to at a share of one half.

p asks whether both models draw alike: the pictures of a pair change places at random, (1 + exceedances) / (1 + draws).

Two picture sets of which some pictures belong together: the same prompt and seed, drawn by two models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.association import SPREADS, Variant, cas
from askew.stats.association_intervals import Associations, associations, embedding_associations
from askew.stats.differences import Mixture, share_difference, wilson
from askew.stats.distance import Distance, distance_max, distance_named, normalised
from askew.stats.intervals import (
    POINT,
    TOLERANCE,
    Floats,
    bootstrap_weights,
    ends,
    in_order,
    mover,
    picture_matrix,
)
from askew.types import Estimate

CORRECTION = 2.0  # pairs; what a continuity correction of n / 2 takes off a phi of 1 at shares of one half, times n
ENOUGH = 10  # exceedances from which a p-value is known well enough
MOST = 20  # times the draws asked for, while there are fewer exceedances


def paired_share_difference(sets: PairedSets, value: int, *, level: float = 0.95) -> Estimate:
    """Difference of one value's share, in [-1, 1].

    Interval: Newcombe's tenth method, with the correlation scaled down where only some pictures have a partner. p:
    exact, with complete pairs McNemar's test; pictures without a partner are dealt to both sets at random. Where none
    has one: `differences.share_difference`.

    Args:
        sets: rows (pictures, K), 1 in the column of the value seen, 0 elsewhere.
        value: which of the K columns.
    """
    if not len(sets):
        return share_difference(sets.first.sum(axis=0), sets.second.sum(axis=0), value, level=level)
    first, second = sets.first[:, value], sets.second[:, value]
    x, n, y, m = int(first.sum()), len(first), int(second.sum()), len(second)
    p, q = x / n, y / m
    r = _phi(*sets.pairs[:, :, value]) * len(sets) / math.sqrt(n * m)
    low, high = mover(p, q, wilson(x, n, level), wilson(y, m, level), r)
    return Estimate(p - q, low, high, level, "Newcombe, paired", n + m, null=0.0, max=1.0, p=_exact_p(sets, value))


def paired_distance_difference(
    sets: PairedSets,
    ideal: ArrayLike,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Difference of two sets' distances from an ideal; the value is that of median-unbiased distances.

    Args:
        sets: rows (pictures, K), 1 in the column of the value seen, 0 elsewhere.
        ideal: (K,) shares, or weights.
        distance: a name of `distance.DISTANCES`, or a function of two distributions.
    """
    target, measure = normalised(ideal, "the ideal"), distance_named(distance)
    populations = [Mixture(rows.sum(axis=0)[None]) for rows in (sets.first, sets.second)]

    def intervals(at: float) -> list[tuple[float, float]]:
        return [
            x.interval(target, measure, draws, at, again) for x, again in zip(populations, _twice(rng), strict=True)
        ]

    def distances(means: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        first, second = (np.asarray(measure(shares, target))[..., None] for shares in means)
        return first, second

    r = _correlations(distances(sets.resampled(draws, rng)), len(sets))
    observed = np.subtract(*distances(sets.means))
    p = _p_values(observed, lambda: np.subtract(*distances(sets.exchanged(draws, rng))))
    (first, _), (second, _) = intervals(POINT)
    low, high = _joined((first, second), intervals(level), float(r[0]))
    n, top = len(sets.first) + len(sets.second), distance_max(target, measure)
    name = "MOVER, test inversion, paired"
    return Estimate(first - second, low, high, level, name, n, null=0.0, max=top, p=float(p[0]))


def paired_association_differences(
    initial: PairedSets,
    counterfactuals: Sequence[PairedSets],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
    embeddings: bool = False,
) -> Associations:
    """Differences of CAS, MAD and its alternatives (TIBET, Eq. 1-3, 6-7, appendix 9.4), each in its score's place.

    The plug-in scores of few pictures are too low (CAS) or too high (MAD), and not by the same amount in both models.
    Values are differences of median-unbiased scores.

    Args:
        initial: concept counts (pictures, concepts) of the initial sets.
        counterfactuals: those of each counterfactual, K >= 2, the same concepts in the same order.
        embeddings: rows are vectors of length 1 instead; differences of CAS^CLIP (Eq. 4) and of its MAD.

    Raises:
        NotEnoughData: a set without a concept, or fewer than two counterfactuals.
    """
    sets, k = [initial, *counterfactuals], len(counterfactuals)
    estimates = embedding_associations if embeddings else associations

    def scores(means: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        first, second = (
            [np.einsum("...d,...d->...", x[0], other) if embeddings else cas(x[0], other, variant) for other in x[1:]]
            for x in zip(*means, strict=True)
        )
        return _with_spread(np.stack(first, axis=-1), variant), _with_spread(np.stack(second, axis=-1), variant)

    a, b = (
        estimates(rows[0], rows[1:], rng=again, draws=draws, level=level, variant=variant)
        for rows, again in zip(([s.first for s in sets], [s.second for s in sets]), _twice(rng), strict=True)
    )
    r = _correlations(scores([s.resampled(draws, rng) for s in sets]), min(len(s) for s in sets))
    observed = np.subtract(*scores([s.means for s in sets]))
    p = _p_values(observed, lambda: np.subtract(*scores([s.exchanged(draws, rng) for s in sets])))
    listed = zip(
        *([*one.cas, *one.leans, one.mad, one.wasserstein, one.standard_deviation] for one in (a, b)), strict=True
    )
    differences = [
        _difference(one, other, float(r[i]), float(p[i]), top=i < k and not embeddings)
        for i, (one, other) in enumerate(listed)
    ]
    return Associations(tuple(differences[:k]), tuple(differences[k : 2 * k]), *differences[2 * k :])


def _difference(a: Estimate, b: Estimate, correlation: float, p: float, *, top: bool) -> Estimate:
    """Difference of two scores' median-unbiased values, with the interval from their own.

    With `top`, a score may well reach its upper bound 1: what is joined are then the distances from it, so that 1 is
    the bound that `_joined` heeds.
    """
    if top:
        from_one = [(1 - high, 1 - low) for low, high in map(ends, (b, a))]
        low, high = _joined((1 - b.mark, 1 - a.mark), from_one, correlation)
    else:
        low, high = _joined((a.mark, b.mark), [ends(a), ends(b)], correlation)
    n, missing = (a.n or 0) + (b.n or 0), a.missing + b.missing
    name = f"MOVER, {a.interval}, paired"
    return Estimate(a.mark - b.mark, low, high, a.level, name, n, missing, null=0.0, max=a.max, p=p)


def _joined(
    points: tuple[float, float], ends: Sequence[tuple[float, float]], correlation: float
) -> tuple[float, float]:
    """Interval of a difference of two scores from their own intervals around `points` (MOVER).

    Where a score may be 0, the bound of a spread or distance, the ends are subtracted in full: 0 is then not an end
    that the score reaches once in forty times, but what it may well be.
    """
    (low_a, high_a), (low_b, high_b) = ends
    a, b = min(max(points[0], low_a), high_a), min(max(points[1], low_b), high_b)
    low, high = mover(a, b, (low_a, high_a), (low_b, high_b), correlation)
    return -high_b if low_a == 0 else low, high_a if low_b == 0 else high


def _with_spread(similarity: Floats, variant: Variant) -> Floats:
    """CAS (..., K) with its leans and three measures of spread: (..., 2 K + 3)."""
    k = similarity.shape[-1]
    leans = (k * similarity - similarity.sum(axis=-1, keepdims=True)) / (k - 1)
    spreads = [spread(similarity, variant) for spread in SPREADS.values()]
    return np.concatenate([similarity, leans, np.stack(spreads, axis=-1)], axis=-1)


def _twice(rng: np.random.Generator) -> tuple[np.random.Generator, np.random.Generator]:
    """Two generators of the same numbers: equal data then give equal results, and noise of the draws cancels."""
    seed = int(rng.integers(2**63))
    return np.random.default_rng(seed), np.random.default_rng(seed)


def _correlations(scores: tuple[Floats, Floats], pairs: int) -> Floats:
    """Correlation of two models' bootstrap scores (draws, scores), by score; 0 where a score does not vary."""
    a, b = (s - s.mean(axis=0) for s in scores)
    if not pairs:
        return np.zeros(a.shape[1])
    size = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    r = np.divide((a * b).sum(axis=0), size, out=np.zeros_like(size), where=size > 0)
    return np.asarray(np.minimum(r, 1.0) * max(1 - CORRECTION / pairs, 0.0))


def _p_values(observed: Floats, exchanged: Callable[[], Floats]) -> Floats:
    """Two-sided p by score; each call of `exchanged` gives (draws, scores) more differences under the null."""
    exceedances, made, rounds = np.zeros(len(observed)), 0, 0
    while rounds < MOST and (rounds == 0 or exceedances.min() < ENOUGH):
        null = np.abs(exchanged())
        exceedances += (null >= np.abs(observed) - TOLERANCE).sum(axis=0)
        made, rounds = made + len(null), rounds + 1
    return np.asarray((1 + exceedances) / (1 + made))


def _exact_p(sets: PairedSets, value: int) -> float:
    """Two-sided p of a share's difference over all ways to exchange pairs and to deal the rest."""
    (a, b), (rest_a, rest_b) = sets.pairs[:, :, value], (rows[:, value] for rows in sets.rest)
    same, discordant, alone = int((a * b).sum()), int((a != b).sum()), int(rest_a.sum() + rest_b.sum())
    n, m = len(a) + len(rest_a), len(b) + len(rest_b)
    swaps, dealt = np.arange(discordant + 1)[:, None], np.arange(alone + 1)
    chance = scipy.stats.binom.pmf(swaps, discordant, 0.5)
    if len(rest_a) + len(rest_b):
        chance = chance * scipy.stats.hypergeom.pmf(dealt, len(rest_a) + len(rest_b), alone, len(rest_a))
    gap = (same + swaps + dealt) / n - (same + discordant - swaps + alone - dealt) / m
    observed = abs(sets.first[:, value].mean() - sets.second[:, value].mean())
    return min(1.0, float(chance[np.abs(gap) >= observed - TOLERANCE].sum()))


def _phi(a: Floats, b: Floats) -> float:
    """Correlation of paired answers (pairs,) of 0 or 1, with Newcombe's continuity correction; 0 if one is constant."""
    n, x, y = len(a), a.sum(), b.sum()
    covariance = n * (a * b).sum() - x * y
    if covariance > 0:
        covariance = max(covariance - n / 2, 0.0)
    size = math.sqrt(x * (n - x) * y * (n - y))
    return float(covariance / size) if size > 0 else 0.0


Keys = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class PairedSets:
    """Rows of two sets: `pairs` (2, m, columns) belong together, `rest` are those of each set that have no partner.

    What is drawn from it does not depend on the order in which the pictures came.
    """

    pairs: Floats
    rest: tuple[Floats, Floats]

    @classmethod
    def of(
        cls, first: ArrayLike, second: ArrayLike, first_keys: Keys | None = None, second_keys: Keys | None = None
    ) -> PairedSets:
        """Rows (pictures, columns) of both sets, paired where their keys are equal. A key of None has no partner.

        Raises:
            NotEnoughData: a set has no picture.
            ValueError: sets with different columns, or a key that occurs twice in a set.
        """
        a, b = picture_matrix(first, "the first set"), picture_matrix(second, "the second set")
        if a.shape[1] != b.shape[1]:
            raise ValueError(f"the sets have {a.shape[1]} and {b.shape[1]} columns; they must have the same")
        at_a, at_b = _places(first_keys, len(a)), _places(second_keys, len(b))
        common = sorted(at_a.keys() & at_b.keys())
        rows_a, rows_b = [at_a[key] for key in common], [at_b[key] for key in common]
        rest = (in_order(np.delete(a, rows_a, axis=0)), in_order(np.delete(b, rows_b, axis=0)))
        return cls(np.stack([a[rows_a], b[rows_b]]), rest)

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
        """Means (draws, columns) of both sets in bootstrap samples: pairs are drawn as pairs, the rest by itself."""
        shared = _weights(len(self), draws, rng)
        own = [_weights(len(rows), draws, rng) for rows in self.rest]
        first, second = (
            (shared @ pairs + weights @ rows) / (len(pairs) + len(rows))
            for pairs, weights, rows in zip(self.pairs, own, self.rest, strict=True)
        )
        return first, second

    def exchanged(self, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (draws, columns) of both sets if nothing but chance decided which set a picture is in.

        The two pictures of a pair change places or not, each way half of the time; pictures without a partner are dealt
        anew, as many to each set as before.
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


def _weights(n: int, draws: int, rng: np.random.Generator) -> Floats:
    """How often each of n pictures is drawn: (draws, n)."""
    return bootstrap_weights(n, draws, rng) * n if n else np.zeros((draws, 0))
