"""Test whether the mean deviation over several axes differs between sets with the same seeds.

All axes are labeled in the same images, so their deviations are correlated. The standard error
comes from bootstrap samples of the seeds. Each sample keeps the two images of a seed together, with
all labels of these images. A mean over several axes is nearly normally distributed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew.stats.distance import distance_named
from askew.stats.distributions import normal_sf
from askew.stats.intervals import TOLERANCE, Floats, bootstrap_weights, critical_value
from askew.types import Estimate

METHOD = "paired bootstrap, normal"


@dataclass(frozen=True, slots=True)
class AxisRows:
    """Labels of two image sets on one axis.

    Attributes
    ----------
    before, after : array, (images, K)
        One row per seed, with a 1 in the column of the label and 0 in all other columns. If the
        image has no label, all columns are 0.
    reference : array, (K,)
        Reference shares.
    distance : str
        Name of a distance in `distance.DISTANCES`.
    weight : float
        Weight of the axis in the mean.
    """

    before: Floats
    after: Floats
    reference: Floats
    distance: str
    weight: float


def mean_deviation_change(
    axes: Sequence[AxisRows],
    value: float,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Compute the interval and the p-value for a change in the mean deviation.

    Parameters
    ----------
    axes
        Labels on each axis, all for the same images.
    value
        The change (after minus before), corrected for small-sample bias.
    rng
        Random generator for all draws.
    draws
        Number of bootstrap samples.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        The value with its interval, and the p-value of the test for a change.
    """
    images = len(axes[0].before)
    counts = bootstrap_weights(images, draws, rng) * images
    sampled = np.zeros(draws)
    for axis in axes:
        sampled += axis.weight * (_deviations(counts, axis, axis.after))
        sampled -= axis.weight * (_deviations(counts, axis, axis.before))
    sampled /= sum(axis.weight for axis in axes)
    error = float(sampled.std(ddof=1))
    reach = error * critical_value(level)
    if error > TOLERANCE:
        p = 2 * normal_sf(abs(value) / error)
    else:
        p = float(math.isclose(value, 0, abs_tol=TOLERANCE))
    return Estimate(
        value=value,
        low=value - reach,
        high=value + reach,
        level=level,
        interval=METHOD,
        n=2 * images,
        null=0.0,
        p=p,
    )


def _deviations(counts: Floats, axis: AxisRows, rows: Floats) -> Floats:
    """Return the deviation on an axis in each bootstrap sample."""
    sampled = counts @ rows
    labeled = sampled.sum(axis=1, keepdims=True)
    # a sample without a label is possible if few images have one
    shares = np.where(labeled > 0, sampled / np.maximum(labeled, 1), rows.sum(axis=0) / rows.sum())
    return np.asarray(distance_named(axis.distance)(shares, axis.reference))
