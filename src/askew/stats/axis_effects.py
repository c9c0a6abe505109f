"""Effect of the mitigation of several axes on all axes, from Intersectional Sensitivities.

The mitigation of an axis x changes the deviation d_y of an axis y by the Intersectional Sensitivity
IS_xy = d_y(before) - d_y(after) (BiasConnect, Eq. 4). If several axes S are mitigated, the predicted
deviation is

    d_y(S) = max(0, d_y - sum_{x in S} IS_xy)  for y outside S,    d_y(after its own mitigation)  in S,

because a mitigated axis has its own statement in every prompt. In the planted world, with exact
shares, the mean of this prediction differs from the truth by .003 or less for up to four axes.

Deviations and sensitivities are debiased for the number of images, as in `sensitivity`. A sum of
several sensitivities to an axis y has a large sampling error, because all of them contain the error of
d_y. So effects of other axes are *pooled*. The effects of all pairs of different axes are taken as
draws from a normal distribution with mean 0 and variance tau². Then d_y is the mean of d_y and of all
d_y(x), weighted by precision, and each effect is shrunk by tau² / (tau² + its variance). tau² is the
observed variance of the effects minus their mean sampling variance. In the planted world, pooled
effects choose subsets of two to four axes that leave .003 to .016 less deviation than effects that are
not pooled, and the standard deviation of the prediction's error is half as large.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askew.stats.confusion import ReadingErrors, form_variances
from askew.stats.distance import linear_forms, normalised
from askew.stats.intervals import Floats
from askew.stats.sensitivity import debiased_difference, debiased_sizes

SMALLEST_VARIANCE = 1e-6
"""Smallest variance of effects and of deviations, so that no weight is infinite."""

SMALLEST_COUNT = 1e-9
"""Count that is added to every value, so that a set without labels has shares."""


@dataclass(frozen=True, slots=True)
class AffectedAxis:
    """Counts of an axis without and with statements of another axis, or of the axis itself.

    Attributes
    ----------
    initial : array, (m,)
        Labels of the axis in the baseline images, by value.
    stated : sequence of array, (K, m)
        For each mitigated axis, the labels in the images that state each of its K values.
    reference : array, (m,)
        Reference shares of the axis.
    distance : str
        A name of `distance.DISTANCES`.
    errors : ReadingErrors or None
        Known reading errors on the axis.
    """

    initial: Floats
    stated: Sequence[Floats]
    reference: Floats
    distance: str
    errors: ReadingErrors | None = None


class Deviations(NamedTuple):
    """Deviations of an axis before a mitigation and after each, and the decrease by each."""

    before: Floats
    after: list[Floats]
    decreases: list[Floats]


@dataclass(frozen=True, slots=True)
class AxisEffects:
    """Deviations of all axes, and the sensitivities to the mitigation of each candidate.

    Attributes
    ----------
    deviations : array, (..., axes)
        Deviation of each axis without a mitigation.
    sensitivities : array, (..., candidates, axes)
        Intersectional Sensitivity of each axis to each candidate.
    mitigated : array, (..., candidates)
        Deviation of each candidate after its own mitigation.
    places : sequence of int
        Position of each candidate among the axes.
    weights : array, (axes,)
        Weights of the axes in the mean.
    """

    deviations: Floats
    sensitivities: Floats
    mitigated: Floats
    places: Sequence[int]
    weights: Floats

    def remaining(self, members: Sequence[int]) -> Floats:
        """Return the deviation (..., axes) of each axis if some candidates are mitigated.

        Parameters
        ----------
        members
            The mitigated candidates.
        """
        chosen = list(members)
        remaining = self.deviations - self.sensitivities[..., chosen, :].sum(axis=-2)
        for member in chosen:
            remaining[..., self.places[member]] = self.mitigated[..., member]
        return np.asarray(np.maximum(remaining, 0.0))

    def mean_remaining(self, members: Sequence[int]) -> Floats:
        """Return the weighted mean deviation (...) of all axes.

        Parameters
        ----------
        members
            The mitigated candidates.
        """
        return np.asarray(np.average(self.remaining(members), axis=-1, weights=self.weights))

    def mean_sensitivity(self, member: int) -> Floats:
        """Return the weighted mean sensitivity (...) of all axes to a candidate."""
        of_member = self.sensitivities[..., member, :]
        return np.asarray(np.average(of_member, axis=-1, weights=self.weights))


@dataclass(frozen=True)
class Pooling:
    """Variances by which effects of other axes are pooled.

    Attributes
    ----------
    deviations : array, (axes,)
        Sampling variance of each axis's deviation without a mitigation.
    after : array, (candidates, axes)
        Sampling variance of each axis's deviation after the mitigation of each candidate.
    effects : float
        tau², the variance of the true effects on other axes.
    """

    deviations: Floats
    after: Floats
    effects: float

    @classmethod
    def of(cls, effects: AxisEffects, sampled: AxisEffects) -> Self:
        """Estimate the variances.

        Parameters
        ----------
        effects
            Observed effects.
        sampled
            Effects of sampled images, with the samples as their first dimension.
        """
        of_samples = sampled.deviations[:, None, :] - sampled.sensitivities
        before = np.maximum(sampled.deviations.var(axis=0), SMALLEST_VARIANCE)
        after = np.maximum(of_samples.var(axis=0), SMALLEST_VARIANCE)
        excess = (effects.sensitivities**2 - before - after)[_of_others(effects)]
        variance = float(excess.mean()) if excess.size else 0.0
        return cls(deviations=before, after=after, effects=max(variance, SMALLEST_VARIANCE))

    def pooled(self, effects: AxisEffects) -> AxisEffects:
        """Return pooled effects. The effect of an axis on itself is only adjusted to its deviation.

        Parameters
        ----------
        effects
            Effects (..., candidates, axes) that are not pooled.
        """
        of_others = _of_others(effects)
        after = effects.deviations[..., None, :] - effects.sensitivities
        weight_before = 1 / self.deviations
        weights_after = np.where(of_others, 1 / (self.after + self.effects), 0.0)
        total = weight_before * effects.deviations + (weights_after * after).sum(axis=-2)
        deviations = total / (weight_before + weights_after.sum(axis=-2))
        shrinkage = np.where(of_others, self.effects / (self.effects + self.after), 1.0)
        sensitivities = shrinkage * (deviations[..., None, :] - after)
        return replace(effects, deviations=deviations, sensitivities=sensitivities)


def _of_others(effects: AxisEffects) -> NDArray[np.bool_]:
    """Return a mask (candidates, axes) that is True where candidate and axis differ."""
    places = np.array(effects.places)
    return np.asarray(places[:, None] != np.arange(effects.deviations.shape[-1]))


@dataclass(frozen=True)
class EffectCounts:
    """Counts from which the effects of a prompt are estimated.

    Attributes
    ----------
    axes : sequence of AffectedAxis
        All axes.
    places : sequence of int
        Position of each candidate among the axes.
    shares : sequence of array, (K,)
        For each candidate, the shares with which its values are stated.
    weights : array, (axes,)
        Weights of the axes in the mean.
    """

    axes: Sequence[AffectedAxis]
    places: Sequence[int]
    shares: Sequence[Floats]
    weights: Floats

    def corrected(self) -> AxisEffects:
        """Return the effects without the excess of few images."""
        return self._effects([self._corrected_deviations(axis) for axis in self.axes])

    def sampled(self, draws: int, rng: np.random.Generator) -> AxisEffects:
        """Return corrected effects of sampled images, with `draws` as their first dimension.

        Parameters
        ----------
        draws
            Number of samples.
        rng
            Random generator for all draws.
        """

        def sample(axis: AffectedAxis, counts: Floats) -> Floats:
            # a value without images may occur in other images
            return _drawn(counts, normalised(counts + 1 / counts.shape[-1]), draws, rng)

        return self._redrawn(sample).corrected()

    def unbiased(self, draws: int, rng: np.random.Generator) -> AxisEffects:
        """Return corrected effects of images from populations without a deviation.

        Parameters
        ----------
        draws
            Number of samples.
        rng
            Random generator for all draws.
        """

        def sample(axis: AffectedAxis, counts: Floats) -> Floats:
            labeled = axis.reference
            if axis.errors is not None:
                labeled = axis.reference @ axis.errors.rates
            return _drawn(counts, np.broadcast_to(labeled, counts.shape), draws, rng)

        return self._redrawn(sample).corrected()

    def _redrawn(self, sample: Callable[[AffectedAxis, Floats], Floats]) -> "EffectCounts":
        """Return the counts with every table replaced by samples."""
        axes = []
        for axis in self.axes:
            stated = [sample(axis, counts) for counts in axis.stated]
            axes.append(replace(axis, initial=sample(axis, axis.initial), stated=stated))
        return replace(self, axes=axes)

    def _effects(self, deviations: Sequence[Deviations]) -> AxisEffects:
        decreases = [np.stack(of_axis.decreases, axis=-1) for of_axis in deviations]
        mitigated = [deviations[place].after[k] for k, place in enumerate(self.places)]
        return AxisEffects(
            deviations=np.stack([of_axis.before for of_axis in deviations], axis=-1),
            sensitivities=np.stack(decreases, axis=-1),
            mitigated=np.stack(mitigated, axis=-1),
            places=self.places,
            weights=self.weights,
        )

    def _corrected_deviations(self, axis: AffectedAxis) -> Deviations:
        before = _Gaps.of(axis, axis.initial[..., None, :], np.ones(1))
        decreases = []
        deviations = []
        for stated, shares in zip(axis.stated, self.shares, strict=True):
            after = _Gaps.of(axis, stated, shares)
            difference = debiased_difference(
                before.gaps, before.variances, after.gaps, after.variances
            )
            decreases.append(before.unit * difference)
            deviations.append(after.corrected_deviation)
        return Deviations(before=before.corrected_deviation, after=deviations, decreases=decreases)


def _drawn(counts: Floats, shares: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw tables (draws, ..., m) of as many images as counts (..., m) from shares (..., m)."""
    images = counts.sum(axis=-1).astype(int)
    return np.asarray(rng.multinomial(images, shares, size=(draws, *images.shape)), dtype=float)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Linear forms of the gap to the reference, with sampling variances.

    `unit` times the sum of |gaps| is the deviation.
    """

    gaps: Floats
    variances: Floats
    unit: float

    @classmethod
    def of(cls, axis: AffectedAxis, sets: Floats, weights: Floats) -> Self:
        """Return the gaps of the weighted mean shares of sets (..., K, m)."""
        forms, unit = linear_forms(axis.distance, len(axis.reference))
        coefficients = forms
        if axis.errors is not None:
            coefficients = forms @ axis.errors.inverse.T
        answers = sets.sum(axis=-1, keepdims=True)
        shares = normalised(sets + SMALLEST_COUNT)
        of_sets = form_variances(shares, coefficients) / np.maximum(answers - 1, 1)
        mean = np.einsum("k,...km->...m", weights, shares)
        return cls(
            gaps=mean @ coefficients.T - forms @ axis.reference,
            variances=np.einsum("k,...kl->...l", weights**2, of_sets),
            unit=unit,
        )

    @property
    def corrected_deviation(self) -> Floats:
        """Deviation of the shares without the excess of few images. It may be negative."""
        sizes = debiased_sizes(self.gaps, self.variances, self.variances)
        return np.asarray(self.unit * sizes.sum(axis=-1))
