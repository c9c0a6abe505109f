"""Stratified sample of the images that people label.

Images with the same labels form a stratum, and askew draws a random sample from each stratum.
Instruments are most often wrong where they disagree, so askew draws more images from strata on
which the instruments disagree. The samples for different axes are independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from askew.errors import UsageError
from askew.pages.words import plural
from askew.people.records import FrameEntry, StudyAxis
from askew.stats.strata import (
    accuracy_from_agreement,
    expected_shares,
    half_widths,
    sample_of_size,
    smallest_sample,
)
from askew.types import grouped

USUAL_ACCURACY = 0.85
"""Assumed share of correct labels if an instrument's accuracy cannot be estimated."""

ACCURACIES = (0.6, 0.95)
"""Minimum and maximum of the accuracy that askew assumes."""


@dataclass(frozen=True)
class AxisSample:
    """Sample of images that people label on an axis.

    Attributes
    ----------
    axis
        The axis.
    strata
        Images in each stratum, keyed by stratum name. A stratum's name consists of its labels from
        all instruments.
    labels
        Number of images to label in each stratum, keyed by stratum name.
    accuracy
        Assumed accuracy of the instruments, in [0, 1].
    half_width
        Expected half-width of the confidence intervals for shares in the run's images.
    chosen
        Ids of the sampled images.
    """

    axis: StudyAxis
    strata: Mapping[str, Sequence[FrameEntry]]
    labels: Mapping[str, int]
    accuracy: float
    half_width: float
    chosen: tuple[str, ...]

    @property
    def images(self) -> int:
        """Number of images in the sampled population."""
        return sum(map(len, self.strata.values()))

    def describe(self, confidence: float) -> str:
        """Return a sentence that states the size of the sample and the expected precision."""
        return (
            f"{self.axis.name}: {len(self.chosen)} of {plural(self.images, 'image')} in "
            f"{plural(len(self.strata), 'stratum', 'strata')}, expected half-width of shares "
            f"{self.half_width:.3f} ({confidence:.0%} interval, if instruments are right for "
            f"{self.accuracy:.0%} of the images)"
        )


def sample_axis(
    axis: StudyAxis,
    frame: Sequence[FrameEntry],
    rng: np.random.Generator,
    *,
    precision: float | None = None,
    images: int | None = None,
    level: float = 0.95,
) -> AxisSample:
    """Draw a stratified sample of images that people are to label on an axis.

    Parameters
    ----------
    axis
        The axis.
    frame
        All images, and the labels from the instruments.
    rng
        Random generator for the sample.
    precision
        Target half-width of the confidence intervals for the shares in the run's images.
    images
        Number of images to label; None for all images. Not used if `precision` is given.
    level
        Confidence level of the intervals.
    """
    strata = dict(sorted(grouped(frame, lambda entry: stratum_of(entry, axis.name)).items()))
    if not strata:
        raise UsageError("the run has no images to label")
    accuracy = expected_accuracy(frame, axis)
    sizes = [len(members) for members in strata.values()]
    shares = expected_shares(label_codes(strata, axis), len(axis.values), accuracy)
    if precision is not None:
        counts = smallest_sample(sizes, shares, precision, level)
    else:
        counts = sample_of_size(sizes, shares, images or sum(sizes))
    chosen: list[str] = []
    for members, count in zip(strata.values(), counts.tolist(), strict=True):
        places = rng.choice(len(members), size=count, replace=False)
        chosen += [members[place].id for place in sorted(places.tolist())]
    return AxisSample(
        axis=axis,
        strata=strata,
        labels=dict(zip(strata, counts.tolist(), strict=True)),
        accuracy=accuracy,
        half_width=float(half_widths(sizes, shares, counts, level).max()),
        chosen=tuple(chosen),
    )


def stratum_of(entry: FrameEntry, axis: str) -> str:
    """Return the name of an image's stratum: its labels from all instruments, joined."""
    return " | ".join(entry.labels.get(axis, {}).values())


def with_strata(frame: Sequence[FrameEntry], axes: Sequence[str]) -> list[FrameEntry]:
    """Return the images with the names of their strata on the given axes."""
    entries = []
    for entry in frame:
        strata = {axis: stratum_of(entry, axis) for axis in axes}
        entries.append(replace(entry, strata=strata))
    return entries


def label_codes(strata: Mapping[str, Sequence[FrameEntry]], axis: StudyAxis) -> NDArray[np.int64]:
    """Return the labels of each stratum as value indexes, of shape (strata, instruments).

    The index is -1 if a label is not one of the axis's values.
    """
    rows = []
    for members in strata.values():
        labels = list(members[0].labels.get(axis.name, {}).values())
        rows.append([_place(text, axis) for text in labels])
    return np.asarray(rows).reshape(len(rows), -1)


def _place(label: str, axis: StudyAxis) -> int:
    return axis.values.index(label) if label in axis.values else -1


def expected_accuracy(frame: Sequence[FrameEntry], axis: StudyAxis) -> float:
    """Estimate the instruments' accuracy from the rate at which they agree with each other."""
    equal = 0
    compared = 0
    for entry in frame:
        texts = entry.labels.get(axis.name, {}).values()
        for first, second in combinations(texts, 2):
            if first in axis.values and second in axis.values:
                compared += 1
                equal += first == second
    if not compared:
        return USUAL_ACCURACY
    accuracy = accuracy_from_agreement(equal / compared, len(axis.values))
    return min(max(accuracy, ACCURACIES[0]), ACCURACIES[1])
