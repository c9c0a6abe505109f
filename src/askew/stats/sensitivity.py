"""Intersectional Sensitivity: effect of an intervention on one axis on another axis (BiasConnect).

    IS = d(before, reference) - d(after, reference)                                         (Eq. 4)

`before` are the shares of the target axis in the baseline images. `after` is the mean of its shares
over the counterfactual sets of the intervened axis. Every set has the same weight, regardless of
its number of answers. IS is positive if the intervention brings the target axis closer to its
reference.

**Value.** A distance that is computed from few images is too large on average, and the excess is
larger for fewer images. With 48 baseline images and K sets of 48 images, the plain difference of
distances is positive even without an effect. Every distance used here is a sum of |f . (p - q)|
over linear forms f (`distance.linear_forms`), and the excess of each term is known from the
sampling variance of f . p. Normal noise is added to the more exact of the two distributions until
both have the same variance, so that both excesses are equal. The remaining excess is removed by
extrapolation from twice the variance.

**Interval.** The population value of each distance is computed by test inversion
(`distance_intervals`), with samples from tables of random numbers. The two intervals are combined
by MOVER. A reference distribution that was counted in images is also treated as uncertain: samples
are as small as errs like the difference of both sets, and a value that was not seen in the
reference may be rare.

**Reading errors.** If the confusion matrix of the instrument is known, both distributions are
corrected for it. The same labeling errors are applied to each tested population before it is
compared with the answers. The matrix has a sampling error, which is common to both distributions.
MOVER treats it as independent, which is conservative.
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
from askew.stats.intervals import TOLERANCE, Floats, tail
from askew.types import Estimate, Missing, grouped, slices

EXTRAPOLATION = 0.35
"""Share of the step that would remove an excess proportional to the standard error.

A larger step would remove more of the excess, but increase the variance.
"""

AT_ONCE = 256
"""Number of distributions that are inverted together, which limits the memory for their samples."""

INTERVAL = f"MOVER, {METHOD}"
CORRECTED_INTERVAL = f"{INTERVAL}, instrument corrected"


@dataclass(frozen=True, slots=True)
class AxisPairSample:
    """Counts of one ordered pair of axes: the intervened axis and the target axis.

    Attributes
    ----------
    initial : array, (m,) or (sets, m)
        Answers about the target axis in the baseline images, by value. Several rows are the
        baseline sets of several prompts, which get the same weight (Eq. 9-11).
    counterfactual : array, (K, m)
        The same for each counterfactual set of the intervened axis.
    reference : array, (m,)
        Desired shares of the target axis, or weights that are scaled to shares.
    distance : str
        Name of the distance from the reference, one of `distance.DISTANCES`.
    missing : int
        Images without an answer, which are only reported.
    confusion : array, (m, m), optional
        Answers of the instrument (columns) about images whose true value (rows) is known. If
        given, the sensitivity is corrected for these reading errors.
    reference_images : int, optional
        Number of images in which the reference was counted. None means that it is exact.
    """

    initial: ArrayLike
    counterfactual: ArrayLike
    reference: ArrayLike
    distance: str = "total_variation"
    missing: int = 0
    confusion: ArrayLike | None = None
    reference_images: int | None = None


class Gaps(NamedTuple):
    """Mean shares of some sets, and their gaps to the reference.

    Attributes
    ----------
    mean : array, (m,)
        Mean shares of answers.
    excess, variances : array, (L,)
        Linear forms of the gap, and their sampling variances.
    coefficients : array, (L, m)
        The forms, as forms of the shares of answers.
    weight : float
        Factor of the sum of |gap| that makes it a distance.
    """

    mean: Floats
    excess: Floats
    variances: Floats
    coefficients: Floats
    weight: float


@dataclass(frozen=True, slots=True)
class CheckedSets:
    """Checked counts of a pair of axes, with the reference and the errors of the target axis.

    Attributes are those of `AxisPairSample`, with two axes of counts and normalised shares.
    """

    initial: Floats
    counterfactual: Floats
    reference: Floats
    distance: str
    errors: ReadingErrors | None
    reference_images: int | None

    @property
    def baseline_key(self) -> tuple[bytes, ...]:
        """Key of the data that determine the gaps of the baseline sets."""
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
    """Estimate the Intersectional Sensitivity of each pair of axes.

    The result for a pair does not depend on the other pairs.

    Parameters
    ----------
    pairs
        Counts of each pair of axes.
    rng
        Source of the seed of all random draws.
    level
        Confidence level of the intervals, in (0, 1).
    draws
        Simulated samples for each tested population.

    Returns
    -------
    tuple of Estimate or Missing
        One entry per pair. `value` is the debiased IS, in [-1, 1], kept within its interval. `p` is
        two-sided for IS = 0 and agrees with the interval: it is below 1 - level exactly if the
        interval excludes 0. `null` is the mean value without an effect, that is, if all sets come
        from one population. Missing if a set has no answer, if the axis has fewer than two values,
        or if the instrument cannot distinguish the values.

    Raises
    ------
    ValueError
        If shapes do not match, or an entry is not a count.
    NotEnoughData
        If the confusion matrix contains no image of some true value.
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
    """Return only the values of `interactions`, without draws and intervals.

    Unlike the value of an estimate, a value is not limited to an interval.
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
    """Compute IS without the excess of few images, together for axes of any numbers of values."""
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
    """Return `debiased_values` of a single pair."""
    return debiased_values([pair])[0]


def least_possible(pair: AxisPairSample) -> float:
    """Return the least IS that the counterfactual sets allow.

    IS is at least minus the distance after the intervention. Where every image of a counterfactual
    set shows the same value, and labels have no known errors, that distance is known. An axis whose
    counterfactual prompts are followed then cannot move away from a uniform reference.

    Returns
    -------
    float
        -1 where the distance is not known.
    """
    change = change_of(pair)
    return -1.0 if isinstance(change, Missing) else _least_possible(change)


def null_sizes(
    pairs: Mapping[tuple[str, str], AxisPairSample],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
) -> dict[tuple[str, str], Floats]:
    """Simulate |IS| without an effect, which is the noise in the amplification of a graph (Eq. 14).

    Both distributions of a pair come from one population. All pairs of a target axis share the
    random numbers of the initial set. The counterfactual sets of different pairs are independent.
    If sets of equal size shared their draws, all pairs would be large in the same simulations, and
    no graph would differ from the simulated graphs.

    Parameters
    ----------
    pairs
        Counts of the pairs of axes of a graph, by the intervened axis and the target axis.
    rng
        Source of the seed of all random draws.
    draws
        Number of simulated graphs.

    Returns
    -------
    dict of array, (draws,)
        An array for every pair that is not missing.
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
    """Key of the data that determine the interval of a distance; equal keys have equal intervals."""

    shares: bytes
    excess: bytes
    pictures: int
    reference: bytes
    distance: str
    errors: bytes


@dataclass(frozen=True, slots=True)
class TargetDistribution:
    """An estimated distribution of the target axis, with its precision.

    Attributes
    ----------
    shares : array, (m,)
        The shares, on the simplex.
    excess : array, (L,)
        Linear forms of the gap to the reference, from shares that may be negative.
    variances : array, (L,)
        Sampling variances of these forms.
    pictures : int
        Number of independent images with the same precision, rounded to a table.
    null_pictures : int
        The same number if all sets came from one population.
    answers : int
        Answers that were counted.
    reference : array, (m,)
        The reference shares.
    reference_population : array, (m,)
        Shares of samples that have the reference shares, see `distance_intervals`.
    distance : str
        Name of the distance.
    coefficients : array, (L, m)
        The linear forms of the distance, as forms of the shares of *answers*.
    errors : ReadingErrors, optional
        Known reading errors of the instrument.
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
        """Key of the data that determine the interval of its distance."""
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
        """Shares whose gap to `reference_population` is the observed gap to the reference."""
        return shifted_shares(self.shares, self.reference, self.reference_population)

    def sampled(
        self, populations: Floats, pictures: int, common: CommonDraws, stream: int = 0
    ) -> Floats:
        """Simulate shares of answers, (..., draws, m), for images of populations, (..., m)."""
        if self.errors is None:
            return common.counts(populations, pictures, stream) / pictures
        answered = self._answered(populations, self.errors, common)
        return common.counts_of_each(answered, pictures, stream) / pictures

    def drawn(
        self, population: Floats, pictures: int, common: CommonDraws, rng: np.random.Generator
    ) -> Floats:
        """Simulate shares of answers, (draws, m), without tables of random numbers."""
        answered = population
        if self.errors is not None:
            answered = self._answered(population, self.errors, common)
        return rng.multinomial(pictures, answered, size=common.draws) / pictures

    @staticmethod
    def _answered(populations: Floats, errors: ReadingErrors, common: CommonDraws) -> Floats:
        """Return the shares of answers, (..., draws, m), with errors from the drawn matrices."""
        confusion = errors.drawn(common.draws, common.seed)
        return np.asarray(np.einsum("...t,dto->...do", populations, confusion))


class Change(NamedTuple):
    """The target axis before and after the intervention."""

    before: TargetDistribution
    after: TargetDistribution


Intervals = Mapping[DistributionKey, tuple[float, float]]
"""Low and high end of a target's distance from its reference."""


def change_of(pair: AxisPairSample) -> Change | Missing:
    """Estimate the target axis before and after the intervention, or return the reason why this is impossible.

    Raises
    ------
    ValueError
        If shapes do not match, or an entry is not a count.
    NotEnoughData
        If the confusion matrix contains no image of some true value.
    """
    sets = _checked_sets(pair)
    if isinstance(sets, Missing):
        return sets
    return Change(
        before=_target_distribution(sets.initial, sets),
        after=_target_distribution(sets.counterfactual, sets),
    )


def _checked_sets(pair: AxisPairSample) -> CheckedSets | Missing:
    """Return the counts of a pair, or the reason why there is no IS; errors are those of `change_of`."""
    initial, counterfactual, reference = _checked_counts(pair)
    if len(reference) < 2:
        detail = "an axis with fewer than two values has no distribution that could change"
        return Missing("error", detail)
    reference = normalised(reference, "the reference")

    answered = initial.any(axis=1).all() and counterfactual.any(axis=1).all()
    if len(counterfactual) == 0 or not answered:
        return Missing("not_asked", "an image set has no answer on the target axis")

    errors = None
    if pair.confusion is not None:
        errors = ReadingErrors.of(pair.confusion)
        if len(errors.rates) != len(reference):
            raise ValueError(
                f"a confusion matrix of {len(errors.rates)} values for an axis of {len(reference)}"
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
    """Return the baseline sets (sets, m), the counterfactual sets (K, m) and the reference (m,)."""
    initial = np.asarray(pair.initial, dtype=float)
    counterfactual = np.asarray(pair.counterfactual, dtype=float)
    reference = np.asarray(pair.reference, dtype=float)

    right_axes = initial.ndim in (1, 2) and counterfactual.ndim == 2
    if not right_axes or not initial.shape[-1:] == counterfactual.shape[1:] == reference.shape:
        raise ValueError(
            f"counts of shapes {initial.shape}, {counterfactual.shape} and a reference of "
            f"{reference.shape}; (m,), (K, m), (m,) needed"
        )

    initial = np.atleast_2d(initial)
    counts = np.vstack([initial, counterfactual])
    if not np.all(np.isfinite(counts)) or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError("counts must be whole numbers that are not negative")
    return initial, counterfactual, reference


def _gaps(counts: Floats, sets: CheckedSets) -> Gaps:
    """Return the gaps of the mean shares of counts (sets, m), where sets have equal weights."""
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
    """Average the shares of several sets (sets, m) with equal weights."""
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
    """Return the size of one set that is as precise as the mean share of sets (sets, m).

    Counts are smoothed, so that a set with a single value is not treated as exact.
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
    """Combine the sensitivity, its interval, its null and its p."""
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
    """Return the least IS of `least_possible`."""
    after = change.after
    if np.any(after.variances > TOLERANCE):
        return -1.0
    _, weight = linear_forms(after.distance, len(after.reference))
    return 0.0 - weight * float(np.abs(after.excess).sum())


def _p_of_interval(low: float, centre: float, high: float, level: float) -> float:
    """Return the two-sided p of the value 0, from the interval.

    The half of the interval on the side of 0 is treated as a normal quantile times a standard
    error.
    """
    reach = centre - low if centre > 0 else high - centre
    if reach <= TOLERANCE:
        return float(abs(centre) <= TOLERANCE)
    quantile = scipy.stats.norm.isf(tail(level))
    return float(2 * scipy.stats.norm.sf(abs(centre) / reach * quantile))


def _debiased_sensitivity(change: Change) -> float:
    """Compute IS without the excess of few images."""
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
    """Return the debiased IS, (draws,), of samples from one population, which has no effect.

    The initial set has the random numbers of a stream. Without a generator for the counterfactual
    sets, these sets have the random numbers of the next stream.
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
    """Return the debiased IS, (draws,), of simulated shares (draws, m) of labels."""
    before, after = change
    forms, weight = linear_forms(before.distance, len(before.reference))
    matrix_variances: Floats | float = 0.0
    if before.errors is not None:
        matrix_variances = before.errors.variances(population, before.coefficients)

    def simulated(answered: Floats, pictures: int) -> tuple[Floats, Floats]:
        """Return gaps to the reference, and their variances, in samples of this size."""
        gaps = answered @ before.coefficients.T - before.reference @ forms.T
        variances = form_variances(answered, before.coefficients) / max(pictures - 1, 1)
        return gaps, variances + matrix_variances

    gaps_before, variances_before = simulated(shares_before, before.null_pictures)
    gaps_after, variances_after = simulated(shares_after, after.null_pictures)
    return weight * debiased_difference(gaps_before, variances_before, gaps_after, variances_after)


def _stream(target: str) -> int:
    """Return the number of the random stream of a target axis, which depends only on its name."""
    return zlib.crc32(target.encode())


def debiased_difference(
    before: Floats, variances_before: Floats, after: Floats, variances_after: Floats
) -> Floats:
    """Return the difference of two sums of |gap| (..., L), both without the excess from their variance.

    Parameters
    ----------
    before, after : array, (..., L)
        Gaps to the reference, as linear forms.
    variances_before, variances_after : array, (..., L)
        Sampling variances of the gaps.
    """
    common = np.maximum(variances_before, variances_after)
    size_before = debiased_sizes(before, variances_before, common)
    size_after = debiased_sizes(after, variances_after, common)
    return np.asarray((size_before - size_after).sum(axis=-1))


def debiased_sizes(gaps: Floats, variances: Floats, common: Floats) -> Floats:
    """Return |gap| with noise added up to the `common` variance, extrapolated to zero variance.

    Parameters
    ----------
    gaps, variances : array, (..., L)
        Gaps to the reference, as linear forms, and their sampling variances.
    common : array, (..., L)
        Variance after noise is added, at least `variances`.
    """
    blurred = _mean_sizes(gaps, common - variances)
    blurred_twice = _mean_sizes(gaps, 2 * common - variances)
    step = EXTRAPOLATION / (math.sqrt(2) - 1)
    return blurred - step * (blurred_twice - blurred)


def _mean_sizes(means: Floats, variances: Floats) -> Floats:
    """Return E |X| of normal X with these means and variances."""
    scale = np.sqrt(2 * np.maximum(variances, 0))
    shape = np.broadcast(means, scale).shape
    z = np.divide(means, scale, out=np.full(shape, np.inf), where=scale > 0)
    of_noise = scale / math.sqrt(math.pi) * np.exp(-(z**2))
    return np.asarray(of_noise + np.abs(means) * scipy.special.erf(np.abs(z)))


def _intervals(
    targets: Sequence[TargetDistribution], common: CommonDraws, level: float
) -> Intervals:
    """Find the interval of every target; targets that can share samples are inverted together."""
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
    """Invert the test for targets with equal numbers of images, distance, number of values and errors."""
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
    """Return standard errors (targets, m), the larger of those at the shares and at the reference."""
    rows = []
    for target in targets:
        at_shares = errors.standard_errors(target.shares, target.pictures)
        at_reference = errors.standard_errors(target.reference, target.pictures)
        rows.append(np.maximum(at_shares, at_reference))
    return np.array(rows)
