"""Labels that a study in two stages needs with a single instrument, on planted truth.

    python -m benchmarks.study_labels_pilot [--studies 150] [--precision 0.05] [--pilot 30]

`askew study new label` does not know how often an instrument errs. In two stages, a pilot of a few labels
per label of the instrument measures it, and the second stage adds the labels that are missing. This
script measures how many labels that saves, how often the half-width is reached, and whether the interval
still holds the truth. askew does not offer this design.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.stats.strata import StratifiedLabels, smallest_sample
from benchmarks.study_labels import RATER_ERROR, RATERS, StudyOutcome

CAUTION = 0.5
"""Standard errors by which the error rate of the pilot is increased."""

WORLDS = ((1000, 0.3, 0.9), (1000, 0.5, 0.9), (1000, 0.3, 0.8), (2000, 0.3, 0.95))
"""Number of images, share, and accuracy of the instrument."""


@dataclass(frozen=True)
class TwoStages:
    """Design of a study.

    Attributes
    ----------
    pilot
        Labels of the pilot for each label of the instrument.
    precision
        Half-width to reach.
    """

    pilot: int
    precision: float


def expected(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of the values by label of the instrument, with the rarer value increased."""
    labeled = counts.sum(axis=1)
    rarer = (counts.min(axis=1) + 0.5) / (labeled + 1)
    cautious = np.minimum(rarer + CAUTION * np.sqrt(rarer * (1 - rarer) / labeled), 0.5)
    return np.stack([1 - cautious, cautious], axis=1)


def one_study(
    world: tuple[int, float, float], design: TwoStages, rng: np.random.Generator
) -> StudyOutcome:
    """Simulate a study of two stages."""
    images, share, accuracy = world
    truth = (rng.random(images) < share).astype(np.int64)
    labels = np.where(rng.random(images) < accuracy, truth, 1 - truth)
    strata = [rng.permutation(np.flatnonzero(labels == value)) for value in (0, 1)]
    wrong = (rng.random((images, RATERS)) < RATER_ERROR).sum(axis=1) > RATERS / 2
    majorities = truth ^ wrong
    sizes = np.array([len(members) for members in strata])

    def count(labeled: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = []
        for members, number in zip(strata, labeled.tolist(), strict=True):
            rows.append(np.bincount(majorities[members[:number]], minlength=2))
        return np.array(rows)

    pilot = np.minimum(design.pilot, sizes)
    needed = smallest_sample(sizes, expected(count(pilot)), design.precision)
    labeled = np.maximum(pilot, needed)
    counts = np.column_stack([count(labeled), np.zeros(2)])
    estimate = StratifiedLabels.of(sizes, counts).estimates()[1]
    assert estimate.low is not None
    assert estimate.high is not None
    return StudyOutcome(
        labeled=int(labeled.sum()),
        half_width=(estimate.high - estimate.low) / 2,
        holds=bool(estimate.low <= truth.mean() <= estimate.high),
    )


def main() -> None:
    """Print a line for each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=150)
    parser.add_argument("--precision", type=float, default=0.05)
    parser.add_argument("--pilot", type=int, default=30)
    options = parser.parse_args()
    design = TwoStages(pilot=options.pilot, precision=options.precision)
    rng = np.random.default_rng(1)
    print("images share accuracy | labels | reached covered")
    for world in WORLDS:
        outcomes = [one_study(world, design, rng) for _ in range(options.studies)]
        labels = np.mean([outcome.labeled for outcome in outcomes])
        reached = np.mean([outcome.half_width <= options.precision for outcome in outcomes])
        holds = np.mean([outcome.holds for outcome in outcomes])
        print(*world, f"| {labels:.0f} | {reached:.1%} {holds:.1%}", flush=True)


if __name__ == "__main__":
    main()
