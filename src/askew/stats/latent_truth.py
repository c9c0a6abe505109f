"""Error rates of an instrument, estimated from raters who also make errors (Dawid and Skene 1979).

The true value of each image is unknown; it is t with probability pi_t. Given t, a rater chooses the
value v with probability R_tv, and the instrument independently chooses the label a with probability
C_ta. The EM algorithm maximizes the likelihood. If each image has only one rater, R cannot be
estimated, so the rater's label is taken as the true value.

"True" means the label that most raters of this kind would give. The raters of each image are
assumed to be a random sample of all raters, so a single matrix R describes all of them. Weighting
the images allows for samples that are stratified by the instrument's labels.

For the intervals, askew resamples the images within their strata and repeats EM. Each interval is a
Wilson interval at the effective sample size, which is the number of independent images that would
give the same variance. A Wilson interval has a positive width even for a share of 0 or 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats
from askew.stats.shares import wilson
from askew.types import Estimate

ITERATIONS = 200
TOLERANCE = 1e-6
STEPS_OF_DRAWS = 100
"""Maximum number of EM steps for a resample.

For resamples, EM starts at the estimate from all images.
"""

PSEUDO_COUNT = 0.1
"""Number added to each row of counts, so that no label has a probability of 0 in R or C."""


@dataclass(frozen=True)
class RatedLabels:
    """Votes from raters and labels from an instrument for the same images.

    Attributes
    ----------
    votes : array, (images, values)
        Number of raters who chose each value.
    labels : array, (images,)
        Index of the instrument's label. Indexes beyond those of the values represent labels that
        are not values of the axis.
    kinds : int
        Number of different labels, including labels that are not values of the axis.
    weights : array, (images,)
        Number of images in the run that each image represents.
    strata : array, (images,)
        Index of the stratum from which each image was drawn.
    """

    votes: NDArray[np.int64]
    labels: NDArray[np.int64]
    kinds: int
    weights: Floats
    strata: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        votes: ArrayLike,
        labels: ArrayLike,
        kinds: int,
        weights: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> "RatedLabels":
        """Check votes and labels, and leave out images without a vote.

        Raises
        ------
        NotEnoughData
            If no image has a vote.
        """
        counts = np.asarray(votes, dtype=np.int64)
        codes = np.asarray(labels, dtype=np.int64)
        if counts.ndim != 2 or codes.shape != counts.shape[:1]:
            raise ValueError("votes (images, values) and labels (images,) are needed")
        if codes.size and not 0 <= codes.min() <= codes.max() < kinds:
            raise ValueError(f"labels must lie between 0 and {kinds - 1}")
        has_votes = counts.any(axis=1)
        if not has_votes.any():
            raise NotEnoughData("no image has a label from a rater")
        ones = np.ones(len(codes))
        of_images = ones if weights is None else np.asarray(weights, dtype=float)
        parts = np.zeros(len(codes)) if strata is None else np.asarray(strata)
        return cls(
            votes=counts[has_votes],
            labels=codes[has_votes],
            kinds=kinds,
            weights=of_images[has_votes],
            strata=parts[has_votes].astype(np.int64),
        )


@dataclass(frozen=True)
class LatentTruth:
    """Estimated shares and error rates, for each of several draws of the image weights.

    Attributes
    ----------
    shares : array, (draws, values)
        Shares of the true values.
    raters : array, (draws, values, values)
        P(vote | true value).
    instrument : array, (draws, values, kinds)
        P(label | true value).
    sizes : array, (draws, values)
        Effective sample size for each true value.
    """

    shares: Floats
    raters: Floats
    instrument: Floats
    sizes: Floats


@dataclass(frozen=True)
class InstrumentErrors:
    """Error rates of an instrument, with intervals.

    Attributes
    ----------
    rates : tuple of tuple of Estimate
        P(label | true value): one row per true value, one column per label.
    rater_rates : array, (values, values)
        P(vote | true value).
    shares : array, (values,)
        Shares of the true values among the weighted images.
    counts : array, (values, values)
        Effective sample size for each true value (rows) and each label (columns). These counts can
        be used to correct shares. Labels that are not values of the axis are left out.
    """

    rates: tuple[tuple[Estimate, ...], ...]
    rater_rates: Floats
    shares: Floats
    counts: Floats


def instrument_errors(
    data: RatedLabels, *, rng: Generator, draws: int = 500, level: float = 0.95
) -> InstrumentErrors:
    """Estimate the error rates of an instrument from the votes of raters.

    Parameters
    ----------
    data
        Votes and labels.
    rng
        Random generator for the resamples.
    draws
        Number of resamples.
    level
        Confidence level of the intervals, in (0, 1).
    """
    patterns = _Patterns.of(data)
    fitted = patterns.fit(patterns.weights[None], None, ITERATIONS)
    drawn = patterns.fit(patterns.resampled(draws, rng), fitted, STEPS_OF_DRAWS)
    variances = drawn.instrument.var(axis=0)
    rows = []
    for value in range(data.votes.shape[1]):
        rates = fitted.instrument[0, value]
        size = float(fitted.sizes[0, value])
        rows.append(
            tuple(
                _rate(float(rate), float(variance), size, len(data.labels), level)
                for rate, variance in zip(rates, variances[value], strict=True)
            )
        )
    values = data.votes.shape[1]
    counts = fitted.instrument[0, :, :values] * fitted.sizes[0][:, None]
    return InstrumentErrors(
        rates=tuple(rows),
        rater_rates=fitted.raters[0],
        shares=fitted.shares[0],
        counts=np.asarray(counts),
    )


def _rate(rate: float, variance: float, size: float, labeled: int, level: float) -> Estimate:
    """Return a rate with a Wilson interval.

    The sample size of the interval is chosen so that the rate has the given variance.
    """
    images = max(size, 1.0)
    inside = (rate * images + 0.5) / (images + 1)
    effective = min(inside * (1 - inside) / max(variance, 1e-12), labeled)
    low, high = wilson(rate, max(effective, 1e-3), level)
    return Estimate(
        value=rate,
        low=float(min(low, rate)),
        high=float(max(high, rate)),
        level=level,
        interval="Wilson, effective size by bootstrap",
        n=max(round(size), 1),
        max=1.0,
    )


@dataclass(frozen=True)
class _Patterns:
    """Distinct combinations of votes, label and stratum, with the number of images for each."""

    votes: Floats
    labels: NDArray[np.int64]
    kinds: int
    strata: NDArray[np.int64]
    images: NDArray[np.int64]
    weights: Floats
    single: bool

    @classmethod
    def of(cls, data: RatedLabels) -> "_Patterns":
        table = np.column_stack([data.votes, data.labels, data.strata])
        unique, inverse, images = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        values = data.votes.shape[1]
        weights = np.bincount(inverse.ravel(), weights=data.weights, minlength=len(unique))
        return cls(
            votes=unique[:, :values].astype(float),
            labels=unique[:, values],
            kinds=data.kinds,
            strata=unique[:, values + 1],
            images=images,
            weights=np.asarray(weights, dtype=np.float64),
            single=int(data.votes.sum(axis=1).max()) == 1,
        )

    def resampled(self, draws: int, rng: Generator) -> Floats:
        """Resample images within strata, and return each pattern's total weight in each draw."""
        weights = np.zeros((draws, len(self.images)))
        for stratum in np.unique(self.strata):
            members = np.flatnonzero(self.strata == stratum)
            images = self.images[members]
            total = int(images.sum())
            drawn = rng.multinomial(total, images / total, size=draws) - images
            # a resample varies less than a new sample
            stretched = images + drawn * np.sqrt(total / max(total - 1, 1))
            weights[:, members] = np.maximum(stretched, 0) * (self.weights[members] / images)
        return weights

    def fit(self, weights: Floats, start: LatentTruth | None, steps: int) -> LatentTruth:
        """Maximize the likelihood by EM for each draw of the weights.

        Parameters
        ----------
        weights
            Weights of the patterns.
        start
            Estimate at which EM starts. If None, EM first assumes that the true value of each
            pattern is distributed like the pattern's votes.
        steps
            Maximum number of EM steps.
        """
        # images of equal information: weights of a stratified sample add no images
        sizes = weights.sum(axis=1) ** 2 / self._squared(weights)
        scaled = weights / weights.sum(axis=1, keepdims=True) * sizes[:, None]
        if start is None:
            posterior = np.broadcast_to(
                self.votes / self.votes.sum(axis=1, keepdims=True),
                (len(weights), *self.votes.shape),
            )
        else:
            posterior = self._posterior(start)
        estimate = self._maximum(scaled, posterior)
        for _ in range(steps):
            following = self._maximum(scaled, self._posterior(estimate))
            change = np.abs(following.instrument - estimate.instrument).max()
            estimate = following
            if change < TOLERANCE:
                break
        return estimate

    def _squared(self, weights: Floats) -> Floats:
        """Return the sum of the squared image weights in each draw."""
        return np.asarray((np.square(weights) / self.images).sum(axis=1))

    def _posterior(self, estimate: LatentTruth) -> Floats:
        """Return P(true value | votes and label) for each draw and pattern."""
        if self.single:
            return np.broadcast_to(self.votes, (len(estimate.shares), *self.votes.shape))
        of_votes = np.einsum("pv,dtv->dpt", self.votes, np.log(estimate.raters))
        of_labels = np.log(np.swapaxes(estimate.instrument, 1, 2)[:, self.labels])
        logs = of_votes + of_labels + np.log(np.maximum(estimate.shares, 1e-12))[:, None]
        logs -= logs.max(axis=2, keepdims=True)
        unscaled = np.exp(logs)
        return np.asarray(unscaled / unscaled.sum(axis=2, keepdims=True))

    def _maximum(self, weights: Floats, posterior: Floats) -> LatentTruth:
        """Estimate shares and error rates, given the probabilities of the true values (M step)."""
        of_truth = weights[:, :, None] * posterior
        sizes = of_truth.sum(axis=1)
        raters = np.einsum("dpt,pv->dtv", of_truth, self.votes)
        is_label = (self.labels[:, None] == np.arange(self.kinds)).astype(float)
        instrument = np.swapaxes(of_truth, 1, 2) @ is_label
        return LatentTruth(
            shares=sizes / sizes.sum(axis=1, keepdims=True),
            raters=_rows(raters),
            instrument=_rows(instrument),
            sizes=sizes,
        )


def _rows(counts: Floats) -> Floats:
    """Add pseudo-counts to each row, and scale the rows so that they sum to 1."""
    smooth = counts + PSEUDO_COUNT / counts.shape[-1]
    return np.asarray(smooth / smooth.sum(axis=-1, keepdims=True))


def votes_of(codes: ArrayLike, values: int) -> NDArray[np.int64]:
    """Count, for each image and value, how many raters chose the value.

    Parameters
    ----------
    codes : array, (raters, images)
        Index of the value that each rater chose for each image, or -1 if there is no vote.
    values
        Number of values.
    """
    ratings = np.asarray(codes)
    counts: Sequence[NDArray[np.int64]] = [
        (ratings == value).sum(axis=0) for value in range(values)
    ]
    return np.stack(counts, axis=1).astype(np.int64)
