"""Differences in rates and means between two runs, on the same images or on independent images.

Arrays have the shape (images, columns). For rates, arrays contain 0, 1 or NaN; for means, any
numbers or NaN. An array has several columns if there are several decisions about an image. Such
decisions are not independent. All functions raise NotEnoughData if all numbers are NaN.
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.stats.classification import (
    differential,
    differential_change,
    image_means,
    rate_change,
)
from askew.stats.clustered import clustered_mean, clustered_mean_difference
from askew.stats.intervals import TOLERANCE, Floats, ends, mover, p_value
from askew.types import Estimate

Runs = tuple[ArrayLike, ArrayLike]
"""Rows of one image group in the later run and in the earlier run."""


def rate_difference(
    later: ArrayLike,
    earlier: ArrayLike,
    *,
    paired: bool,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate the difference in a rate between two runs (later minus earlier), in [-1, 1].

    The null value is 0, and p is two-sided. If both runs use the same images, the test randomly
    swaps the two runs for each image. If the images are independent, the test randomly assigns them
    to the runs.

    Parameters
    ----------
    later, earlier
        Rows of the images in each run.
    paired
        Whether row i of both arrays belongs to the same image.
    rng
        Random generator for the draws.
    draws
        Number of draws.
    level
        Confidence level of the interval, in (0, 1).
    """
    if paired:
        return rate_change(later, earlier, rng=rng, draws=draws, level=level)
    difference = differential(later, earlier, rng=rng, draws=draws, level=level)
    return replace(difference, corrected=None, corrected_form=None)


def mean_difference(
    later: ArrayLike,
    earlier: ArrayLike,
    *,
    paired: bool,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate the difference in the mean over images between two runs (later minus earlier).

    Parameters, null value and p are as in `rate_difference`, but rows may contain any numbers. If
    both runs use the same images, the interval comes from a bootstrap over images. If the images
    are independent, the interval combines the bootstrap intervals of both means (MOVER).
    """
    if paired:
        return clustered_mean_difference(later, earlier, rng=rng, draws=draws, level=level)
    x, y = (clustered_mean(rows, rng=rng, draws=draws, level=level) for rows in (later, earlier))
    difference = Estimate(
        value=x.value - y.value,
        n=(x.n or 0) + (y.n or 0),
        missing=x.missing + y.missing,
        null=0.0,
        p=p_value(
            abs(_mean_difference((later, earlier))) - TOLERANCE,
            np.abs(_assigned((later, earlier), rng, draws)),
        ),
    )
    if x.low is None or y.low is None:
        return difference
    low, high = mover(x.value, y.value, ends(x), ends(y))
    return replace(difference, low=low, high=high, level=level, interval="MOVER, independent runs")


def contrast_difference(
    first: Runs,
    second: Runs,
    *,
    paired: bool,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate the change in the difference between two groups, from the earlier to the later run.

    The change is in [-2, 2], and its null value is 0. The interval combines the intervals of the
    rates (MOVER). p is two-sided. If both runs use the same images, the test randomly reassigns the
    images, together with their changes, to the groups. If the images are independent, the test
    randomly assigns the images of each group to the runs. This second test is conservative if the
    rates of both groups change by the same amount.

    Parameters
    ----------
    first, second
        Rows of the first group and rows of the second group.
    paired
        Whether each group consists of the same images in both runs.
    rng
        Random generator for the draws.
    draws
        Number of draws.
    level
        Confidence level of the interval, in (0, 1).
    """
    if paired:
        change = differential_change(first, second, rng=rng, draws=draws, level=level)
        return replace(change, corrected=None, corrected_form=None)
    x, y = (differential(*runs, rng=rng, draws=1, level=level) for runs in (first, second))
    low, high = mover(x.value, y.value, ends(x), ends(y))
    value = x.value - y.value
    null = _assigned(first, rng, draws) - _assigned(second, rng, draws)
    return Estimate(
        value=value,
        low=max(low, -2.0),
        high=min(high, 2.0),
        level=level,
        interval="MOVER, Wilson, effective size",
        n=(x.n or 0) + (y.n or 0),
        missing=x.missing + y.missing,
        null=0.0,
        max=2.0,
        p=p_value(
            abs(_mean_difference(first) - _mean_difference(second)) - TOLERANCE, np.abs(null)
        ),
    )


def _mean_difference(runs: Runs) -> float:
    later, earlier = map(image_means, runs)
    return float(later.mean() - earlier.mean())


def _assigned(runs: Runs, rng: Generator, draws: int) -> Floats:
    """Return the difference between the runs for each random assignment of images to the runs."""
    later, earlier = (np.sort(image_means(rows)) for rows in runs)
    pooled = np.concatenate([later, earlier])
    weights = np.repeat([1 / len(later), -1 / len(earlier)], [len(later), len(earlier)])
    return np.asarray(rng.permuted(np.tile(pooled, (draws, 1)), axis=1) @ weights)
