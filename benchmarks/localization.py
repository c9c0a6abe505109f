"""Scores of maps against known regions: by the highest point, and by a mask as large as the region.

There are three null values. By area: a point at random. By other images: the region of another
image, which a map finds that only follows the usual place of such things. By other maps: a map of
another word in the same image, which finds the parts that attract each map. Arrays of scores are
(images, images, members): map of the first image, region of the second, and members such as
timesteps, which are not independent draws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.stats.clustered import clustered_rate
from askew.stats.intervals import Floats
from askew.stats.means import student_mean
from askew.stats.overlap import Mask, entanglement, iou, iou_matrix
from askew.types import Estimate


def pointing_matrix(maps: ArrayLike, regions: ArrayLike) -> NDArray[np.bool_]:
    """Check whether the highest point of each map lies in each region: (n, n).

    Of equal points, the first counts. The diagonal is the pointing game (Zhang et al. 2018,
    "Top-down neural attention by excitation backprop").

    Parameters
    ----------
    maps, regions
        Each (n, H, W).
    """
    x = np.asarray(maps, dtype=float)
    r = np.asarray(regions, dtype=bool)
    points = x.reshape(len(x), -1).argmax(axis=1)
    return np.asarray(r.reshape(len(r), -1)[:, points].T)


def masks_as_large(maps: ArrayLike, regions: ArrayLike) -> Mask:
    """Return the highest cells of each map, as many as its region has, and cells equal to the last.

    Parameters
    ----------
    maps, regions
        Each (n, H, W).
    """
    x = np.asarray(maps, dtype=float)
    sizes = np.asarray(regions, dtype=bool).sum(axis=(-2, -1))
    flat = np.sort(x.reshape(len(x), -1), axis=1)[:, ::-1]
    levels = np.where(sizes > 0, flat[np.arange(len(x)), np.maximum(sizes, 1) - 1], np.inf)
    return np.asarray(x >= levels[:, None, None])


def overlap_with_regions(maps: ArrayLike, regions: ArrayLike) -> Floats:
    """Return IoU of each map's mask, as large as its region, with each region: (n, n).

    Parameters
    ----------
    maps, regions
        Each (n, H, W).

    Raises
    ------
    NotEnoughData
        If the regions of a pair are both empty.
    """
    return iou_matrix(masks_as_large(maps, regions), regions)


def pointing_estimate(
    scores: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate the share of maps whose highest point lies in their region.

    Null and p are by regions of other images. The interval is Wilson's, for members in clusters of
    an image.

    Parameters
    ----------
    scores
        (n, n, members) from `pointing_matrix`.
    """
    x = np.asarray(scores, dtype=float)
    mean, _ = entanglement(x.mean(axis=2), rng=rng, draws=draws, level=level)
    rate = clustered_rate(np.diagonal(x).T, level=level)
    return replace(
        mean, low=rate.low, high=rate.high, interval=rate.interval, level=level, n=rate.n
    )


def overlap_estimate(
    scores: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate the mean IoU of maps with their region, with an interval by t over images.

    Null and p are by regions of other images.

    Parameters
    ----------
    scores
        (n, n, members) from `overlap_with_regions`.
    """
    x = np.asarray(scores, dtype=float)
    return entanglement(x.mean(axis=2), rng=rng, draws=draws, level=level)[0]


def overlap_beyond_other_maps(
    maps: ArrayLike, others: ArrayLike, regions: ArrayLike, *, level: float = 0.95
) -> Estimate:
    """Estimate IoU with a region of the right map minus IoU of other maps of the same image.

    Masks are as large as the region. Interval and p are by Student's t over n images.

    Parameters
    ----------
    maps
        (n, H, W).
    others
        (others, n, H, W).
    regions
        (n, H, W).
    """
    right = iou(masks_as_large(maps, regions), regions)
    wrong = [iou(masks_as_large(other, regions), regions) for other in np.asarray(others)]
    return student_mean(right - np.mean(wrong, axis=0), level, null=0.0)
