"""Intersectional Sensitivity: how far an intervention on one axis moves another one towards its ideal (BiasConnect).

IS = w_init - w_after (Eq. 4), the distances of the target axis from its ideal before and after. The distribution after
is the equal-weight mean of the counterfactual sets' shares, so that no set counts more because it has more answers.

**Value.** Distances of few pictures are too large, and the more so the fewer: 48 pictures against 48 K alone give a
positive IS where nothing happens. A distance is a sum of |f . (p - q)| over linear forms f (`distance.linear_forms`);
the sampling error of f . p makes each of them too large, by an amount known from its variance. The more exact of the
two distributions is therefore taken as blurred by as much normal noise as the other one has, which makes both excesses
equal wherever the populations are; what is left is reduced by extrapolating from twice the variance.

**Interval.** Each distance's population value is found by test inversion (`distance_intervals`), and both are joined by
MOVER. All samples are looked up in tables of pictures that are drawn once (`CommonDraws`), so that the answer for one
pair does not depend on which others are asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from askew.stats.common_draws import CommonDraws, rounded_pictures
from askew.stats.differences import Mixture, joined, p_from_interval
from askew.stats.distance import DISTANCES, distance_for, distance_max, linear_forms, normalised
from askew.stats.distance_intervals import METHOD, SampledShares, distance_intervals
from askew.stats.intervals import Floats
from askew.types import Estimate, Missing, Scale

EXTRAPOLATION = 0.35  # of the step that would remove an excess in proportion to the standard error; more costs variance
INTERVAL = f"MOVER, {METHOD}"

Key = tuple[bytes, int, bytes, str]
Intervals = Mapping[Key, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Pair:
    """What is known of one pair of axes, the intervened one and the target.

    initial         (m,) counts of the initial set's answers on the target axis, or (sets, m) of several sets of the
                    same weight: those of several prompts (Eq. 9-11)
    counterfactual  (K, m) counts of each counterfactual set of the intervened axis, of every prompt
    ideal           (m,) desired shares, or weights, of the target axis
    distance        a name of `distance.DISTANCES`
    missing         pictures without an answer, recorded only
    """

    initial: ArrayLike
    counterfactual: ArrayLike
    ideal: ArrayLike
    distance: str = "total_variation"
    missing: int = 0


def interaction(
    initial: ArrayLike,
    counterfactual: ArrayLike,
    ideal: ArrayLike,
    distance: str = "auto",
    *,
    rng: np.random.Generator,
    scale: Scale = "nominal",
    level: float = 0.95,
    draws: int = 1000,
    missing: int = 0,
) -> Estimate | Missing:
    """Intersectional Sensitivity of one pair of axes, debiased; positive where the intervention helps. In [-1, 1].

    Interval: of the population's IS, at `level`. p: two-sided, of IS = 0, from the same interval: below 1 - level where
    it leaves out 0. null: mean of the value if nothing happens, all sets being drawn from one population.

    Args:
        initial: (m,) counts of the initial set's answers on the target axis; (sets, m) where there are several.
        counterfactual: (K, m) counts of each counterfactual set of the intervened axis.
        ideal: (m,) desired shares, or weights.
        distance: "ordinal" (W1 over ranks), "nominal" (total variation), "values", or "auto": that of `scale`.
        missing: pictures without an answer, recorded only.

    Returns:
        Missing where a set has no answer, or the axis fewer than two values.

    Raises:
        ValueError: shapes that do not fit, or something that is not a count.
        UnknownName: no such distance.
    """
    pair = Pair(initial, counterfactual, ideal, distance_for(distance, scale), missing)
    return interactions([pair], rng=rng, level=level, draws=draws)[0]


def interactions(
    pairs: Sequence[Pair], *, rng: np.random.Generator, level: float = 0.95, draws: int = 1000
) -> tuple[Estimate | Missing, ...]:
    """`interaction` of many pairs, in their order. The answer for one does not depend on which others are asked."""
    margins = [margins_of(pair) for pair in pairs]
    return sensitivities(margins, [pair.missing for pair in pairs], rng=rng, level=level, draws=draws)


def debiased_value(pair: Pair) -> float | Missing:
    """The value of `interaction` alone, before it is kept within its interval: no draws, microseconds."""
    m = margins_of(pair)
    return m if isinstance(m, Missing) else _value(m)


def null_sizes(pairs: Sequence[Pair], *, rng: np.random.Generator, draws: int = 1000) -> tuple[float | Missing, ...]:
    """Mean |IS| of each pair if nothing happens: what its noise alone adds to the amplification (Eq. 14)."""
    common = CommonDraws(int(rng.integers(2**63)), draws)
    margins = [margins_of(pair) for pair in pairs]
    return tuple(m if isinstance(m, Missing) else float(np.abs(_null(m, common)).mean()) for m in margins)


@dataclass(frozen=True, slots=True)
class Margin:
    """An estimated distribution of the target axis, as exact as that of so many independent pictures.

    shares          (m,) on the simplex
    variances       (L,) sampling variances of the linear forms of the distance
    pictures        for the interval, rounded
    null_pictures   the same if all sets were drawn from one population
    """

    shares: Floats
    variances: Floats
    pictures: int
    null_pictures: int
    ideal: Floats
    distance: str

    @property
    def key(self) -> Key:
        """What its interval depends on."""
        return self.shares.tobytes(), self.pictures, self.ideal.tobytes(), self.distance


@dataclass(frozen=True, slots=True)
class Margins:
    """The target axis before and after the intervention."""

    before: Margin
    after: Margin
    answers: int


def sensitivities(
    margins: Sequence[Margins | Missing],
    missing: Sequence[int],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 1000,
) -> tuple[Estimate | Missing, ...]:
    """Intersectional Sensitivity from distributions however estimated; what `interactions` does from counts.

    Args:
        missing: pictures without an answer behind each pair, recorded only.
    """
    common = CommonDraws(int(rng.integers(2**63)), draws)
    asked = [margin for m in margins if not isinstance(m, Missing) for margin in (m.before, m.after)]
    intervals = _intervals(asked, common, level)
    return tuple(
        m if isinstance(m, Missing) else _estimate(m, intervals, common, level, absent)
        for m, absent in zip(margins, missing, strict=True)
    )


def margins_of(pair: Pair) -> Margins | Missing:
    """The target axis before and after, from counts, or why there is none. Errors as in `interaction`."""
    initial, sets = np.asarray(pair.initial, dtype=float), np.asarray(pair.counterfactual, dtype=float)
    ideal = normalised(pair.ideal, "the ideal")
    if initial.ndim not in (1, 2) or sets.ndim != 2 or not initial.shape[-1:] == sets.shape[1:] == ideal.shape:
        raise ValueError(
            f"counts of shapes {initial.shape}, {sets.shape} and an ideal of {ideal.shape}; (m,), (K, m), (m,) needed"
        )
    initial = np.atleast_2d(initial)
    counts = np.vstack([initial, sets])
    if not np.all(np.isfinite(counts)) or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError("counts must be whole numbers that are not negative")
    if len(ideal) < 2:
        return Missing("error", "an axis with fewer than two values has no distribution that could change")
    if len(sets) == 0 or not np.all(counts.sum(axis=1)):
        return Missing("not_asked", "a picture set has no answer on the target axis")
    before, after = (_counted(c, ideal, pair.distance) for c in (initial, sets))
    return Margins(before, after, int(counts.sum()))


def _counted(sets: Floats, ideal: Floats, distance: str) -> Margin:
    """The mean of the sets' shares, each with the same weight."""
    mixture, n = Mixture(sets), sets.sum(axis=1, keepdims=True)
    shares = normalised(sets) @ linear_forms(distance, len(ideal))[0].T
    variances = (shares * (1 - shares) / np.maximum(n - 1, 1)).sum(axis=0) / len(sets) ** 2
    alike = rounded_pictures(len(sets) ** 2 / float((1 / n).sum()))
    return Margin(mixture.shares, variances, rounded_pictures(mixture.pictures), alike, ideal, distance)


def _estimate(m: Margins, intervals: Intervals, common: CommonDraws, level: float, missing: int) -> Estimate:
    low, centre, high = joined(intervals[m.before.key], intervals[m.after.key])
    return Estimate(
        value=min(max(_value(m), low), high),
        low=low,
        high=high,
        level=level,
        interval=INTERVAL,
        n=m.answers,
        missing=missing,
        null=float(_null(m, common).mean()),
        max=distance_max(m.before.ideal, m.before.distance),
        p=p_from_interval(low, centre, high, level),
    )


def _value(m: Margins) -> float:
    forms, weight = linear_forms(m.before.distance, len(m.before.ideal))
    gaps = [(margin.shares - margin.ideal) @ forms.T for margin in (m.before, m.after)]
    return weight * float(_debiased(gaps[0], m.before.variances, gaps[1], m.after.variances))


def _debiased(before: Floats, variance_before: Floats, after: Floats, variance_after: Floats) -> Floats:
    """Difference of the sums of |gap| (..., L), both blurred to the larger variance and extrapolated to none: (...)."""
    common = np.maximum(variance_before, variance_after)
    first, second = _excess_free(before, variance_before, common), _excess_free(after, variance_after, common)
    return np.asarray((first - second).sum(axis=-1))


def _excess_free(gap: Floats, variance: Floats, common: Floats) -> Floats:
    blurred, twice = _mean_size(gap, common - variance), _mean_size(gap, 2 * common - variance)
    return np.asarray(blurred - EXTRAPOLATION / (math.sqrt(2) - 1) * (twice - blurred))


def _mean_size(mean: Floats, variance: Floats) -> Floats:
    """E |X| of a normal X."""
    error = np.sqrt(2 * np.maximum(variance, 0))
    z = np.divide(mean, error, out=np.full(np.broadcast(mean, error).shape, np.inf), where=error > 0)
    return np.asarray(error / math.sqrt(math.pi) * np.exp(-(z**2)) + np.abs(mean) * erf(np.abs(z)))


def _null(m: Margins, common: CommonDraws) -> Floats:
    """The value where nothing happens: (draws,)."""
    forms, weight = linear_forms(m.before.distance, len(m.before.ideal))
    n, k = m.before.null_pictures, m.after.null_pictures
    population = (n * m.before.shares + k * m.after.shares) / (n + k)
    parts: list[Floats] = []
    for stream, pictures in enumerate((n, k)):
        shares = common.counts(population, pictures, stream) @ forms.T / pictures
        parts += [shares - m.before.ideal @ forms.T, shares * (1 - shares) / max(pictures - 1, 1)]
    return weight * _debiased(*parts)


def _intervals(margins: Sequence[Margin], common: CommonDraws, level: float) -> Intervals:
    """The interval of every margin's distance from its ideal, by its key; those with as many pictures at once."""
    groups: dict[tuple[int, str, int], dict[Key, Margin]] = {}
    for margin in margins:
        groups.setdefault((margin.pictures, margin.distance, len(margin.ideal)), {})[margin.key] = margin
    found: dict[Key, tuple[float, float]] = {}
    for _, alike in sorted(groups.items(), key=lambda group: group[0]):
        found |= _intervals_of_alike(alike, common, level)
    return found


def _intervals_of_alike(margins: Mapping[Key, Margin], common: CommonDraws, level: float) -> Intervals:
    first = next(iter(margins.values()))
    measure, n = DISTANCES[first.distance], first.pictures
    shares, ideals = (np.stack([getattr(m, name) for m in margins.values()]) for name in ("shares", "ideal"))

    def sampler(populations: Floats) -> Floats:
        return np.asarray(measure(common.counts(populations, n), ideals[:, None]))

    sample = SampledShares(shares, np.full(len(shares), n), ideals, measure)
    low, high = distance_intervals(sample, sampler(ideals), sampler, level)
    return {key: (float(a), float(b)) for key, a, b in zip(margins, low, high, strict=True)}
