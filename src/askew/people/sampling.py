"""Images that people label: strata by the labels of instruments, and a random sample of each.

Instruments are wrong most often where they disagree, so that such strata are sampled more densely. An
axis is sampled independently of other axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from askew.errors import UsageError
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
"""Assumed share of correct labels of a single instrument, whose accuracy is not known."""

ACCURACIES = (0.6, 0.95)
"""Range of assumed accuracies."""


@dataclass(frozen=True)
class AxisSample:
    """Sample of the images on an axis.

    Attributes
    ----------
    axis
        The axis.
    strata
        Images by stratum: the labels of all instruments, joined.
    labels
        Number of images to label, by stratum.
    accuracy
        Assumed accuracy of the instruments.
    half_width
        Expected half-width of the shares in the images of the run.
    chosen
        Ids of the chosen images.
    """

    axis: StudyAxis
    strata: Mapping[str, Sequence[FrameEntry]]
    labels: Mapping[str, int]
    accuracy: float
    half_width: float
    chosen: tuple[str, ...]

    @property
    def images(self) -> int:
        """Number of images from which the sample is drawn."""
        return sum(map(len, self.strata.values()))


def sample_axis(
    axis: StudyAxis,
    frame: Sequence[FrameEntry],
    rng: np.random.Generator,
    *,
    precision: float | None = None,
    images: int | None = None,
    level: float = 0.95,
) -> AxisSample:
    """Draw the images of an axis that people label.

    Parameters
    ----------
    axis
        The axis.
    frame
        All images.
    rng
        Random generator for the sample.
    precision
        Half-width that the shares in these images are to reach.
    images
        Number of images to label, instead of a precision.
    level
        Level of the intervals.
    """
    strata = dict(sorted(grouped(frame, lambda entry: stratum_of(entry, axis.name)).items()))
    if not strata:
        raise UsageError("the run has no images to label")
    accuracy = _accuracy(frame, axis)
    sizes = [len(members) for members in strata.values()]
    shares = expected_shares(_codes(strata, axis), len(axis.values), accuracy)
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
    """Return the name of the stratum of an image: its labels by all instruments."""
    return " | ".join(entry.labels.get(axis, {}).values())


def with_strata(frame: Sequence[FrameEntry], axes: Sequence[str]) -> list[FrameEntry]:
    """Return the images with the names of their strata on some axes."""
    entries = []
    for entry in frame:
        strata = {axis: stratum_of(entry, axis) for axis in axes}
        entries.append(replace(entry, strata=strata))
    return entries


def _codes(strata: Mapping[str, Sequence[FrameEntry]], axis: StudyAxis) -> NDArray[np.int64]:
    """Return the labels of each stratum as indexes of values (strata, instruments)."""
    rows = []
    for members in strata.values():
        labels = list(members[0].labels.get(axis.name, {}).values())
        rows.append([_place(text, axis) for text in labels])
    return np.asarray(rows).reshape(len(rows), -1)


def _place(label: str, axis: StudyAxis) -> int:
    return axis.values.index(label) if label in axis.values else -1


def _accuracy(frame: Sequence[FrameEntry], axis: StudyAxis) -> float:
    """Return the accuracy that the agreement of the instruments suggests."""
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
