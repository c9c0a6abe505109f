"""Whether maps find regions that are known: by their highest point, and by the place as large as
the region.

Three chances. By area: what a point thrown at random finds. By other pictures: the region of
another picture, which a map finds that only knows where such things usually are. By other maps: a
map of something else in the same picture, which finds whatever draws every map. Arrays of scores
are (pictures, pictures, members): map of the first picture, region of the second, and members such
as timesteps, which are no independent draws.
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
    """Whether the highest point of each map (n, H, W) lies in each region (n, H, W): (n, n). The
    first of equal points.

    Its diagonal is the pointing game (Zhang et al. 2018, "Top-down neural attention by excitation
    backprop").
    """
    x = np.asarray(maps, dtype=float)
    r = np.asarray(regions, dtype=bool)
    points = x.reshape(len(x), -1).argmax(axis=1)
    return np.asarray(r.reshape(len(r), -1)[:, points].T)


def masks_as_large(maps: ArrayLike, regions: ArrayLike) -> Mask:
    """The highest cells of each map (n, H, W), as many as its region (n, H, W) has; all cells equal
    to the last one.
    """
    x = np.asarray(maps, dtype=float)
    sizes = np.asarray(regions, dtype=bool).sum(axis=(-2, -1))
    flat = np.sort(x.reshape(len(x), -1), axis=1)[:, ::-1]
    levels = np.where(sizes > 0, flat[np.arange(len(x)), np.maximum(sizes, 1) - 1], np.inf)
    return np.asarray(x >= levels[:, None, None])


def overlap_with_regions(maps: ArrayLike, regions: ArrayLike) -> Floats:
    """IoU of the mask of each map (n, H, W), as large as its own region, with each region (n, H,
    W): (n, n).

    Raises:
        NotEnoughData: a map whose region is empty against another that is.
    """
    return iou_matrix(masks_as_large(maps, regions), regions)


def pointing_estimate(
    scores: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Share of maps whose highest point lies in their own region; null and p by regions of other
    pictures.

    Interval: Wilson's, for members that come in clusters of one picture.

    Args:
        scores: (n, n, members) from `pointing_matrix`.
    """
    x = np.asarray(scores, dtype=float)
    found, _ = entanglement(x.mean(axis=2), rng=rng, draws=draws, level=level)
    rate = clustered_rate(np.diagonal(x).T, level=level)
    return replace(
        found, low=rate.low, high=rate.high, interval=rate.interval, level=level, n=rate.n
    )


def overlap_estimate(
    scores: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Mean IoU of maps with their own region, interval by t over pictures; null and p by regions of
    other pictures.

    Args:
        scores: (n, n, members) from `overlap_with_regions`.
    """
    x = np.asarray(scores, dtype=float)
    return entanglement(x.mean(axis=2), rng=rng, draws=draws, level=level)[0]


def overlap_beyond_other_maps(
    maps: ArrayLike, others: ArrayLike, regions: ArrayLike, *, level: float = 0.95
) -> Estimate:
    """IoU with its region of the right map less that of the other maps of the same picture, mean
    over n pictures.

    Every mask is as large as the region. Interval and p: Student's t over pictures.

    Args:
        maps: (n, H, W).
        others: (others, n, H, W).
        regions: (n, H, W).
    """
    own = iou(masks_as_large(maps, regions), regions)
    wrong = [iou(masks_as_large(other, regions), regions) for other in np.asarray(others)]
    return student_mean(own - np.mean(wrong, axis=0), level, null=0.0)
