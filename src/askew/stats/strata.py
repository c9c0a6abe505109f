"""Shares from a stratified sample of labels, and minimum sample sizes for given half-widths.

N images are divided into strata of N_s images. For example, a stratum contains the images to which
the instruments give the same labels. People label n_s random images of each stratum. Let p_st be
the share of value t in stratum s. The share of t in all images is estimated as sum_s (N_s / N) p_st
(Cochran 1977, chapter 5), divided by the same sum for all labels that are a value of the axis. The
interval is Wilson's interval for the number of images that would give the same variance (Korn and
Graubard 1998).

All functions raise NotEnoughData if there are no labels, and ValueError for invalid counts.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, critical_value
from askew.types import Estimate

LEAST_LABELS = 2
"""Minimum number of labels per stratum. With fewer labels, the variance cannot be estimated."""

PSEUDO_COUNT = 0.5
"""Number added to the counts of a stratum.

This number makes the variance positive even if all labels are equal.
"""

BISECTIONS = 60


@dataclass(frozen=True)
class StratifiedLabels:
    """Labels of a stratified sample.

    Attributes
    ----------
    sizes : array, (strata,)
        Number of images in each stratum.
    counts : array, (strata, values + 1)
        Number of labeled images with each value. The last column counts images whose label is not a
        value of the axis. Several samples have the shape (samples, strata, values + 1), and their
        results have the dimension of the samples first.
    """

    METHOD: ClassVar[str] = "Wilson, effective size of strata"

    sizes: Floats
    counts: Floats

    @classmethod
    def of(cls, sizes: ArrayLike, counts: ArrayLike) -> Self:
        """Check sizes and counts, and leave out strata without images."""
        n_images = np.asarray(sizes, dtype=float)
        labels = np.asarray(counts, dtype=float)
        if labels.ndim != 2 or n_images.shape != labels.shape[:1]:
            raise ValueError("counts (strata, values + 1) and sizes (strata,) are needed")
        if (labels < 0).any() or (labels.sum(axis=1) > n_images).any():
            raise ValueError("a stratum has more labels than images")
        exists = n_images > 0
        if not labels[exists].sum(axis=1).all():
            raise NotEnoughData("a stratum has no labeled images")
        return cls(sizes=n_images[exists], counts=labels[exists])

    @property
    def shares(self) -> Floats:
        """Estimated share of each value, of shape (values,). The shares sum to 1.

        Raises
        ------
        NotEnoughData
            If no label is a value of the axis.
        """
        totals = self._totals(self.counts)[..., :-1]
        known = totals.sum(axis=-1, keepdims=True)
        if not known.all():
            raise NotEnoughData("no image has a label that is a value of the axis")
        return np.asarray(totals / known)

    @property
    def _smoothed_counts(self) -> Floats:
        """Counts plus pseudo-counts, of the same shape, so that no variance is 0."""
        return np.asarray(self.counts + PSEUDO_COUNT / self.counts.shape[-1])

    def _totals(self, counts: Floats) -> Floats:
        """Return the estimated share of each column among all images, of shape (values + 1,)."""
        weights = self.sizes / self.sizes.sum()
        within = counts / counts.sum(axis=-1, keepdims=True)
        return np.asarray(weights @ within)

    def variances(self, *, of_model: bool = False) -> Floats:
        """Return the variance of each value's share, computed by linearizing the ratio.

        Parameters
        ----------
        of_model
            If True, the variances are for estimates of the model's true shares, with these images
            as a sample. If False, the variances are for estimates of the shares in these images,
            and are zero if all images are labeled.
        """
        within, between = self._variance_parts(of_model=of_model)
        return np.asarray(within.sum(axis=-2) + between)

    def _variance_parts(self, *, of_model: bool) -> tuple[Floats, Floats]:
        """Return the variances within strata (strata, values), and between strata (values,).

        If `of_model` is False, the variances between strata are 0.
        """
        shares = self.shares
        values = shares.shape[-1]
        known = self._totals(self.counts)[..., :-1].sum(axis=-1)[..., None, None]
        # residual of each category (categories, values): an image without a value has none
        residuals = np.zeros((*shares.shape[:-1], values + 1, values))
        residuals[..., :-1, :] = (np.eye(values) - shares[..., None, :]) / known
        labeled = self.counts.sum(axis=-1)
        smooth = self._smoothed_counts
        within = smooth / smooth.sum(axis=-1, keepdims=True)
        means = within @ residuals
        spreads = within @ np.square(residuals) - np.square(means)
        weights = self.sizes / self.sizes.sum()
        unseen = np.ones_like(labeled) if of_model else 1 - labeled / self.sizes
        factors = np.square(weights) * unseen / np.maximum(labeled - 1, 1)
        between = np.zeros_like(shares)
        if of_model:
            between = (weights @ np.square(means) - np.square(weights @ means)) / self.sizes.sum()
        return factors[..., None] * spreads, between

    def _interval_variances(self, level: float, *, of_model: bool) -> Floats:
        """Return the variances (values,) with which the intervals are computed."""
        return self.variances(of_model=of_model)

    def interval_ends(
        self, level: float = 0.95, *, of_model: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends (values,) of Wilson intervals.

        The sample size of an interval is the size for which the share has the estimated variance. The
        size is computed from the observed share or from the share with pseudo-counts, whichever is
        closer to 0 or 1. An observed share of exactly 0 or 1 has no variance, so the share with
        pseudo-counts is then used.

        Parameters
        ----------
        level
            Confidence level of the intervals, in (0, 1).
        of_model
            If True, the intervals are for the model's true shares. If False, the intervals are for
            the shares in these images.
        """
        shares = self.shares
        smoothed = self._totals(self._smoothed_counts)[..., :-1]
        smoothed = smoothed / smoothed.sum(axis=-1, keepdims=True)
        spread = smoothed * (1 - smoothed)
        observed_spread = shares * (1 - shares)
        is_inside = (shares > 0) & (shares < 1)
        spread = np.where(is_inside, np.minimum(spread, observed_spread), spread)
        variances = self._interval_variances(level, of_model=of_model)
        # z**2 / n, where n = spread / variance is the effective sample size
        ratio = np.square(critical_value(level)) * variances
        ratio = ratio / np.maximum(spread, np.finfo(float).tiny)
        middle = (shares + ratio / 2) / (1 + ratio)
        half = np.sqrt(observed_spread * ratio + np.square(ratio) / 4) / (1 + ratio)
        return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)

    def estimates(self, level: float = 0.95, *, of_model: bool = False) -> tuple[Estimate, ...]:
        """Return the share of each value with its interval.

        The parameters are the same as in `interval_ends`.
        """
        lows, highs = self.interval_ends(level, of_model=of_model)
        estimates = []
        for share, low, high in zip(self.shares, lows, highs, strict=True):
            estimates.append(
                Estimate(
                    value=float(share),
                    low=float(low),
                    high=float(high),
                    level=level,
                    interval=self.METHOD,
                    n=int(self.counts[:, :-1].sum()),
                    missing=int(self.counts[:, -1].sum()),
                    max=1.0,
                )
            )
        return tuple(estimates)


def half_widths(
    sizes: ArrayLike, shares: ArrayLike, labels: ArrayLike, level: float = 0.95
) -> Floats:
    """Return, for each value, the expected half-width of the interval for its share.

    Parameters
    ----------
    sizes : array, (strata,)
        Number of images in each stratum.
    shares : array, (strata, values)
        Expected shares of the values in each stratum.
    labels : array, (strata,)
        Number of labeled images in each stratum.
    level
        Confidence level of the intervals, in (0, 1).
    """
    n_images = np.asarray(sizes, dtype=float)
    p = np.asarray(shares, dtype=float)
    n = np.asarray(labels, dtype=float)
    weights = n_images / n_images.sum()
    factors = np.square(weights) * (1 - n / n_images) / np.maximum(n - 1, 1)
    variances = factors @ (p * (1 - p))
    return np.asarray(critical_value(level) * np.sqrt(variances))


def smallest_sample(
    sizes: ArrayLike, shares: ArrayLike, half_width: float, level: float = 0.95
) -> NDArray[np.int64]:
    """Return, for each stratum, the minimum number of labels for intervals of a given half-width.

    The labels are divided among the strata as in Neyman (1934). The number of labels is
    proportional to the size of the stratum times the largest standard deviation of any value in the
    stratum.

    Parameters
    ----------
    sizes : array, (strata,)
        Number of images in each stratum.
    shares : array, (strata, values)
        Expected shares of the values in each stratum.
    half_width
        Maximum half-width of the intervals, in (0, 1).
    level
        Confidence level of the intervals, in (0, 1).
    """
    n_images = np.asarray(sizes, dtype=np.int64)
    p = np.asarray(shares, dtype=float)
    spread = n_images * np.sqrt((p * (1 - p)).max(axis=1))
    low = 0.0
    high = 1.0
    if spread.any():
        high = float((n_images / np.maximum(spread, 1e-9)).max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        labels = _labels(n_images, spread * middle)
        if half_widths(n_images, p, labels, level).max() <= half_width:
            high = middle
        else:
            low = middle
    return _labels(n_images, spread * high)


def _labels(sizes: NDArray[np.int64], wanted: Floats) -> NDArray[np.int64]:
    """Round numbers of labels up.

    Each stratum gets at least two labels, but no more than one label per image.
    """
    most = np.maximum(np.ceil(wanted).astype(np.int64), LEAST_LABELS)
    return np.minimum(most, sizes)


def expected_shares(labels: ArrayLike, values: int, accuracy: float, doubt: float = 0.1) -> Floats:
    """Return the expected shares of the true values, given the labels from instruments.

    The shares follow from Bayes' rule. The calculation assumes that all values have the same prior
    probability. It also assumes that instruments make errors independently and have the same
    accuracy. A fraction `doubt` of the images is spread evenly over the values.

    Parameters
    ----------
    labels : array, (strata, instruments)
        Index of the value from each instrument, or -1 for a missing label.
    values
        Number of values.
    accuracy
        Share of labels from an instrument that are correct, in (0, 1).
    doubt
        Fraction of images, in [0, 1], for which all values are assumed to be equally likely.
    """
    codes = np.asarray(labels, dtype=np.int64)
    wrong = (1 - accuracy) / max(values - 1, 1)
    likelihood = np.ones((len(codes), values))
    for column in codes.T:
        is_label = column[:, None] == np.arange(values)
        factor = np.where(is_label, accuracy, wrong)
        likelihood *= np.where(column[:, None] < 0, 1.0, factor)
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    return np.asarray((1 - doubt) * posterior + doubt / values)


def accuracy_from_agreement(agreement: float, values: int) -> float:
    """Return the accuracy of two instruments, given the share of images on which they agree.

    Two instruments that have the same accuracy a and make errors independently agree on a share of
    a**2 + (1 - a)**2 / (values - 1) of the images.

    Parameters
    ----------
    agreement
        Share of images that get the same label from both instruments, in [0, 1].
    values
        Number of values.
    """
    others = max(values - 1, 1)
    # (1 + 1/others) a**2 - (2/others) a + 1/others - agreement = 0
    square = 1 + 1 / others
    root = (1 / others) ** 2 - square * (1 / others - agreement)
    return float((1 / others + np.sqrt(max(root, 0.0))) / square)


def sample_of_size(sizes: ArrayLike, shares: ArrayLike, total: int) -> NDArray[np.int64]:
    """Allocate a given number of labels to strata so that the intervals for the shares are short.

    Parameters
    ----------
    sizes : array, (strata,)
        Number of images in each stratum.
    shares : array, (strata, values)
        Expected shares of the values in each stratum.
    total
        Number of labels in all strata together. Each stratum gets at least two labels, or one label
        per image if it has fewer than two images.

    Returns
    -------
    array, (strata,)
        Number of labels in each stratum.
    """
    n_images = np.asarray(sizes, dtype=np.int64)
    p = np.asarray(shares, dtype=float)
    spread = n_images * np.sqrt((p * (1 - p)).max(axis=1))
    low = 0.0
    high = float((n_images / np.maximum(spread, 1e-9)).max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _labels(n_images, spread * middle).sum() <= total:
            low = middle
        else:
            high = middle
    return _labels(n_images, spread * low)
