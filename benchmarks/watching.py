"""False alarms and power of `askew watch`: `python -m benchmarks.watching [TRAININGS]`.

Each simulated training has a first checkpoint and 20 more. Labels of a pair of images with equal
seeds agree as often as the correlation says, besides chance. From the tenth checkpoint on, the
share of the first value of one axis is higher by the change.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from askew.stats.intervals import Floats
from askew.stats.watching import spent_level
from askew.studies.watch.changes import clearest_change

ALPHA = 0.05
CHECKPOINTS = 20
CHANGE_AT = 10
PROMPTS = 2
AXES: Sequence[Sequence[float]] = ((0.5, 0.5), (0.4, 0.35, 0.25), (0.7, 0.3))
"""Shares of the values of each axis at the first checkpoint. The first axis changes."""


@dataclass(frozen=True, slots=True)
class Training:
    """A kind of training.

    Attributes
    ----------
    images
        Images per prompt and checkpoint.
    correlation
        Probability that an image keeps the label of its seed, besides chance.
    change
        Change of the share from the tenth checkpoint on.
    """

    images: int
    correlation: float
    change: float


def labels(
    shares: Floats,
    before: Floats,
    first: np.ndarray,
    correlation: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return labels of a checkpoint for the seeds of the first one, with the given shares."""
    others = np.maximum(shares - correlation * before, 0) / (1 - correlation)
    drawn = rng.choice(len(shares), len(first), p=others)
    return np.where(rng.random(len(first)) < correlation, first, drawn)


def table(first: np.ndarray, now: np.ndarray, values: int) -> np.ndarray:
    """Count pairs by their labels."""
    counts = np.zeros((values, values), int)
    np.add.at(counts, (first, now), 1)
    return counts


def alarms(training: Training, rng: np.random.Generator) -> list[int]:
    """Return the numbers of the checkpoints with an alarm."""
    shares = [np.array(axis) for axis in AXES]
    size = (PROMPTS, training.images)
    first = [rng.choice(len(axis), size, p=axis) for axis in shares]
    numbers = []
    for number in range(1, CHECKPOINTS + 1):
        p_values = []
        for axis, of_axis in zip(shares, first, strict=True):
            is_changed = number >= CHANGE_AT and axis is shares[0]
            present = axis + training.change * np.array([1.0, -1.0]) if is_changed else axis
            tables = {}
            for prompt, before in enumerate(of_axis):
                now = labels(present, axis, before, training.correlation, rng)
                tables[str(prompt)] = table(before, now, len(axis))
            values = [str(value) for value in range(len(axis))]
            p_values.append(clearest_change("axis", values, tables).p)
        if min(p_values) <= spent_level(ALPHA, number) / len(AXES):
            numbers.append(number)
    return numbers


def main() -> None:
    """Print a row per kind of training."""
    trainings = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(
        "| images per prompt | correlation | change | any false alarm | change found by the 20th |"
    )
    print("| --- | --- | --- | --- | --- |")
    for images, correlation, change in product((24, 48, 96), (0.0, 0.2), (0.0, 0.2, 0.3, 0.4)):
        training = Training(images=images, correlation=correlation, change=change)
        rng = np.random.default_rng(7)
        last_equal = CHANGE_AT - 1 if change else CHECKPOINTS
        false_alarms = 0
        detections = 0
        for _ in range(trainings):
            numbers = alarms(training, rng)
            false_alarms += any(number <= last_equal for number in numbers)
            detections += any(number > last_equal for number in numbers)
        power = f"{detections / trainings:.2f}" if change else "–"
        rate = f"{false_alarms / trainings:.3f}"
        print(f"| {images} | {correlation} | {change} | {rate} | {power} |")


if __name__ == "__main__":
    main()
