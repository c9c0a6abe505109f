"""Multinomial logistic regression for label counts, with a normal prior (Laplace approximation).

Each image of an item, such as a prompt, has one of K labels. The logits of the label shares are the
sum of a baseline (the base) and the effects of the item's features, such as its words. askew
expresses logits in K - 1 orthonormal contrasts of the values, so that all values are treated in the
same way. Under the prior, all effects are normally distributed with mean 0 and the same standard
deviation. askew chooses the standard deviation that has the greatest marginal likelihood. The
posterior is approximated by a normal distribution around its mode (Laplace; MacKay 1992, Neural
Computation 4, 720-736).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats

SCALES = np.geomspace(0.05, 3.2, 13)
"""Candidates for the standard deviation of an effect.

Adjacent candidates differ by a factor of 1.41.
"""

BASE_SCALE = 3.0
"""Standard deviation of the base under the prior. This standard deviation is so large that it
hardly affects the fit.
"""

MOST_STEPS = 100
"""Maximum number of Newton steps."""

SMALL_STEP = 1e-9
"""Newton's method stops when the log posterior changes by less than this amount."""


@dataclass(frozen=True, slots=True)
class CountData:
    """Features of items, and the number of images with each label per item.

    Attributes
    ----------
    design : sparse array, (items, 1 + features)
        A column of ones, then the features of each item. Most features are 0.
    counts : array, (items, K)
        Number of images with each label, per item.
    contrasts : array, (K - 1, K)
        Orthonormal contrasts of the values.
    """

    design: Any
    counts: Floats
    contrasts: Floats

    def shares(self, effects: Floats) -> Floats:
        """Predict the label shares of each item from the effects."""
        return shares_of_logits(self.design @ effects @ self.contrasts)

    def log_likelihood(self, effects: Floats) -> float:
        """Return the log-likelihood of the effects, without multinomial coefficients."""
        logits = self.design @ effects @ self.contrasts
        totals = scipy.special.logsumexp(logits, axis=1)
        return float((self.counts * logits).sum() - (self.counts.sum(axis=1) * totals).sum())

    def gradient(self, effects: Floats) -> Floats:
        """Return the gradient of the log-likelihood with respect to the effects."""
        totals = self.counts.sum(axis=1, keepdims=True)
        residuals = self.counts - totals * self.shares(effects)
        return np.asarray(self.design.T @ residuals @ self.contrasts.T)

    def information(self, effects: Floats) -> Floats:
        """Return the negative second derivative of the log-likelihood, a square matrix.

        Its rows and columns correspond to the effects, ordered by contrast, then by feature.
        """
        shares = self.shares(effects)
        totals = self.counts.sum(axis=1)
        size = self.design.shape[1]
        contrasts = len(self.contrasts)
        matrix = np.empty((contrasts, size, contrasts, size))
        for first in range(contrasts):
            for second in range(first, contrasts):
                covariance = self._contrast_covariance(shares, first, second)
                weighted = self.design.multiply((totals * covariance)[:, None])
                block = (self.design.T @ weighted).toarray()
                matrix[first, :, second, :] = block
                matrix[second, :, first, :] = block
        return matrix.reshape(contrasts * size, contrasts * size)

    def _contrast_covariance(self, shares: Floats, first: int, second: int) -> Floats:
        """Return, for each item, the covariance between two contrasts of a single image's label."""
        a = self.contrasts[first]
        b = self.contrasts[second]
        return np.asarray(shares @ (a * b) - (shares @ a) * (shares @ b))


@dataclass(frozen=True)
class CountModel:
    """Posterior distribution of the effects of features on shares.

    Attributes
    ----------
    data
        Features and counts.
    scale
        Standard deviation of an effect under the prior.
    mode : array, (1 + features, K - 1)
        Effects with the greatest posterior density. The first row is the base.
    factor : array
        Lower Cholesky factor of the posterior's precision matrix. Its rows and columns correspond
        to the effects, ordered by contrast, then by feature.
    evidence
        Log marginal likelihood of the data at this scale, up to a constant.
    """

    data: CountData
    scale: float
    mode: Floats
    factor: Floats
    evidence: float

    @cached_property
    def covariance(self) -> Floats:
        """Covariance matrix of the effects, ordered by contrast, then by feature."""
        identity = np.eye(len(self.factor))
        return np.asarray(scipy.linalg.cho_solve((self.factor, True), identity))

    def draws(self, count: int, rng: Generator) -> Floats:
        """Draw effects from the posterior, as an array of shape (count, 1 + features, K - 1)."""
        normal = rng.standard_normal((len(self.factor), count))
        deviations = scipy.linalg.solve_triangular(self.factor, normal, lower=True, trans="T")
        size, contrasts = self.mode.shape
        drawn = deviations.T.reshape(count, contrasts, size).transpose(0, 2, 1)
        return np.asarray(self.mode + drawn)

    def unknown_draws(self, count: int, rng: Generator) -> Floats:
        """Draw effects from the prior, for a feature that no item has."""
        return self.scale * rng.standard_normal((count, self.mode.shape[1]))


def shares_of_logits(logits: Floats) -> Floats:
    """Convert logits to shares, along the last axis."""
    return np.asarray(scipy.special.softmax(logits, axis=-1))


def contrasts_of(values: int) -> Floats:
    """Return K - 1 orthonormal contrasts of K values, as an array of shape (K - 1, K)."""
    return np.asarray(scipy.linalg.helmert(values))


def count_data(features: ArrayLike, counts: ArrayLike) -> CountData:
    """Check features and label counts, and combine them into `CountData`.

    Parameters
    ----------
    features : array, (items, features)
        Features of each item. For example, a feature is 1 if a prompt contains a word and 0 if not.
    counts : array, (items, K)
        Number of images with each label, per item.

    Raises
    ------
    NotEnoughData
        If there are no items, or there are fewer than two values.
    ValueError
        If shapes differ, or counts are negative or not finite.
    """
    x = np.asarray(features, dtype=float)
    y = np.asarray(counts, dtype=float)
    if y.ndim != 2 or x.ndim != 2 or len(x) != len(y):
        raise ValueError(
            f"features {x.shape} and counts {y.shape} must be tables with one row per item"
        )
    if not np.isfinite(x).all() or not np.isfinite(y).all() or (y < 0).any():
        raise ValueError("features and counts must be finite, and counts at least 0")
    if not len(y) or y.shape[1] < 2:
        raise NotEnoughData(
            "a regression of counts needs at least one item and at least two values"
        )
    design = scipy.sparse.csr_array(np.column_stack([np.ones(len(x)), x]))
    return CountData(design=design, counts=y, contrasts=contrasts_of(y.shape[1]))


def fit_counts(
    features: ArrayLike, counts: ArrayLike, scales: Sequence[float] | Floats = SCALES
) -> CountModel:
    """Fit the effects of features on the shares of labels.

    Parameters
    ----------
    features : array, (items, features)
        Features of each item.
    counts : array, (items, K)
        Number of images with each label, per item.
    scales
        Candidates for the standard deviation of an effect, in ascending order. The search for the
        greatest marginal likelihood starts at the middle candidate.

    Raises
    ------
    NotEnoughData
        If there are no items, or there are fewer than two values.
    """
    data = count_data(features, counts)
    fits: dict[int, CountModel] = {}

    def fit(place: int) -> CountModel:
        if place not in fits:
            nearest = min(fits, key=lambda known: abs(known - place), default=None)
            start = None if nearest is None else fits[nearest].mode
            fits[place] = fit_at_scale(data, float(scales[place]), start)
        return fits[place]

    best = len(scales) // 2
    while True:
        around = range(max(best - 1, 0), min(best + 2, len(scales)))
        climbed = max(around, key=lambda place: fit(place).evidence)
        if climbed == best:
            return fits[best]
        best = climbed


def fit_at_scale(data: CountData, scale: float, start: Floats | None = None) -> CountModel:
    """Fit the effects by Newton's method. `scale` is the standard deviation of the prior.

    Parameters
    ----------
    data
        Features and counts.
    scale
        Standard deviation of an effect under the prior.
    start : array, (1 + features, K - 1), optional
        Effects from which Newton's method starts; 0 by default.
    """
    size = data.design.shape[1]
    contrasts = len(data.contrasts)
    precisions = np.full((size, 1), scale**-2.0)
    precisions[0] = BASE_SCALE**-2
    effects = np.zeros((size, contrasts)) if start is None else start

    def log_posterior(of: Floats) -> float:
        return data.log_likelihood(of) - 0.5 * float((precisions * of**2).sum())

    value = log_posterior(effects)
    diagonal = np.tile(precisions[:, 0], contrasts)
    for _ in range(MOST_STEPS):
        factor = _factor(data.information(effects), diagonal)
        gradient = data.gradient(effects) - precisions * effects
        step = scipy.linalg.cho_solve((factor, True), gradient.T.ravel())
        direction = step.reshape(contrasts, size).T
        length = 1.0
        while length > SMALL_STEP and log_posterior(effects + length * direction) < value:
            length /= 2
        effects = effects + length * direction
        before = value
        value = log_posterior(effects)
        if value - before < SMALL_STEP:
            break
    factor = _factor(data.information(effects), diagonal)
    evidence = value + 0.5 * float(np.log(diagonal).sum()) - float(np.log(np.diag(factor)).sum())
    return CountModel(data=data, scale=scale, mode=effects, factor=factor, evidence=evidence)


def _factor(information: Floats, diagonal: Floats) -> Floats:
    """Return the lower Cholesky factor of the posterior's precision matrix."""
    precision = information.copy()
    precision[np.diag_indices_from(precision)] += diagonal
    return np.asarray(np.linalg.cholesky(precision))
