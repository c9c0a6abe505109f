"""Pilot of a labeling study: the first of two stages.

The pilot contains a fixed number of images for each label that the instrument assigns, or for each
combination of labels if there are several instruments. The samples for different axes and runs are
independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askew.errors import UsageError
from askew.pages.words import plural
from askew.people.records import FrameEntry, StudyAxis
from askew.people.sampling import (
    expected_accuracy,
    label_codes,
    sample_axis,
    stratum_of,
)
from askew.stats.intervals import Floats
from askew.stats.stages import Pilot, second_stage
from askew.stats.strata import expected_shares
from askew.types import grouped


@dataclass(frozen=True)
class PilotForecast:
    """Sizes of the second stage, in images, for hypothetical pilot labels.

    The size depends on the accuracy of the instruments and on the shares of the values. The
    hypothetical instruments are always right, right as often as assumed, or no better than chance.

    Attributes
    ----------
    least, most
        Smallest and largest of these sizes.
    expected
        Size if the instruments have the assumed accuracy.
    """

    least: int
    expected: int
    most: int


@dataclass(frozen=True)
class PilotSample:
    """Pilot for an axis and a run.

    Attributes
    ----------
    axis
        The axis.
    run
        Name of the run if the study has several runs; empty otherwise.
    images
        Number of images in the run.
    strata
        Number of strata. Each combination of labels from the instruments is a stratum.
    chosen
        Ids of the sampled images.
    precision
        Target half-width of the intervals after the second stage.
    accuracy
        Assumed accuracy of the instruments, in [0, 1].
    forecast
        Expected sizes of the second stage.
    one_stage
        Number of images that a study without a pilot needs to reach the same precision.
    """

    axis: StudyAxis
    run: str
    images: int
    strata: int
    chosen: tuple[str, ...]
    precision: float
    accuracy: float
    forecast: PilotForecast
    one_stage: int

    def describe(self, confidence: float) -> str:
        """Return sentences that state the size of the pilot and of the second stage."""
        forecast = self.forecast
        text = (
            f"{sample_name(self.axis, self.run)}: a pilot with {len(self.chosen)} of "
            f"{plural(self.images, 'image')} in {plural(self.strata, 'stratum', 'strata')}. "
            "The second stage adds about "
            f"{forecast.least} to {forecast.most} images for a half-width of {self.precision:g} "
            f"({confidence:.0%} interval), and {forecast.expected} images if instruments are right for "
            f"{self.accuracy:.0%} of the images"
        )
        if self.one_stage < len(self.chosen) + forecast.least:
            text += f". Without --pilot, the study needs only {plural(self.one_stage, 'image')}"
        return text


def sample_pilot(
    axis: StudyAxis,
    frame: Sequence[FrameEntry],
    rng: np.random.Generator,
    *,
    pilot: int,
    precision: float,
    level: float = 0.95,
    run: str = "",
) -> PilotSample:
    """Draw the pilot for an axis and a run, and forecast the second stage.

    Parameters
    ----------
    axis
        The axis.
    frame
        All images of the run, and the labels from the instruments.
    rng
        Random generator for the sample.
    pilot
        Number of images in each stratum.
    precision
        Target half-width of the confidence intervals for the shares in these images.
    level
        Confidence level of the intervals.
    run
        Name of the run if the study has several runs.
    """
    strata = dict(sorted(grouped(frame, lambda entry: stratum_of(entry, axis.name)).items()))
    if not strata:
        raise UsageError("the run has no images to label")
    chosen: list[str] = []
    for members in strata.values():
        chosen += drawn_images(members, pilot, rng)
    accuracy = expected_accuracy(frame, axis)
    plain = sample_axis(axis, frame, np.random.default_rng(0), precision=precision, level=level)
    return PilotSample(
        axis=axis,
        run=run,
        images=len(frame),
        strata=len(strata),
        chosen=tuple(chosen),
        precision=precision,
        accuracy=accuracy,
        forecast=_forecast(axis, strata, accuracy, pilot=pilot, precision=precision, level=level),
        one_stage=len(plain.chosen),
    )


def sample_name(axis: StudyAxis, run: str) -> str:
    """Return a name for the sample of an axis and a run, such as "gender in nurse"."""
    return f"{axis.name} in {run}" if run else axis.name


def drawn_images(members: Sequence[FrameEntry], count: int, rng: np.random.Generator) -> list[str]:
    """Draw images at random, and return their ids in the order of `members`.

    If `count` is larger than the number of images, all images are drawn.
    """
    places = rng.choice(len(members), size=min(count, len(members)), replace=False)
    return [members[place].id for place in sorted(places.tolist())]


def _forecast(
    axis: StudyAxis,
    strata: Mapping[str, Sequence[FrameEntry]],
    accuracy: float,
    *,
    pilot: int,
    precision: float,
    level: float,
) -> PilotForecast:
    """Return the sizes of the second stage for hypothetical pilot labels."""
    values = len(axis.values)
    codes = label_codes(strata, axis)
    sizes = np.array([len(members) for members in strata.values()])
    labeled = np.minimum(sizes, pilot)

    def size(shares: Floats) -> int:
        # these counts need not be whole numbers
        counts = np.column_stack([labeled[:, None] * shares, np.zeros(len(sizes))])
        imagined = Pilot.of(sizes, counts)
        additional = second_stage(imagined, precision, level, rng=np.random.default_rng(0))
        return int(additional.sum())

    half = np.zeros((len(sizes), values))
    half[:, :2] = 0.5
    right = size(expected_shares(codes, values, 1 - 1e-9, doubt=0.0))
    expected = size(expected_shares(codes, values, accuracy))
    by_chance = size(half)
    return PilotForecast(
        least=min(right, expected, by_chance),
        expected=expected,
        most=max(right, expected, by_chance),
    )
