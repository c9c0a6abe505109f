"""Intervals, null values and p-values for an axis's association scores, from shared random draws.

CAS = (S - D) / (S + D), where S is the sum of two histograms and D is the L1 distance between them.
With few images, the observed D is too large. As D grows, CAS decreases ever more slowly. So plug-in
scores are not only too low, but also too close together.

Let C be a plug-in score and C* its debiased value. The difference between two population scores is
larger than the difference between their plug-in scores. If only concepts that clearly differ
contribute to the difference, the population difference is c = ((1 + C*) / (1 + C))**2 times the
plug-in difference. Here c is the slope of CAS as a function of D at C*, divided by the slope at C.
If the difference is spread over many concepts, sampling noise hides more of the difference. In
simulations, the population difference was then larger by an additional factor of up to c**3. So
askew multiplies scores and their errors by c raised to an exponent. The exponent is smallest for
the low end of an interval, larger for the debiased value, and largest for the high end.

docs/reference/calibration.md reports how often the intervals cover the true value. `fair_null`
computes the null.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.association import (
    SPREADS,
    Variant,
    cas,
    cas_clip,
    mad_max,
    unit_vectors,
    variant_of,
)
from askew.stats.concept_shift import CasInterval, ConceptShift, concept_shift
from askew.stats.fair_null import fair_histograms, mixture_means
from askew.stats.intervals import (
    POINT,
    Floats,
    array_of,
    bootstrap_errors,
    corrected,
    critical_value,
    ends,
    from_enough,
    p_value,
    student_stretch,
)
from askew.stats.spread_intervals import high_end, low_end
from askew.types import Estimate

LOW_POWER = 1.0
MARK_POWER = 1.5
HIGH_POWER = 4.25
WIDER = 1.06
"""Factor by which askew widens bootstrap standard errors.

Without this factor, the standard errors are too small if the sets differ in all concepts.
"""


@dataclass(frozen=True, slots=True)
class Associations:
    """Association scores of one axis.

    Attributes
    ----------
    cas : tuple of Estimate
        CAS of each counterfactual, in the order of the input.
    cas_contrast : tuple of Estimate
        CAS of each counterfactual minus the mean CAS of all other counterfactuals, in [-1, 1]
        (TIBET, section 5.2, figure 4).
    mad : Estimate
        MAD, the spread of the scores. For two counterfactuals and the variant "paper", MAD is the
        square root of the absolute value of the contrast between them. The interval of MAD is then
        computed from the interval of this contrast.
    wasserstein, standard_deviation : Estimate
        Alternatives to MAD.
    apart : tuple of float
        Possible error of each debiased CAS. The error arises because the images do not reveal
        whether two sets differ in all concepts or only in a few.
    """

    cas: tuple[Estimate, ...]
    cas_contrast: tuple[Estimate, ...]
    mad: Estimate
    wasserstein: Estimate
    standard_deviation: Estimate
    apart: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class NoisyScores:
    """Scores, with simulated draws of their sampling errors.

    Attributes
    ----------
    scores : array, (K,)
        One score for each counterfactual.
    errors : array, (draws, K)
        Simulated errors of the scores, with mean 0.
    """

    scores: Floats
    errors: Floats

    def stretched(self, factor: float) -> "NoisyScores":
        """Multiply the scores and their errors by a factor."""
        return NoisyScores(scores=self.scores * factor, errors=self.errors * factor)


@dataclass(frozen=True, slots=True)
class AssociationParts:
    """CAS of one axis, and the data needed to estimate contrasts and spreads.

    Attributes
    ----------
    scores : array, (K,)
        Plug-in CAS of the counterfactuals.
    intervals : tuple of CasInterval
        Intervals for CAS.
    interval_name : str
        Name of the interval method.
    for_low, for_mark, for_high : NoisyScores
        Stretched scores for computing the low ends, the debiased values and the high ends,
        respectively.
    null : array, (draws, K)
        CAS in samples from the null distribution.
    """

    scores: Floats
    intervals: tuple[CasInterval, ...]
    interval_name: str
    for_low: NoisyScores
    for_mark: NoisyScores
    for_high: NoisyScores
    null: Floats


@dataclass(frozen=True, slots=True)
class ImageCounts:
    """Numbers of images in the baseline set and in the K counterfactual sets.

    Attributes
    ----------
    answered, missing : tuple of int, (K + 1)
        Numbers of images with an answer and without an answer. The baseline set is first.
    """

    answered: tuple[int, ...]
    missing: tuple[int, ...]


def associations(
    initial: ArrayLike,
    counterfactuals: Sequence[ArrayLike],
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
    missing: Sequence[int] = (),
    embedded: bool = False,
) -> Associations:
    """Estimate the CAS of each counterfactual, the MAD of these scores, and alternatives to MAD.

    The scores are defined as in TIBET (Eq. 1-3, Eq. 6-7 and appendix 9.4). The reported values are
    the plug-in scores, and the intervals are for the population scores. The interval of CAS comes
    from test inversion (`concept_shift`). The interval of MAD comes from test inversion on
    stretched scores. With few images, the plug-in CAS is far too low and may lie outside its
    interval. If a set has fewer than three images, there are no intervals. CAS has no null.

    Parameters
    ----------
    initial : array, (images, concepts) or (images, dimensions)
        Counts of concepts in each baseline image, or embeddings of these images. No embedding may
        have length zero.
    counterfactuals : sequence of array
        K >= 2 counterfactual sets, with the same columns as `initial`.
    rng
        Random generator for all draws.
    draws
        Number of draws.
    level
        Confidence level of the intervals, in (0, 1).
    variant
        As in `association.cas` and `association.mad`.
    missing : sequence of int, (K + 1,), optional
        Number of images without an answer in each set. These numbers are reported but do not affect
        the estimate.
    embedded
        True if the sets contain embeddings. askew then computes CAS^CLIP (Eq. 4). The mean cosine
        is a product of two means, so its plug-in value is unbiased. The interval is a normal
        interval, and its standard error comes from a bootstrap of both sets.

    Raises
    ------
    NotEnoughData
        If a set has no images or no concepts, or there are fewer than two counterfactuals.
    ValueError
        If a count is negative, or sets have different columns.
    """
    sets = _checked_sets(initial, counterfactuals, "embeddings" if embedded else "counts")
    counts = _image_counts(sets, missing)
    if embedded:
        parts = _parts_of_embeddings(sets, draws, level, rng)
    else:
        parts = _parts_of_counts(sets, variant, draws=draws, level=level, rng=rng)

    k = len(parts.scores)
    contrasts = tuple(
        _contrast(parts, weights, counts, level) for weights in (k * np.eye(k) - 1) / (k - 1)
    )
    spreads = {
        measure: _spread(measure, parts, contrasts, counts, level=level, variant=variant)
        for measure in SPREADS
    }
    return Associations(
        cas=_cas_estimates(parts, counts, level),
        cas_contrast=contrasts,
        mad=spreads["mad"],
        wasserstein=spreads["wasserstein"],
        standard_deviation=spreads["standard_deviation"],
        apart=tuple(interval.apart for interval in parts.intervals),
    )


def _checked_sets(
    initial: ArrayLike, counterfactuals: Sequence[ArrayLike], content: str
) -> list[Floats]:
    """Check that all sets have the same columns, and return them with the baseline set first."""
    if len(counterfactuals) < 2:
        raise NotEnoughData(
            "the spread of an axis needs at least 2 counterfactual sets, "
            f"but the number of sets is {len(counterfactuals)}"
        )
    sets = [array_of(initial, f"{content} of the initial set")]
    for k, counterfactual in enumerate(counterfactuals):
        sets.append(array_of(counterfactual, f"{content} of counterfactual set {k}"))
    columns = [images.shape[1] for images in sets]
    if len(set(columns)) > 1:
        raise ValueError(f"{content} of all sets must have the same columns, got {columns}")
    return sets


def _image_counts(sets: Sequence[Floats], missing: Sequence[int]) -> ImageCounts:
    """Count the images in each set. If `missing` is empty, all images have answers."""
    counts = tuple(missing) if len(missing) else (0,) * len(sets)
    if len(counts) != len(sets):
        raise ValueError(f"`missing` has {len(counts)} numbers, but there are {len(sets)} sets")
    return ImageCounts(answered=tuple(len(images) for images in sets), missing=counts)


def _parts_of_counts(
    sets: Sequence[Floats], variant: Variant, *, draws: int, level: float, rng: Generator
) -> AssociationParts:
    """Compute CAS and its intervals from concept counts."""
    if any(np.any(images < 0) for images in sets):
        raise ValueError("counts of concepts cannot be negative")
    histograms = [images.mean(axis=0) for images in sets]
    scores = np.array([cas(histograms[0], other, variant) for other in histograms[1:]])
    if variant_of(variant) == "code":
        sets = [_scaled_rows(images) for images in sets]

    shifts = _concept_shifts(sets, draws, rng)
    intervals = tuple(shift.interval(level) for shift in shifts)
    null = _null_cas(*fair_histograms(sets[0], sets[1:], draws, rng))
    noisy = NoisyScores(scores=scores, errors=_joint_errors(shifts, sets, level))
    slope = _slope_ratio(scores, intervals)
    return AssociationParts(
        scores=scores,
        intervals=intervals,
        interval_name="test inversion, sparse and dense path",
        for_low=noisy.stretched(slope**LOW_POWER),
        for_mark=noisy.stretched(slope**MARK_POWER),
        for_high=noisy.stretched(slope**HIGH_POWER),
        null=null,
    )


def _scaled_rows(images: Floats) -> Floats:
    """Scale the rows of a set so that their mean is the set's concept histogram, normalized to 1.

    `images` has the shape (images, concepts). To first order, the mean of the scaled rows has the
    same sampling error as the scaled histogram.
    """
    scaled = images / images.sum(axis=1).mean()
    return np.asarray(scaled - scaled.mean(axis=0) * (scaled.sum(axis=1, keepdims=True) - 1))


def _concept_shifts(sets: Sequence[Floats], draws: int, rng: Generator) -> list[ConceptShift]:
    """Return, for each counterfactual set, the shift of concepts from the baseline set.

    All comparisons use the same bootstrap errors of the baseline set.
    """
    initial = sets[0]
    initial_errors = bootstrap_errors(initial, draws, rng)
    shifts = []
    for counterfactual in sets[1:]:
        errors = bootstrap_errors(counterfactual, draws, rng)
        shifts.append(concept_shift(initial, counterfactual, initial_errors, errors, rng))
    return shifts


def _null_cas(initial: Floats, counterfactuals: Floats) -> Floats:
    """Compute the CAS of histograms that were drawn under the null hypothesis.

    `initial` has the shape (draws, concepts), `counterfactuals` has the shape (K, draws, concepts),
    and the result has the shape (draws, K).
    """
    # rows of the variant "code" may lead below 0
    w = np.maximum(initial, 0)
    v = np.maximum(counterfactuals, 0)
    shared = np.minimum(w, v).sum(axis=-1)
    union = np.maximum(w, v).sum(axis=-1)
    return np.asarray(np.divide(shared, union, out=np.zeros_like(union), where=union > 0).T)


def _joint_errors(shifts: Sequence[ConceptShift], sets: Sequence[Floats], level: float) -> Floats:
    """Simulate sampling errors of the plug-in scores, and enlarge them if there are few images."""
    drawn = np.stack([shift.draws(shift.difference) for shift in shifts], axis=-1)
    smallest = min(len(images) for images in sets)
    stretch = student_stretch(level, max(smallest - 1, 1))
    return np.asarray((drawn - drawn.mean(axis=0)) * stretch * WIDER)


def _slope_ratio(scores: Floats, intervals: Sequence[CasInterval]) -> float:
    """Return the factor c (at least 1), as defined in the module's docstring.

    c is the difference between two population scores divided by the difference between the
    corresponding plug-in scores.
    """
    marks = np.array([min(max(end.debiased, end.low), end.high) for end in intervals])
    return max(1.0, float(np.mean(((1 + marks) / (1 + scores)) ** 2)))


def _parts_of_embeddings(
    sets: Sequence[Floats], draws: int, level: float, rng: Generator
) -> AssociationParts:
    """Compute CAS^CLIP and its intervals from embeddings."""
    units = [unit_vectors(images) for images in sets]
    initial = units[0]
    others = units[1:]
    scores = np.array([cas_clip(initial, other) for other in others])
    means = [images.mean(axis=0) + bootstrap_errors(images, draws, rng) for images in units]
    errors = np.stack([np.einsum("ij,ij->i", means[0], mean) for mean in means[1:]], axis=-1)
    errors -= errors.mean(axis=0)
    fair = mixture_means(others, len(initial), draws, rng)
    noisy = NoisyScores(scores=scores, errors=errors)
    return AssociationParts(
        scores=scores,
        intervals=_normal_intervals(noisy, level),
        interval_name="normal, bootstrap standard error",
        for_low=noisy,
        for_mark=noisy,
        for_high=noisy,
        null=fair @ np.stack([other.mean(axis=0) for other in others]).T,
    )


def _normal_intervals(noisy: NoisyScores, level: float) -> tuple[CasInterval, ...]:
    """Return normal intervals for mean cosines, clipped to [-1, 1]."""
    reaches = critical_value(level) * noisy.errors.std(axis=0)
    intervals = []
    for score, reach in zip(noisy.scores.tolist(), reaches.tolist(), strict=True):
        low = max(score - reach, -1.0)
        high = min(score + reach, 1.0)
        intervals.append(CasInterval(low=low, high=high, debiased=score, apart=0.0))
    return tuple(intervals)


def _cas_estimates(
    parts: AssociationParts, counts: ImageCounts, level: float
) -> tuple[Estimate, ...]:
    """Return an estimate of CAS, with its interval, for each counterfactual."""
    estimates = []
    for k, (score, interval) in enumerate(zip(parts.scores, parts.intervals, strict=True), start=1):
        estimate = Estimate(
            value=float(score),
            low=interval.low,
            high=interval.high,
            level=level,
            interval=parts.interval_name,
            n=counts.answered[0] + counts.answered[k],
            missing=counts.missing[0] + counts.missing[k],
            max=1.0,
            debiased=interval.debiased,
        )
        estimates.append(from_enough(estimate, *counts.answered))
    return tuple(estimates)


def _contrast(
    parts: AssociationParts, weights: Floats, counts: ImageCounts, level: float
) -> Estimate:
    """Estimate a contrast of the K scores, that is, their sum weighted by `weights`."""
    ends_of_both = []
    for noisy in (parts.for_low, parts.for_high):
        error = (noisy.errors @ weights).std()
        reach = critical_value(level) * error
        middle = float(noisy.scores @ weights)
        ends_of_both += [middle - reach, middle + reach]
    estimate = Estimate(
        value=float(parts.scores @ weights),
        low=max(min(ends_of_both), -1.0),
        high=min(max(ends_of_both), 1.0),
        level=level,
        interval="normal, stretched",
        n=sum(counts.answered),
        missing=sum(counts.missing),
        null=0.0,
        max=1.0,
        debiased=float(parts.for_mark.scores @ weights),
    )
    return from_enough(estimate, *counts.answered)


def _spread(
    measure: str,
    parts: AssociationParts,
    contrasts: Sequence[Estimate],
    counts: ImageCounts,
    *,
    level: float,
    variant: Variant,
) -> Estimate:
    """Estimate the spread of the scores with the function `SPREADS[measure]`."""

    def spread(scores: Floats) -> Floats:
        return SPREADS[measure](scores, variant)

    low = low_end(parts.for_low.scores, parts.for_low.errors, spread, level)
    high = high_end(parts.for_high.scores, parts.for_high.errors, spread, level)
    method = "test inversion on stretched scores"
    if len(contrasts) == 2 and variant == "paper" and measure != "wasserstein":
        low, high = _root_of_size(contrasts[0])
        method = "root of the contrast's"
    maximum = _spread_max(measure, len(contrasts), variant)
    high = min(high, maximum)
    estimate = Estimate(
        value=float(spread(parts.scores)),
        low=min(low, high),
        high=high,
        level=level,
        interval=method,
        n=sum(counts.answered),
        missing=sum(counts.missing),
        debiased=low_end(parts.for_mark.scores, parts.for_mark.errors, spread, POINT),
    )
    null = spread(parts.null)
    estimate = from_enough(estimate, *counts.answered)
    return corrected(estimate, float(null.mean()), p_value(estimate.value, null), maximum)


def _root_of_size(contrast: Estimate) -> tuple[float, float]:
    """Return the interval for sqrt(|contrast|), given the interval for the contrast."""
    low, high = ends(contrast)
    return math.sqrt(max(low, -high, 0.0)), math.sqrt(max(-low, high))


def _spread_max(measure: str, k: int, variant: Variant) -> float:
    """Return the maximum possible spread of K scores in [0, 1]."""
    if measure == "wasserstein":
        return 1.0
    maximum = mad_max(k, variant)
    return maximum if measure == "mad" else math.sqrt(maximum)
