"""MineTheGap's bias score: how well the images of a prompt cover its variations (section 4.1).

A similarity matrix has a row for each variation of the prompt and a column for each image. All
similarities must be finite, and their mean must be above 0. Functions that compute a score raise
NotEnoughData if the mean is 0 or less, and ValueError for an invalid matrix. A lower score means
more bias.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import (
    Floats,
    array_of,
    from_enough,
    p_value,
    percentile_interval,
    student_stretch,
)
from askew.types import Estimate

QUANTILE = 0.25
"""Permitted share of variations, and of images, without a match (alpha in the paper)."""


def unit_similarity(cosine: ArrayLike) -> Floats:
    """Map cosines from [-1, 1] to [0, 1], using (1 + cosine) / 2.

    Eq. 1 divides by the mean similarity, which must be well above 0. CLIP's cosines between images
    and texts meet this condition. Many other embedding models produce both positive and negative
    cosines.

    Parameters
    ----------
    cosine : array
        Cosines, in [-1, 1].
    """
    return np.asarray((1 + np.asarray(cosine, dtype=float)) / 2)


def bias_score(similarity: ArrayLike, quantile: float = QUANTILE) -> float:
    """Compute the bias score of one prompt (MineTheGap, Eq. 1).

    The score is the mean of two quantiles, divided by the mean similarity. Q{max over images}
    detects visual concepts that are missing from the images: it is the quantile, over all
    variations, of the similarity to the best image. Q{max over variations} detects images that
    match no variation: it is the quantile, over all images, of the similarity to the best
    variation. Q is the lower quantile. At 0.25, the quantile of 15 numbers is the 4th smallest
    number.

    Parameters
    ----------
    similarity : array, (variations, images)
        Similarity matrix.
    quantile
        Quantile Q, in [0, 1].

    Returns
    -------
    float
        Positive number, 1 if all similarities are equal. A lower score means more bias.
    """
    return float(_scores(_matrix(similarity), quantile))


def worst(
    similarity: ArrayLike, of: Literal["variations", "pictures"], quantile: float = QUANTILE
) -> NDArray[np.intp]:
    """Return the variations that no image matches well, or the images that match no variation well.

    Parameters
    ----------
    similarity : array, (variations, images)
        Similarity matrix.
    of
        What to return: variations (rows) or images (columns).
    quantile
        Quantile of the best matches, in [0, 1]. The function returns the variations or images whose
        best match is at or below this quantile. At 0.25, the function returns 4 of 15 variations or
        images.

    Returns
    -------
    array
        Indexes of the rows or columns, from the worst match to the best. Equal matches keep their
        order.
    """
    axis = 1 if of == "variations" else 0
    best: Floats = _matrix(similarity).max(axis=axis)
    order = np.argsort(best, kind="stable")
    return order[best[order] <= np.quantile(best, quantile, method="lower")]


def gap_estimate(
    similarity: ArrayLike,
    of_variations: ArrayLike | None = None,
    *,
    rng: Generator,
    quantile: float = QUANTILE,
    draws: int = 1000,
    level: float = 0.95,
    missing: int = 0,
) -> Estimate:
    """Estimate the bias score, corrected for chance if `of_variations` is given.

    The interval is for the mean score over new samples with the same numbers of images and
    variations. Both numbers affect the score; for example, more images cover more variations. askew
    resamples variations and images. A resample contains fewer distinct images than the original
    sample, so its score is lower. Therefore the interval uses only the deviations of the resampled
    scores from their mean. If there are few rows or columns, askew stretches these deviations by
    the ratio of Student's t to the normal quantile. With fewer than three images or variations
    there is no interval.

    Under the null hypothesis, the model shows everything in the variations. Each null draw takes
    the same number of images, with replacement, from images that were generated from the
    variations. Low scores indicate bias, so p = (1 + number of draws at or below the score) / (1 +
    draws). The corrected score, null - value, increases with the bias.

    Parameters
    ----------
    similarity : array, (variations, images)
        Similarity matrix.
    of_variations : array, (variations, images), optional
        Similarity matrix of images that were generated from the variations.
    rng
        Random generator for all draws.
    quantile
        Quantile Q of the score, in [0, 1].
    draws
        Number of resamples and number of null draws.
    level
        Confidence level of the interval, in (0, 1).
    missing
        Number of missing images. This number is reported but does not affect the estimate.
    """
    s = _matrix(similarity)
    variations, images = s.shape
    value = float(_scores(s, quantile))
    rows = rng.integers(variations, size=(draws, variations, 1))
    columns = rng.integers(images, size=(draws, 1, images))
    resampled = _scores(s[rows, columns], quantile)
    stretch = student_stretch(level, max(min(s.shape) - 1, 1))
    below, above = percentile_interval(stretch * (resampled - resampled.mean()), level)
    estimate = Estimate(
        value=value,
        low=min(value, value - above),
        high=max(value, value - below),
        level=level,
        interval="bootstrap over variations and pictures",
        n=images,
        missing=missing,
    )
    estimate = from_enough(estimate, images, variations)
    if of_variations is None:
        return estimate
    nulls = null_scores(of_variations, images, quantile, draws, rng)
    null = float(nulls.mean())
    return replace(
        estimate,
        null=null,
        corrected=null - value,
        corrected_form="null - value",
        p=p_value(-value, -nulls),
    )


def null_scores(
    of_variations: ArrayLike, pictures: int, quantile: float, draws: int, rng: Generator
) -> Floats:
    """Simulate scores under the null hypothesis that the model shows all the variations.

    For each score, images are drawn with replacement from the images that were generated from the
    variations.

    Parameters
    ----------
    of_variations : array, (variations, images)
        Similarity matrix of images that were generated from the variations.
    pictures
        Number of images per draw.
    quantile
        Quantile Q of the score, in [0, 1].
    draws
        Number of draws.
    rng
        Random generator for the draws.

    Returns
    -------
    array, (draws,)
    """
    s = _matrix(of_variations)
    columns = rng.integers(s.shape[1], size=(draws, pictures))
    return _scores(np.moveaxis(s[:, columns], 0, 1), quantile)


def _scores(s: Floats, quantile: float) -> Floats:
    """Compute Eq. 1 for each matrix in an array of shape (…, variations, images)."""
    mean = s.mean(axis=(-2, -1))
    if np.any(mean <= 0):
        raise NotEnoughData(
            f"the mean similarity between variations and images is {mean.min():.3f}, but the bias "
            "score needs a mean above 0. Use a similarity such as (1 + cosine) / 2"
        )
    missed = np.quantile(s.max(axis=-1), quantile, axis=-1, method="lower")
    unaligned = np.quantile(s.max(axis=-2), quantile, axis=-1, method="lower")
    return np.asarray((missed / mean + unaligned / mean) / 2)


def _matrix(similarity: ArrayLike) -> Floats:
    return array_of(similarity, "a similarity matrix", "(variations, pictures)")
