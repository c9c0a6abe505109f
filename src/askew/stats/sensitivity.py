"""Intersectional Sensitivity (IS): how much stating a value of an axis affects another axis.

    IS = d(before, reference) - d(after, reference)                                         (Eq. 4)

IS (BiasConnect) measures how much closer a target axis comes to its reference distribution if the
prompt states a value of another axis, the intervened axis. d is a distance between distributions.
`before` contains the shares of the target axis's values in the baseline images. `after` contains
the mean shares of these values over the counterfactual image sets, one for each value of the
intervened axis. Every counterfactual set has the same weight, regardless of its number of answers.
IS is positive if the intervention brings the target axis closer to its reference.

**Value.** A distance computed from a few images is too large on average, and this excess
grows as the number of images shrinks. With 48 baseline images and K counterfactual sets of 48
images, the uncorrected difference between the distances is positive on average, even without an
effect. Every distance between distributions p and q in this module is a sum of |f · (p - q)| over
linear forms f (`distance.linear_forms`). The excess of each term follows from the sampling variance
of f · p. askew adds normal noise to the more precise of the two distributions until both have the
same variance, so that both excesses are equal. To reduce the remaining excess, askew also computes
the difference at twice this variance, and extrapolates to a smaller variance.

**Interval.** askew computes an interval for each of the two distances by test inversion
(`distance_intervals`), drawing samples from precomputed tables of random numbers. MOVER combines
the two intervals. If the reference was computed from images, the reference is also uncertain. askew
then draws smaller samples, so that their sampling error includes the error of the reference. A
value that does not occur in the reference images is treated as rare, not as impossible.

**Labeling errors.** If the confusion matrix of the instrument is known, askew corrects both
distributions for the instrument's errors. When askew tests a population, it applies the same
labeling errors to the population before comparing it with the answers. The confusion matrix has a
sampling error, which affects both distributions in the same way. MOVER treats these two effects as
independent, which is conservative.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.common_draws import CommonDraws, rounded_pictures
from askew.stats.confusion import ReadingErrors, form_variances
from askew.stats.differences import joined
from askew.stats.distance import DISTANCES, distance_max, linear_forms, normalised
from askew.stats.distance_intervals import (
    METHOD,
    SampledShares,
    as_exact_together,
    distance_intervals,
    reference_population,
    shifted_shares,
)
from askew.stats.distributions import normal_sf
from askew.stats.intervals import TOLERANCE, Floats, critical_value
from askew.types import Estimate, Missing, grouped, slices

EXTRAPOLATION = 0.35
"""Fraction of the full extrapolation that askew applies.

The full extrapolation would remove an excess that is proportional to the standard error.

A larger fraction would remove more of the excess but increase the variance.
"""

AT_ONCE = 256
"""Maximum number of distributions whose intervals are computed together. It limits memory use."""

INTERVAL = f"MOVER, {METHOD}"
CORRECTED_INTERVAL = f"{INTERVAL}, instrument corrected"


@dataclass(frozen=True, slots=True)
class AxisPairSample:
    """Counts for an ordered pair of axes: the intervened axis and the target axis.

    Attributes
    ----------
    initial : array, (m,) or (sets, m)
        Number of answers with each value of the target axis in the baseline images. If there are
        several rows, each row is the baseline set of one prompt. All prompts have the same weight
        (Eq. 9-11).
    counterfactual : array, (K, m)
        Number of answers with each value of the target axis, for each counterfactual set of the
        intervened axis.
    reference : array, (m,)
        Reference shares of the target axis, or weights, which askew scales to shares.
    distance : str
        Name of the distance from the reference, a key of `distance.DISTANCES`.
    missing : int
        Number of images without an answer. This number is reported but does not affect the
        estimate.
    confusion : array, (m, m), optional
        Number of images for each true value (rows) and each answer of the instrument (columns). If
        this table is given, IS is corrected for these labeling errors.
    reference_images : int, optional
        Number of images from which the reference was computed; None if the reference is exact.
    """

    initial: ArrayLike
    counterfactual: ArrayLike
    reference: ArrayLike
    distance: str = "total_variation"
    missing: int = 0
    confusion: ArrayLike | None = None
    reference_images: int | None = None


class Gaps(NamedTuple):
    """Mean shares over several image sets, and their differences from the reference shares.

    Attributes
    ----------
    mean : array, (m,)
        Mean shares of answers.
    excess, variances : array, (L,)
        Difference from the reference for each linear form, and its sampling variance.
    coefficients : array, (L, m)
        Coefficients that compute each form from the shares of answers.
    weight : float
        Factor that converts the sum of the absolute differences to a distance.
    """

    mean: Floats
    excess: Floats
    variances: Floats
    coefficients: Floats
    weight: float


@dataclass(frozen=True, slots=True)
class CheckedSets:
    """Validated counts for a pair of axes, with the target axis's reference and labeling errors.

    Attributes are as in `AxisPairSample`. All count arrays have two dimensions, and the reference
    is normalized.
    """

    initial: Floats
    counterfactual: Floats
    reference: Floats
    distance: str
    errors: ReadingErrors | None
    reference_images: int | None

    @property
    def baseline_key(self) -> tuple[bytes, ...]:
        """Key that identifies the baseline sets and all settings that affect their gaps."""
        return (
            self.initial.tobytes(),
            self.reference.tobytes(),
            self.distance.encode(),
            str(self.reference_images).encode(),
            b"" if self.errors is None else self.errors.key,
        )


def interactions(
    pairs: Sequence[AxisPairSample],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 1000,
) -> tuple[Estimate | Missing, ...]:
    """Estimate the Intersectional Sensitivity (IS) of each pair of axes.

    The result for a pair does not depend on the other pairs.

    Parameters
    ----------
    pairs
        Counts for each pair of axes.
    rng
        Random generator that draws the seed for all simulations.
    level
        Confidence level of the intervals, in (0, 1).
    draws
        Number of simulated samples for each tested population.

    Returns
    -------
    tuple of Estimate or Missing
        IS of each pair. `value` is the debiased IS, in [-1, 1]. If this value is outside its
        interval, it is moved to the nearer end of the interval. `p` comes from a two-sided test of
        IS = 0, and is below 1 - level if and only if the interval excludes 0. `null` is the mean
        value expected without an effect, when all sets come from the same population. The result is
        Missing if a set has no answers, if the axis has fewer than two values, or if the instrument
        cannot distinguish the values.

    Raises
    ------
    ValueError
        If shapes do not match, or an array contains invalid counts.
    NotEnoughData
        If the confusion matrix contains no images for one of the true values.
    """
    changes = [change_of(pair) for pair in pairs]
    known = [change for change in changes if not isinstance(change, Missing)]
    common = CommonDraws(seed=int(rng.integers(2**63)), draws=draws)
    intervals = _intervals([target for change in known for target in change], common, level)

    estimates: list[Estimate | Missing] = []
    for pair, change in zip(pairs, changes, strict=True):
        if isinstance(change, Missing):
            estimates.append(change)
        else:
            estimates.append(_estimate(change, pair.missing, intervals, common, level))
    return tuple(estimates)


def debiased_values(pairs: Sequence[AxisPairSample]) -> list[float | Missing]:
    """Return the debiased IS of each pair, without the simulations and intervals of `interactions`.

    Unlike `interactions`, this function does not move a value that lies outside its interval.
    """
    values: list[float | Missing] = []
    before: list[Gaps] = []
    after: list[Gaps] = []
    of_baseline: dict[tuple[bytes, ...], Gaps] = {}
    for pair in pairs:
        sets = _checked_sets(pair)
        if isinstance(sets, Missing):
            values.append(sets)
            continue
        key = sets.baseline_key
        if key not in of_baseline:
            of_baseline[key] = _gaps(sets.initial, sets)
        before.append(of_baseline[key])
        after.append(_gaps(sets.counterfactual, sets))
        values.append(math.nan)
    known = iter(_values_of_gaps(before, after))
    return [value if isinstance(value, Missing) else next(known) for value in values]


def _values_of_gaps(before: Sequence[Gaps], after: Sequence[Gaps]) -> list[float]:
    """Compute the debiased IS of all pairs of axes with one array operation."""
    if not before:
        return []
    longest = max(len(gaps.excess) for gaps in before)

    def padded(rows: Sequence[Floats]) -> Floats:
        table = np.zeros((len(rows), longest))
        for place, row in enumerate(rows):
            table[place, : len(row)] = row
        return table

    differences = debiased_difference(
        padded([gaps.excess for gaps in before]),
        padded([gaps.variances for gaps in before]),
        padded([gaps.excess for gaps in after]),
        padded([gaps.variances for gaps in after]),
    )
    weights = np.array([gaps.weight for gaps in before])
    values: list[float] = (weights * differences).tolist()
    return values


def debiased_value(pair: AxisPairSample) -> float | Missing:
    """Return the debiased IS of a single pair, as in `debiased_values`."""
    return debiased_values([pair])[0]


def least_possible(pair: AxisPairSample) -> float:
    """Return the minimum IS that is possible with these counterfactual sets.

    The minimum is -d, where d is the distance from the reference after the intervention. This
    distance is known exactly if all images in each counterfactual set show the same value, and
    labels have no known errors. For example, if the counterfactual prompts state the values of the
    target axis itself, and all images follow their prompts, this axis cannot move away from a
    uniform reference.

    Returns
    -------
    float
        Minimum IS. If the distance is not known exactly, the result is -1, the lowest value of IS.
    """
    change = change_of(pair)
    return -1.0 if isinstance(change, Missing) else _least_possible(change)


def null_sizes(
    pairs: Mapping[tuple[str, str], AxisPairSample],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
) -> dict[tuple[str, str], Floats]:
    """Simulate |IS| for pairs without an effect, which add noise to the amplification (Eq. 14).

    The distributions of a pair before and after the intervention are drawn from the same
    population. All pairs with the same target axis use the same random numbers for the baseline
    set. The counterfactual sets of different pairs are independent. If counterfactual sets of equal
    size used the same draws, |IS| would be large for all pairs at once in some simulations, and no
    observed graph would differ significantly from the simulated graphs.

    Parameters
    ----------
    pairs
        Counts for each pair of axes in a graph. A key consists of the intervened axis and the
        target axis.
    rng
        Random generator that draws the seed for all simulations.
    draws
        Number of simulated graphs.

    Returns
    -------
    dict of array, (draws,)
        Simulated |IS| of each pair whose IS is not Missing.
    """
    common = CommonDraws(seed=int(rng.integers(2**63)), draws=draws)
    sizes = {}
    for (source, target), pair in pairs.items():
        change = change_of(pair)
        if not isinstance(change, Missing):
            after = np.random.default_rng([common.seed, *map(_stream, (source, target))])
            simulated = _null_sensitivities(change, common, stream=_stream(target), after=after)
            sizes[source, target] = np.abs(simulated)
    return sizes


class DistributionKey(NamedTuple):
    """Key that identifies the data from which an interval is computed.

    Distances with equal keys have equal intervals.
    """

    shares: bytes
    excess: bytes
    pictures: int
    reference: bytes
    distance: str
    errors: bytes


@dataclass(frozen=True, slots=True)
class TargetDistribution:
    """Estimated distribution of the target axis's values, with its precision.

    Attributes
    ----------
    shares : array, (m,)
        Shares of the values, which are at least 0 and sum to 1.
    excess : array, (L,)
        Difference from the reference for each linear form. The difference is computed from
        corrected shares, which may be negative.
    variances : array, (L,)
        Sampling variance of each difference in `excess`.
    pictures : int
        Effective sample size: the number of independent images that give the same precision,
        rounded to a size for which there is a table of random numbers (`common_draws`).
    null_pictures : int
        Effective sample size under the null hypothesis that all sets come from one population.
    answers : int
        Number of answers.
    reference : array, (m,)
        Reference shares.
    reference_population : array, (m,)
        Shares from which samples are drawn if the population equals the reference (see
        `distance_intervals`).
    distance : str
        Name of the distance.
    coefficients : array, (L, m)
        Coefficients that compute each linear form from the shares of *answers*.
    errors : ReadingErrors, optional
        Known labeling errors of the instrument.
    """

    shares: Floats
    excess: Floats
    variances: Floats
    pictures: int
    null_pictures: int
    answers: int
    reference: Floats
    reference_population: Floats
    distance: str
    coefficients: Floats
    errors: ReadingErrors | None

    @property
    def key(self) -> DistributionKey:
        """Key that identifies the data from which the interval of the distance is computed."""
        return DistributionKey(
            shares=self.shares.tobytes(),
            excess=self.excess.tobytes(),
            pictures=self.pictures,
            reference=self.reference_population.tobytes(),
            distance=self.distance,
            errors=b"" if self.errors is None else self.errors.key,
        )

    @property
    def shifted_shares(self) -> Floats:
        """Shares, shifted by the difference between `reference` and `reference_population`."""
        return shifted_shares(self.shares, self.reference, self.reference_population)

    def sampled(
        self, populations: Floats, pictures: int, common: CommonDraws, stream: int = 0
    ) -> Floats:
        """Draw images from populations, and simulate the shares of the answers about them."""
        if self.errors is None:
            return common.counts(populations, pictures, stream) / pictures
        answered = self._answered(populations, self.errors, common)
        return common.counts_of_each(answered, pictures, stream) / pictures

    def drawn(
        self, population: Floats, pictures: int, common: CommonDraws, rng: np.random.Generator
    ) -> Floats:
        """Simulate the shares of answers without using tables of random numbers."""
        answered = population
        if self.errors is not None:
            answered = self._answered(population, self.errors, common)
        return rng.multinomial(pictures, answered, size=common.draws) / pictures

    @staticmethod
    def _answered(populations: Floats, errors: ReadingErrors, common: CommonDraws) -> Floats:
        """Return the expected shares of answers for each drawn error matrix."""
        confusion = errors.drawn(common.draws, common.seed)
        return np.asarray(np.einsum("...t,dto->...do", populations, confusion))


class Change(NamedTuple):
    """Distributions of the target axis before and after the intervention."""

    before: TargetDistribution
    after: TargetDistribution


Intervals = Mapping[DistributionKey, tuple[float, float]]
"""Lower and upper limit of the interval for each target's distance from its reference."""


def change_of(pair: AxisPairSample) -> Change | Missing:
    """Estimate the distributions of the target axis before and after the intervention.

    If the distributions cannot be estimated, return Missing with the reason.

    Raises
    ------
    ValueError
        If shapes do not match, or an array contains invalid counts.
    NotEnoughData
        If the confusion matrix contains no images for one of the true values.
    """
    sets = _checked_sets(pair)
    if isinstance(sets, Missing):
        return sets
    return Change(
        before=_target_distribution(sets.initial, sets),
        after=_target_distribution(sets.counterfactual, sets),
    )


def _checked_sets(pair: AxisPairSample) -> CheckedSets | Missing:
    """Check the counts of a pair. Return Missing with the reason if IS cannot be computed.

    The function raises the same exceptions as `change_of`.
    """
    initial, counterfactual, reference = _checked_counts(pair)
    if len(reference) < 2:
        detail = "an axis with fewer than two values has no distribution that could change"
        return Missing("error", detail)
    reference = normalised(reference, "the reference")

    answered = initial.any(axis=1).all() and counterfactual.any(axis=1).all()
    if len(counterfactual) == 0 or not answered:
        return Missing("not_asked", "an image set has no answers on the target axis")

    errors = None
    if pair.confusion is not None:
        errors = ReadingErrors.of(pair.confusion)
        if len(errors.rates) != len(reference):
            raise ValueError(
                f"the confusion matrix has {len(errors.rates)} values, but the axis has "
                f"{len(reference)}"
            )
        if not errors.tell_values_apart:
            detail = "the instrument does not distinguish the values of the target axis"
            return Missing("error", detail)
    return CheckedSets(
        initial=initial,
        counterfactual=counterfactual,
        reference=reference,
        distance=pair.distance,
        errors=errors,
        reference_images=pair.reference_images,
    )


def _checked_counts(pair: AxisPairSample) -> tuple[Floats, Floats, Floats]:
    """Check baseline counts, counterfactual counts and reference, and return them."""
    initial = np.asarray(pair.initial, dtype=float)
    counterfactual = np.asarray(pair.counterfactual, dtype=float)
    reference = np.asarray(pair.reference, dtype=float)

    right_axes = initial.ndim in (1, 2) and counterfactual.ndim == 2
    if not right_axes or not initial.shape[-1:] == counterfactual.shape[1:] == reference.shape:
        raise ValueError(
            f"the counts have shapes {initial.shape} and {counterfactual.shape}, and the reference "
            f"has shape {reference.shape}; (m,), (K, m) and (m,) are needed"
        )

    initial = np.atleast_2d(initial)
    counts = np.vstack([initial, counterfactual])
    if not np.all(np.isfinite(counts)) or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError("counts must be non-negative whole numbers")
    return initial, counterfactual, reference


def _gaps(counts: Floats, sets: CheckedSets) -> Gaps:
    """Compute the differences between the reference and the mean shares over several sets.

    All sets have the same weight.
    """
    forms, weight = linear_forms(sets.distance, len(sets.reference))
    coefficients = forms if sets.errors is None else forms @ sets.errors.inverse.T
    answers = counts.sum(axis=1, keepdims=True)
    of_sets = counts / answers
    mean = of_sets.mean(axis=0)
    variances = form_variances(of_sets, coefficients) / np.maximum(answers - 1, 1)
    variances = variances.sum(axis=0) / len(counts) ** 2
    if sets.errors is not None:
        variances = variances + sets.errors.variances(sets.errors.shares(mean), coefficients)
    if sets.reference_images is not None:
        # Before and after share this error, so it would partly cancel. Counting it twice is safe.
        population = reference_population(sets.reference, sets.reference_images)
        of_reference = form_variances(population, forms)
        variances = variances + of_reference / max(sets.reference_images - 1, 1)
    return Gaps(
        mean=mean,
        excess=mean @ coefficients.T - forms @ sets.reference,
        variances=variances,
        coefficients=coefficients,
        weight=weight,
    )


def _target_distribution(counts: Floats, sets: CheckedSets) -> TargetDistribution:
    """Estimate the distribution of the target axis from several sets with equal weights."""
    gaps = _gaps(counts, sets)
    answers = counts.sum(axis=1)
    pictures = as_exact_together(_effective_pictures(counts), sets.reference_images)
    null_pictures = len(counts) ** 2 / float((1 / answers).sum())
    return TargetDistribution(
        shares=gaps.mean if sets.errors is None else sets.errors.shares(gaps.mean),
        excess=gaps.excess,
        variances=gaps.variances,
        pictures=rounded_pictures(pictures),
        null_pictures=rounded_pictures(null_pictures),
        answers=int(answers.sum()),
        reference=sets.reference,
        reference_population=reference_population(sets.reference, sets.reference_images),
        distance=sets.distance,
        coefficients=gaps.coefficients,
        errors=sets.errors,
    )


def _effective_pictures(sets: Floats) -> int:
    """Return the size of a single set whose shares are as precise as the mean shares of `sets`.

    Counts are smoothed, so that a set with only one value is not treated as exact.
    """
    answers = sets.sum(axis=1, keepdims=True)
    smooth = (sets + 1 / sets.shape[1]) / (answers + 1)
    mean = smooth.mean(axis=0)
    variance = (smooth * (1 - smooth) / answers).sum() / len(sets) ** 2
    variance_of_one = float((mean * (1 - mean)).sum() / variance)
    return max(1, round(variance_of_one))


def _estimate(
    change: Change, missing: int, intervals: Intervals, common: CommonDraws, level: float
) -> Estimate:
    """Return the sensitivity with its interval, null value and p-value."""
    before, after = change
    low, centre, high = joined(intervals[before.key], intervals[after.key])
    p = _p_of_interval(low, centre, high, level)
    low = max(low, _least_possible(change))
    value = min(max(_debiased_sensitivity(change), low), high)
    null = float(_null_sensitivities(change, common).mean())
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        interval=INTERVAL if before.errors is None else CORRECTED_INTERVAL,
        n=before.answers + after.answers,
        missing=missing,
        null=null,
        max=distance_max(before.reference, before.distance),
        p=p,
    )


def _least_possible(change: Change) -> float:
    """Return the minimum possible IS, as in `least_possible`."""
    after = change.after
    if np.any(after.variances > TOLERANCE):
        return -1.0
    _, weight = linear_forms(after.distance, len(after.reference))
    return 0.0 - weight * float(np.abs(after.excess).sum())


def _p_of_interval(low: float, centre: float, high: float, level: float) -> float:
    """Derive the p-value of a two-sided test for the value 0 from an interval.

    The distance from the center to whichever end is nearer to 0 is treated as a normal quantile
    times a standard error.
    """
    reach = centre - low if centre > 0 else high - centre
    if reach <= TOLERANCE:
        return float(abs(centre) <= TOLERANCE)
    quantile = critical_value(level)
    return 2 * normal_sf(abs(centre) / reach * quantile)


def _debiased_sensitivity(change: Change) -> float:
    """Compute IS, corrected for small-sample bias."""
    before, after = change
    _, weight = linear_forms(before.distance, len(before.reference))
    difference = debiased_difference(before.excess, before.variances, after.excess, after.variances)
    return weight * float(difference)


def _null_sensitivities(
    change: Change,
    common: CommonDraws,
    stream: int = 0,
    after: np.random.Generator | None = None,
) -> Floats:
    """Simulate the debiased IS under no effect, by drawing all sets from the same population.

    The random numbers for the baseline set come from `stream`. The counterfactual sets are drawn
    with the generator `after`. If `after` is None, the random numbers for the counterfactual sets
    come from the next stream.
    """
    n = change.before.null_pictures
    k = change.after.null_pictures
    population = (n * change.before.shares + k * change.after.shares) / (n + k)
    shares_before = change.before.sampled(population, n, common, stream)
    if after is None:
        shares_after = change.before.sampled(population, k, common, stream + 1)
    else:
        shares_after = change.before.drawn(population, k, common, after)
    return _sensitivities_of_samples(change, population, shares_before, shares_after)


def _sensitivities_of_samples(
    change: Change, population: Floats, shares_before: Floats, shares_after: Floats
) -> Floats:
    """Compute the debiased IS for each draw of simulated answer shares."""
    before, after = change
    forms, weight = linear_forms(before.distance, len(before.reference))
    matrix_variances: Floats | float = 0.0
    if before.errors is not None:
        matrix_variances = before.errors.variances(population, before.coefficients)

    def simulated(answered: Floats, pictures: int) -> tuple[Floats, Floats]:
        """Return the differences from the reference, and their variances at a given sample size."""
        gaps = answered @ before.coefficients.T - before.reference @ forms.T
        variances = form_variances(answered, before.coefficients) / max(pictures - 1, 1)
        return gaps, variances + matrix_variances

    gaps_before, variances_before = simulated(shares_before, before.null_pictures)
    gaps_after, variances_after = simulated(shares_after, after.null_pictures)
    return weight * debiased_difference(gaps_before, variances_before, gaps_after, variances_after)


def _stream(target: str) -> int:
    """Return the index of an axis's random stream, which depends only on the name of the axis."""
    return zlib.crc32(target.encode())


def debiased_difference(
    before: Floats, variances_before: Floats, after: Floats, variances_after: Floats
) -> Floats:
    """Return how much the intervention reduces the sum of |gap|, corrected for noise.

    Parameters
    ----------
    before, after : array, (..., L)
        Differences from the reference for each linear form.
    variances_before, variances_after : array, (..., L)
        Sampling variances of the gaps.
    """
    common = np.maximum(variances_before, variances_after)
    size_before = debiased_sizes(before, variances_before, common)
    size_after = debiased_sizes(after, variances_after, common)
    return np.asarray((size_before - size_after).sum(axis=-1))


def debiased_sizes(gaps: Floats, variances: Floats, common: Floats) -> Floats:
    """Return |gap|, computed by adding noise up to a common variance and extrapolating back.

    Parameters
    ----------
    gaps, variances : array, (..., L)
        Difference from the reference for each linear form, and its sampling variance.
    common : array, (..., L)
        Variance of the gaps after noise is added; no less than `variances`.
    """
    blurred = _mean_sizes(gaps, common - variances)
    blurred_twice = _mean_sizes(gaps, 2 * common - variances)
    step = EXTRAPOLATION / (math.sqrt(2) - 1)
    return blurred - step * (blurred_twice - blurred)


def _mean_sizes(means: Floats, variances: Floats) -> Floats:
    """Return the expected value of |X| for normal X with these means and variances."""
    scale = np.sqrt(2 * np.maximum(variances, 0))
    shape = np.broadcast(means, scale).shape
    z = np.divide(means, scale, out=np.full(shape, np.inf), where=scale > 0)
    of_noise = scale / math.sqrt(math.pi) * np.exp(-(z**2))
    return np.asarray(of_noise + np.abs(means) * scipy.special.erf(np.abs(z)))


def _intervals(
    targets: Sequence[TargetDistribution], common: CommonDraws, level: float
) -> Intervals:
    """Compute the interval for each target. Targets that can share samples are grouped."""
    distinct = {target.key: target for target in targets}.values()

    def sharing(target: TargetDistribution) -> tuple[int, str, int, bytes]:
        return target.pictures, target.distance, len(target.reference), target.key.errors

    intervals: dict[DistributionKey, tuple[float, float]] = {}
    for alike in grouped(distinct, sharing).values():
        for part in slices(alike, AT_ONCE):
            intervals |= _intervals_of_alike(part, common, level)
    return intervals


def _intervals_of_alike(
    targets: Sequence[TargetDistribution], common: CommonDraws, level: float
) -> dict[DistributionKey, tuple[float, float]]:
    """Compute the intervals for targets that can share samples.

    Such targets have the same distance, labeling errors, number of images and number of values.
    """
    first = targets[0]
    forms, weight = linear_forms(first.distance, len(first.reference))
    references = np.stack([target.reference_population for target in targets])
    reference_forms = (references @ forms.T)[:, None]

    sample = SampledShares(
        shares=np.stack([target.shifted_shares for target in targets]),
        pictures=np.array([target.pictures for target in targets]),
        reference=references,
        measure=DISTANCES[first.distance],
        uncut=np.array([weight * np.abs(target.excess).sum() for target in targets]),
    )
    if first.errors is not None:
        sample = replace(sample, standard_errors=_standard_errors(targets, first.errors))

    def sampled_distances(populations: Floats) -> Floats:
        answered = first.sampled(populations, first.pictures, common)
        gaps = answered @ first.coefficients.T - reference_forms
        return np.asarray(weight * np.abs(gaps).sum(axis=-1))

    low, high = distance_intervals(sample, sampled_distances(references), sampled_distances, level)
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return {target.key: end for target, end in zip(targets, ends, strict=True)}


def _standard_errors(targets: Sequence[TargetDistribution], errors: ReadingErrors) -> Floats:
    """Return standard errors at the observed or at the reference shares, whichever are larger."""
    rows = []
    for target in targets:
        at_shares = errors.standard_errors(target.shares, target.pictures)
        at_reference = errors.standard_errors(target.reference, target.pictures)
        rows.append(np.maximum(at_shares, at_reference))
    return np.array(rows)
