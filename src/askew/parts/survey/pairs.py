"""Pair the labels of images that have the same seed in two runs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.parts.survey.observed import Answer, ObservedSet
from askew.plan import AxisPlan
from askew.stats.paired_sets import PairedSets
from askew.types import Missing, Picture

SetPair = tuple[ObservedSet, ObservedSet]
"""An image set of the second run, and the corresponding image set of the first run."""


def paired_labels(sets: SetPair, axis: AxisPlan, instrument: str) -> PairedSets | None:
    """Pair the labels of two sets on an axis by seed; return None if a set has no label.

    Parameters
    ----------
    sets
        An image set of the second run, and the corresponding image set of the first run.
    axis
        The axis.
    instrument
        Instrument that labeled both sets.
    """
    labels = [observed.values[instrument][axis.name] for observed in sets]
    labeled = [is_labeled(of_set) for of_set in labels]
    if not all(mask.any() for mask in labeled):
        return None
    return paired_rows(sets, [indicators(of_set, axis) for of_set in labels], labeled)


def is_labeled(labels: Sequence[Answer]) -> NDArray[np.bool_]:
    """Return a mask of shape (images,) that marks the images with a label."""
    return np.array([not isinstance(label, Missing) for label in labels], dtype=bool)


def indicators(labels: Sequence[Answer], axis: AxisPlan) -> NDArray[np.float64]:
    """Return each image's label as a one-hot row, in an array of shape (labeled images, values)."""
    places = [axis.values.index(label) for label in labels if not isinstance(label, Missing)]
    return np.eye(len(axis.values))[places]


def paired_rows(
    sets: SetPair, rows: Sequence[ArrayLike], is_present: Sequence[NDArray[np.bool_]]
) -> PairedSets:
    """Pair the rows of two image sets by seed.

    `rows` has a row only for images that are marked as present.
    """
    seeds = []
    for observed, mask in zip(sets, is_present, strict=True):
        pictures = [
            picture for picture, present in zip(observed.pictures, mask, strict=True) if present
        ]
        seeds.append([_seed(picture) for picture in pictures])
    return PairedSets.of(rows[0], rows[1], *seeds)


def _seed(picture: Picture | Missing) -> int | None:
    return picture.seed if isinstance(picture, Picture) else None
