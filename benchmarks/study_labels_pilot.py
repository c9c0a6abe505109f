"""Labels that a study in two stages needs with a single instrument, on planted truth.

    python -m benchmarks.study_labels_pilot [--studies 1000] [--pilot 50]

`askew study new label` does not know how often an instrument errs. With `--pilot`, people first label a
few images for each label of the instrument. From their labels, `askew study extend` determines how many
further images the study needs. The table compares the number of labeled images with a plain random
sample that reaches the half-width in as many studies. The last rows contain images without a value, four
values, smaller half-widths and an almost perfect instrument.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.stats.stages import Pilot, StagedLabels, second_stage
from benchmarks.study_labels import RATER_ERROR, StudyOutcome, World, plain_sample

Integers = NDArray[np.int64]

PLAIN_STUDIES = 200
MAJORITY_ERROR = 3 * RATER_ERROR**2 * (1 - RATER_ERROR) + RATER_ERROR**3
"""Probability that two of three raters are wrong."""


@dataclass(frozen=True)
class Design:
    """Design of a study in two stages.

    Attributes
    ----------
    pilot
        Number of images that people label for each label of the instrument.
    precision
        Target half-width.
    without_value
        Share of images for which raters choose no value, such as "I cannot tell".
    values
        Number of values. The first value has the share `1 - share` of the world. The other values
        have equal shares.
    """

    pilot: int
    precision: float = 0.05
    without_value: float = 0.0
    values: int = 2


ROWS: Sequence[tuple[World, Design]] = (
    (World(1000, 0.3, (0.9,)), Design(50)),
    (World(1000, 0.5, (0.9,)), Design(50)),
    (World(1000, 0.1, (0.9,)), Design(50)),
    (World(1000, 0.3, (0.95,)), Design(50)),
    (World(1000, 0.3, (0.8,)), Design(50)),
    (World(1000, 0.5, (0.8,)), Design(50)),
    (World(2000, 0.3, (0.95,)), Design(50)),
    (World(1000, 0.3, (0.9,)), Design(50, without_value=0.1)),
    (World(1000, 0.6, (0.8,)), Design(50, values=4)),
    (World(5000, 0.5, (0.95,)), Design(50, precision=0.03)),
    (World(5000, 0.3, (0.9,)), Design(50, precision=0.02)),
    (World(1000, 0.03, (0.97,)), Design(50)),
)


def other_value(values: Integers, count: int, rng: np.random.Generator) -> Integers:
    """Return a random value for each value, which differs from it."""
    return np.asarray((values + rng.integers(1, count, len(values))) % count)


@dataclass(frozen=True)
class PlantedImages:
    """Images of a study.

    Attributes
    ----------
    truth : array, (images,)
        True value of each image.
    labels : array, (images,)
        Labels from the instrument.
    majorities : array, (images,)
        Values that most raters would choose, or the number of values for images without a value.
    """

    truth: Integers
    labels: Integers
    majorities: Integers

    @classmethod
    def of(cls, world: World, design: Design, rng: np.random.Generator) -> PlantedImages:
        """Draw images."""
        count = design.values
        truth = np.zeros(world.images, dtype=np.int64)
        is_other = rng.random(world.images) < world.share
        truth[is_other] = rng.integers(1, count, int(is_other.sum()))
        is_right = rng.random(world.images) < world.accuracies[0]
        labels = np.where(is_right, truth, other_value(truth, count, rng))
        is_wrong = rng.random(world.images) < MAJORITY_ERROR
        majorities = np.where(is_wrong, other_value(truth, count, rng), truth)
        majorities[rng.random(world.images) < design.without_value] = count
        return cls(truth=truth, labels=labels, majorities=majorities)


def one_study(world: World, design: Design, rng: np.random.Generator) -> StudyOutcome:
    """Simulate a study of both stages."""
    images = PlantedImages.of(world, design, rng)
    places = [np.flatnonzero(images.labels == value) for value in np.unique(images.labels)]
    groups = [images.majorities[rng.permutation(group)] for group in places]
    sizes = np.array([len(group) for group in groups])

    def counts(labeled: Integers) -> Integers:
        rows = []
        for group, number in zip(groups, labeled.tolist(), strict=True):
            rows.append(np.bincount(group[:number], minlength=design.values + 1))
        return np.array(rows)

    first = np.minimum(design.pilot, sizes)
    additional = second_stage(Pilot.of(sizes, counts(first)), design.precision, rng=rng)
    low, high = StagedLabels.of(sizes, counts(first + additional)).interval_ends()
    has_value = images.majorities < design.values
    share = float(np.mean(images.truth[has_value] == design.values - 1))
    return StudyOutcome(
        labeled=int((first + additional).sum()),
        half_width=float((high - low).max() / 2),
        holds=bool(low[-1] <= share <= high[-1]),
    )


def simulate(
    world: World, design: Design, studies: int, rng: np.random.Generator
) -> list[StudyOutcome]:
    """Simulate several studies."""
    return [one_study(world, design, rng) for _ in range(studies)]


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--pilot", type=int, default=50)
    options = parser.parse_args()
    print("images share accuracy precision values none | labels plain ratio | reached covered")
    for world, of_row in ROWS:
        design = replace(of_row, pilot=options.pilot)
        rng = np.random.default_rng(1)
        outcomes = simulate(world, design, options.studies, rng)
        labels = np.mean([outcome.labeled for outcome in outcomes])
        reached = np.mean([outcome.half_width <= design.precision for outcome in outcomes])
        covered = np.mean([outcome.holds for outcome in outcomes])
        plain = plain_sample(world, design.precision, PLAIN_STUDIES, rng)
        # only images with a value count in a plain sample
        plain = round(plain / (1 - design.without_value))
        print(
            f"{world.images} {world.share:.0%} {world.accuracies[0]:.0%} {design.precision} "
            f"{design.values} {design.without_value:.0%} | {labels:.0f} {plain} "
            f"{labels / plain:.2f} | {reached:.1%} {covered:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
