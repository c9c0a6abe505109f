"""Intersectional Sensitivity: how far an intervention on one axis moves another one towards its
ideal (BiasConnect).

IS = w_init - w_after (Eq. 4), the distances of the target axis from its ideal before and after. The
distribution after is the equal-weight mean of the counterfactual sets' shares, so that no set
counts more because it has more answers.

**Value.** Distances of few pictures are too large, and the more so the fewer: 48 pictures against
48 K alone give a positive IS where nothing happens. A distance is a sum of |f . (p - q)| over
linear forms f (`distance.linear_forms`); the sampling error of f . p makes each of them too large,
by an amount known from its variance. The more exact of the two distributions is therefore taken as
blurred by as much normal noise as the other one has, which makes both excesses equal wherever the
populations are; what is left is reduced by extrapolating from twice the variance.

**Interval.** Each distance's population value is found by test inversion (`distance_intervals`), of
samples that are looked up in tables, and both are joined by MOVER. An ideal that was counted in
pictures of a reference errs as they do.

**An instrument that errs.** Where its confusion matrix is known, both distributions are corrected
for it, and populations that are tried in the inversion are read with its errors before they are
held against the answers. The matrix errs too, for both distributions alike; MOVER counts that as if
it were not common, to be safe.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.confusion import ReadingErrors, form_variances
from askew.stats.differences import joined
from askew.stats.distance import DISTANCES, distance_max, linear_forms, normalised
from askew.stats.distance_intervals import (
    METHOD,
    CommonDraws,
    SampledShares,
    as_exact_together,
    distance_intervals,
    rounded_pictures,
)
from askew.stats.intervals import TOLERANCE, Floats, tail
from askew.types import Estimate, Missing, grouped, slices

# of the step that would remove an excess in proportion to the standard error; more costs variance
EXTRAPOLATION = 0.35
AT_ONCE = 256  # margins whose samples are held in memory together
INTERVAL = f"MOVER, {METHOD}"
CORRECTED_INTERVAL = f"{INTERVAL}, instrument corrected"

Key = tuple[bytes, bytes, int, bytes, str, bytes]
Intervals = Mapping[Key, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class AxisPairSample:
    """What is known of one pair of axes, the intervened one and the target.

    initial         (m,) counts of the initial set's answers on the target axis, or (sets, m) of several sets of the
                    same weight: those of several prompts (Eq. 9-11)
    counterfactual  (K, m) counts of each counterfactual set of the intervened axis, of every prompt
    ideal           (m,) desired shares, or weights, of the target axis
    distance        a name of `distance.DISTANCES`
    missing         pictures without an answer, recorded only
    confusion       (m, m) counts of the instrument's answers (columns) on pictures whose truth is known (rows), for
                    which the sensitivity is corrected; None takes the answers for the truth
    reference_images  in how many pictures of a reference the ideal was counted; None takes it for exact
    """

    initial: ArrayLike
    counterfactual: ArrayLike
    reference: ArrayLike
    distance: str = "total_variation"
    missing: int = 0
    confusion: ArrayLike | None = None
    reference_images: int | None = None


def interactions(
    pairs: Sequence[AxisPairSample],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 1000,
) -> tuple[Estimate | Missing, ...]:
    """Intersectional Sensitivity of pairs of axes, debiased; positive where the intervention helps.
    In [-1, 1].

    Interval: of the population's IS, at `level`. p: two-sided, of IS = 0, from the same interval:
    below 1 - level where it leaves out 0. null: mean of the value if nothing happens, all sets
    being drawn from one population. The answer for one pair does not depend on which others are
    asked. Missing where a set has no answer, or the axis fewer than two values. Raises ValueError
    for shapes that do not fit and for what is no count, NotEnoughData for a confusion matrix
    without a picture of some true value.
    """
    found = [margins_of(pair) for pair in pairs]
    common = CommonDraws(int(rng.integers(2**63)), draws)
    intervals = _intervals(
        [one for m in found if not isinstance(m, Missing) for one in m], common, level
    )
    made: list[Estimate | Missing] = []
    for pair, m in zip(pairs, found, strict=True):
        if isinstance(m, Missing):
            made.append(m)
            continue
        before, after = m
        low, centre, high = joined(intervals[before.key], intervals[after.key])
        reach = centre - low if centre > 0 else high - centre
        p = float(abs(centre) <= TOLERANCE)
        if (
            reach > TOLERANCE
        ):  # half the interval, towards 0, is a normal quantile times a standard error
            p = float(
                2 * scipy.stats.norm.sf(abs(centre) / reach * scipy.stats.norm.isf(tail(level)))
            )
        name = INTERVAL if before.errors is None else CORRECTED_INTERVAL
        n = before.answers + after.answers
        value = min(max(_value(m), low), high)
        null = float(_null(m, common).mean())
        top = distance_max(before.reference, before.distance)
        made.append(
            Estimate(value, low, high, level, name, n, pair.missing, null=null, max=top, p=p)
        )
    return tuple(made)


def debiased_value(pair: AxisPairSample) -> float | Missing:
    """The value of `interactions` alone, before it is kept within its interval: no draws,
    microseconds.
    """
    m = margins_of(pair)
    return m if isinstance(m, Missing) else _value(m)


def null_sizes(
    pairs: Sequence[AxisPairSample], *, rng: np.random.Generator, draws: int = 1000
) -> tuple[Floats, ...]:
    """|IS| (draws,) if nothing happens of each pair that has one: what its noise adds to the amplification (Eq. 14).

    Pairs of equal sizes share their draws, so that sums over pairs vary more than those of
    independent ones.
    """
    common = CommonDraws(int(rng.integers(2**63)), draws)
    return tuple(
        np.abs(_null(m, common)) for one in pairs if not isinstance(m := margins_of(one), Missing)
    )


@dataclass(frozen=True, slots=True)
class TargetDistribution:
    """An estimated distribution of the target axis, as exact as that of so many independent
    answers.

    shares          (m,) on the simplex
    excess          (L,) the linear forms of the gap to the ideal, of shares that were not cut to the simplex
    variances       (L,) their sampling variances
    pictures        for the interval, rounded
    null_pictures   the same if all sets were drawn from one population
    coefficients    (L, m) the linear forms of the distance as forms of the shares of answers
    errors          those of the instrument; None where it has none
    """

    shares: Floats
    excess: Floats
    variances: Floats
    pictures: int
    null_pictures: int
    answers: int
    reference: Floats
    distance: str
    coefficients: Floats
    errors: ReadingErrors | None

    @property
    def key(self) -> Key:
        """What its interval depends on."""
        errors = b"" if self.errors is None else self.errors.key
        return (
            self.shares.tobytes(),
            self.excess.tobytes(),
            self.pictures,
            self.reference.tobytes(),
            self.distance,
            errors,
        )

    def sampled(
        self, populations: Floats, pictures: int, common: CommonDraws, stream: int = 0
    ) -> Floats:
        """Shares of the answers about so many pictures of populations (..., m): (..., draws, m)."""
        if self.errors is None:
            return common.counts(populations, pictures, stream) / pictures
        answered = np.einsum(
            "...t,dto->...do", populations, self.errors.drawn(common.draws, common.seed)
        )
        return common.counts_of_each(answered, pictures, stream) / pictures


Margins = tuple[TargetDistribution, TargetDistribution]
"""The target axis before and after the intervention."""


def margins_of(pair: AxisPairSample) -> Margins | Missing:
    """The target axis before and after, from counts, or why there is none. Errors as in
    `interactions`.
    """
    initial = np.asarray(pair.initial, dtype=float)
    sets = np.asarray(pair.counterfactual, dtype=float)
    reference = np.asarray(pair.reference, dtype=float)
    if (
        initial.ndim not in (1, 2)
        or sets.ndim != 2
        or not initial.shape[-1:] == sets.shape[1:] == reference.shape
    ):
        raise ValueError(
            f"counts of shapes {initial.shape}, {sets.shape} and an ideal of {reference.shape}; (m,), (K, m), (m,) needed"
        )
    initial = np.atleast_2d(initial)
    counts = np.vstack([initial, sets])
    if not np.all(np.isfinite(counts)) or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError("counts must be whole numbers that are not negative")
    if len(reference) < 2:
        return Missing(
            "error", "an axis with fewer than two values has no distribution that could change"
        )
    reference = normalised(reference, "the ideal")
    if len(sets) == 0 or not np.all(counts.sum(axis=1)):
        return Missing("not_asked", "a picture set has no answer on the target axis")
    errors = None if pair.confusion is None else ReadingErrors.of(pair.confusion)
    if errors is not None and len(errors.rates) != len(reference):
        raise ValueError(
            f"a confusion matrix of {len(errors.rates)} values for an axis of {len(reference)}"
        )
    if errors is not None and not errors.tell_values_apart:
        return Missing("error", "the instrument hardly tells the values of the target axis apart")
    before, after = (
        _counted(c, reference, pair.distance, errors, pair.reference_images)
        for c in (initial, sets)
    )
    return before, after


def _counted(
    sets: Floats,
    reference: Floats,
    distance: str,
    errors: ReadingErrors | None,
    reference_images: int | None,
) -> TargetDistribution:
    """The mean of the sets' shares, each with the same weight. The error of an ideal that was
    counted is added before and after alike, which is safe: common to both, it would partly cancel.
    """
    each = normalised(sets)
    n = sets.sum(axis=1, keepdims=True)
    mean, (forms, _) = each.mean(axis=0), linear_forms(distance, len(reference))
    coefficients = forms if errors is None else forms @ errors.inverse.T
    shares = mean if errors is None else errors.shares(mean)
    variances = (form_variances(each, coefficients) / np.maximum(n - 1, 1)).sum(axis=0) / len(
        sets
    ) ** 2
    if errors is not None:
        variances = variances + errors.variances(shares, coefficients)
    if reference_images is not None:
        variances = variances + form_variances(reference, forms) / max(reference_images - 1, 1)
    smooth = (sets + 1 / sets.shape[1]) / (n + 1)  # so that a set of one value varies too
    common = smooth.mean(axis=0)
    variance = (smooth * (1 - smooth) / n).sum() / len(sets) ** 2
    effective = max(
        1, round(float((common * (1 - common)).sum() / variance))
    )  # independent pictures as exact as these
    pictures = rounded_pictures(as_exact_together(effective, reference_images))
    alike = rounded_pictures(len(sets) ** 2 / float((1 / n).sum()))
    excess = mean @ coefficients.T - forms @ reference
    answers = int(sets.sum())
    return TargetDistribution(
        shares,
        excess,
        variances,
        pictures,
        alike,
        answers,
        reference,
        distance,
        coefficients,
        errors,
    )


def _value(m: Margins) -> float:
    before, after = m
    _, weight = linear_forms(before.distance, len(before.reference))
    return weight * float(_debiased(before.excess, before.variances, after.excess, after.variances))


def _debiased(
    before: Floats, variance_before: Floats, after: Floats, variance_after: Floats
) -> Floats:
    """Difference of the sums of |gap| (..., L), both blurred to the larger variance and
    extrapolated to none: (...).
    """
    common = np.maximum(variance_before, variance_after)
    sizes = []

    def size(mean: Floats, variance: Floats) -> Floats:
        """E |X| of a normal X."""
        error = np.sqrt(2 * np.maximum(variance, 0))
        z = np.divide(
            mean, error, out=np.full(np.broadcast(mean, error).shape, np.inf), where=error > 0
        )
        return np.asarray(
            error / math.sqrt(math.pi) * np.exp(-(z**2))
            + np.abs(mean) * scipy.special.erf(np.abs(z))
        )

    for gap, variance in ((before, variance_before), (after, variance_after)):
        blurred, twice = (size(gap, times * common - variance) for times in (1, 2))
        sizes.append(blurred - EXTRAPOLATION / (math.sqrt(2) - 1) * (twice - blurred))
    return np.asarray((sizes[0] - sizes[1]).sum(axis=-1))


def _null(m: Margins, common: CommonDraws) -> Floats:
    """The value where nothing happens: (draws,)."""
    before, after = m
    forms, weight = linear_forms(before.distance, len(before.reference))
    n = before.null_pictures
    k = after.null_pictures
    population = (n * before.shares + k * after.shares) / (n + k)
    of_matrix = (
        0.0 if before.errors is None else before.errors.variances(population, before.coefficients)
    )
    parts: list[Floats] = []
    for stream, pictures in enumerate((n, k)):
        answered = before.sampled(population, pictures, common, stream)
        variances = form_variances(answered, before.coefficients) / max(pictures - 1, 1) + of_matrix
        parts += [answered @ before.coefficients.T - before.reference @ forms.T, variances]
    return weight * _debiased(*parts)


def _intervals(
    margins: Sequence[TargetDistribution], common: CommonDraws, level: float
) -> Intervals:
    """The interval of every margin's distance from its ideal, by its key; those with as many
    pictures at once.
    """
    found: dict[Key, tuple[float, float]] = {}
    each = {one.key: one for one in margins}.values()
    for alike in grouped(
        each, lambda one: (one.pictures, one.distance, len(one.reference), one.key[-1])
    ).values():
        for part in slices(alike, AT_ONCE):
            found |= _intervals_of_alike(part, common, level)
    return found


def _intervals_of_alike(
    margins: Sequence[TargetDistribution], common: CommonDraws, level: float
) -> Intervals:
    first = margins[0]
    errors, (forms, weight) = first.errors, linear_forms(first.distance, len(first.reference))
    shares = np.stack([m.shares for m in margins])
    references = np.stack([m.reference for m in margins])
    wanted = (references @ forms.T)[:, None]
    sample = SampledShares(
        shares, np.array([m.pictures for m in margins]), references, DISTANCES[first.distance]
    )
    if errors is not None:
        uncut = np.array([weight * np.abs(m.excess).sum() for m in margins])
        spread = np.array(
            [
                [errors.standard_errors(p, m.pictures) for p in (m.shares, m.reference)]
                for m in margins
            ]
        )
        sample = replace(sample, uncut=uncut, standard_errors=spread.max(axis=1))

    def sampler(populations: Floats) -> Floats:
        sums = first.sampled(populations, first.pictures, common) @ first.coefficients.T
        return np.asarray(weight * np.abs(sums - wanted).sum(axis=-1))

    low, high = distance_intervals(sample, sampler(references), sampler, level)
    return {m.key: (float(a), float(b)) for m, a, b in zip(margins, low, high, strict=True)}
