"""Labels that a study needs for shares of a given half-width, on planted truth.

    python -m benchmarks.study_labels [--studies 200] [--precision 0.05]

Images have planted true values, labels by two instruments that err, and three raters each who err,
too. `askew study new label --precision` chooses the images. The table compares the number of labeled
images with a plain random sample that reaches the half-width in as many studies.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from askew.people.records import FrameEntry, StudyAxis
from askew.people.sampling import AxisSample, sample_axis
from askew.stats.strata import StratifiedLabels

AXIS = StudyAxis("gender", ("male", "female"), "nominal", "?")
RATER_ERROR = 0.05
RATERS = 3
PROMISED = 0.9
"""Share of studies in which the half-width must be reached."""


@dataclass(frozen=True)
class World:
    """Images, and the accuracies of two instruments."""

    images: int
    share: float
    accuracies: tuple[float, ...]


WORLDS = (
    World(1000, 0.5, (0.9, 0.86)),
    World(1000, 0.3, (0.9, 0.86)),
    World(1000, 0.3, (0.95, 0.9)),
    World(2000, 0.3, (0.9, 0.86)),
    World(1000, 0.3, (0.9,)),
)


@dataclass(frozen=True)
class StudyOutcome:
    """Labeled images of a study, its half-width, and whether its interval holds the truth."""

    labeled: int
    half_width: float
    holds: bool


def one_study(world: World, precision: float, rng: np.random.Generator) -> StudyOutcome:
    """Simulate a study."""
    truth = (rng.random(world.images) < world.share).astype(int)
    columns = []
    for accuracy in world.accuracies:
        is_right = rng.random(world.images) < accuracy
        columns.append(np.where(is_right, truth, 1 - truth))
    frame = []
    for number, labels in enumerate(zip(*columns, strict=True)):
        named = {f"vqa{place}": AXIS.values[label] for place, label in enumerate(labels)}
        frame.append(FrameEntry(id=str(number), labels={AXIS.name: named}))
    sample = sample_axis(AXIS, frame, rng, precision=precision)
    estimate = _labels(sample, truth, rng).estimates()[1]
    assert estimate.low is not None
    assert estimate.high is not None
    return StudyOutcome(
        labeled=len(sample.chosen),
        half_width=(estimate.high - estimate.low) / 2,
        holds=bool(estimate.low <= truth.mean() <= estimate.high),
    )


def _labels(sample: AxisSample, truth: np.ndarray, rng: np.random.Generator) -> StratifiedLabels:
    """Return the majorities of the raters by stratum."""
    chosen = set(sample.chosen)
    sizes = []
    counts = np.zeros((len(sample.strata), 3))
    for row, members in enumerate(sample.strata.values()):
        sizes.append(len(members))
        for entry in members:
            if entry.id in chosen:
                wrong = rng.random(RATERS) < RATER_ERROR
                is_flipped = int(wrong.sum() > RATERS / 2)
                counts[row, truth[int(entry.id)] ^ is_flipped] += 1
    return StratifiedLabels.of(sizes, counts)


def plain_sample(world: World, precision: float, studies: int, rng: np.random.Generator) -> int:
    """Return the size of a plain random sample that keeps the same promise."""
    low = 2
    high = world.images
    female = round(world.images * world.share)
    while low < high:
        size = (low + high) // 2
        reached = 0
        for count in rng.hypergeometric(female, world.images - female, size, studies):
            labels = StratifiedLabels.of([world.images], [[size - count, count, 0]])
            estimate = labels.estimates()[1]
            assert estimate.low is not None
            assert estimate.high is not None
            reached += (estimate.high - estimate.low) / 2 <= precision
        if reached / studies >= PROMISED:
            high = size
        else:
            low = size + 1
    return high


def main() -> None:
    """Print a table of all worlds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--precision", type=float, default=0.05)
    options = parser.parse_args()
    print("images share instruments | labels plain ratio | reached covered")
    for world in WORLDS:
        rng = np.random.default_rng(1)
        outcomes = [one_study(world, options.precision, rng) for _ in range(options.studies)]
        labeled = np.mean([outcome.labeled for outcome in outcomes])
        reached = np.mean([outcome.half_width <= options.precision for outcome in outcomes])
        covered = np.mean([outcome.holds for outcome in outcomes])
        plain = plain_sample(world, options.precision, options.studies, rng)
        accuracies = ", ".join(f"{accuracy:.0%}" for accuracy in world.accuracies)
        print(
            f"{world.images} {world.share:.0%} {accuracies} | {labeled:.0f} {plain} "
            f"{labeled / plain:.2f} | {reached:.1%} {covered:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
