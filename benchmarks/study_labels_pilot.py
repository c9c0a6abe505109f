"""Labels that a study in two stages needs with a single instrument, on planted truth.

    python -m benchmarks.study_labels_pilot [--studies 4000] [--precision 0.05] [--pilot 50]

`askew study new label` does not know how often an instrument errs. In two stages, a pilot of a few labels
per label of the instrument measures it, and the second stage adds the labels that are missing. This
script measures how many labels that saves, how often the half-width is reached, and whether the interval
still contains the truth. askew does not offer this design.

If the pilot contains few errors by chance, a second stage that relies on it is too small, and an interval
with a normal quantile is too short. `plain` is that design. `careful` plans the second stage with upper
limits of the error rates and a larger quantile. Its interval has Jeffreys counts and a t-quantile, with
degrees of freedom (Satterthwaite) from the number of errors in each stratum.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.stats.intervals import Floats
from askew.stats.shares import wilson
from benchmarks.study_labels import RATER_ERROR, World, plain_sample

Integers = NDArray[np.int64]

WORLDS = (
    World(1000, 0.3, (0.9,)),
    World(1000, 0.5, (0.9,)),
    World(1000, 0.1, (0.9,)),
    World(1000, 0.3, (0.95,)),
    World(1000, 0.3, (0.8,)),
    World(1000, 0.5, (0.8,)),
    World(2000, 0.3, (0.95,)),
)
PLAIN_STUDIES = 200
QUANTILE = 1.96
MAJORITY_ERROR = 3 * RATER_ERROR**2 * (1 - RATER_ERROR) + RATER_ERROR**3
"""Probability that two of three raters are wrong."""


@dataclass(frozen=True)
class Design:
    """Design of a study in two stages.

    Attributes
    ----------
    caution
        Confidence level of the upper limit of an error rate with which the second stage is planned.
    quantile
        Quantile with which the second stage is planned.
    pseudo_count
        Number added to both counts of a stratum for the variance.
    has_t
        True if the interval uses a t-quantile.
    """

    caution: float
    quantile: float
    pseudo_count: float
    has_t: bool


DESIGNS = {
    "plain": Design(caution=0.6, quantile=QUANTILE, pseudo_count=0.25, has_t=False),
    "careful": Design(caution=0.75, quantile=2.05, pseudo_count=0.5, has_t=True),
}


@dataclass(frozen=True)
class Studies:
    """Simulated studies of the two strata of an instrument's labels.

    Attributes
    ----------
    sizes, positive : array, (studies, 2)
        Images of each stratum, and images that most raters would label with the second value.
    truth : array, (studies,)
        True share of the second value.
    """

    sizes: Integers
    positive: Integers
    truth: Floats

    @classmethod
    def of(cls, world: World, studies: int, rng: np.random.Generator) -> Studies:
        """Draw true values, labels of the instrument, and majorities of the raters."""
        second = rng.binomial(world.images, world.share, studies)
        first = world.images - second
        hits = rng.binomial(second, world.accuracies[0])
        false_alarms = rng.binomial(first, 1 - world.accuracies[0])
        of_second = np.stack([second - hits, hits], axis=1)
        of_first = np.stack([first - false_alarms, false_alarms], axis=1)
        unchanged = rng.binomial(of_second, 1 - MAJORITY_ERROR)
        return cls(
            sizes=of_second + of_first,
            positive=unchanged + rng.binomial(of_first, MAJORITY_ERROR),
            truth=second / world.images,
        )


def second_stage(sizes: Integers, rates: Floats, precision: float, quantile: float) -> Integers:
    """Return Neyman's numbers of labels (studies, 2) for a half-width."""
    images = sizes.sum(axis=1)
    spread = sizes / images[:, None] * np.sqrt(rates * (1 - rates))
    unsampled = (sizes / images[:, None] * rates * (1 - rates)).sum(axis=1) / images
    total = spread.sum(axis=1) ** 2 / ((precision / quantile) ** 2 + unsampled)
    shares = spread / spread.sum(axis=1, keepdims=True)
    return np.asarray(np.ceil(total[:, None] * shares), dtype=np.int64)


def intervals(
    sizes: Integers, positive: Integers, labeled: Integers, design: Design
) -> tuple[Floats, Floats]:
    """Return Wilson intervals at the sample size for which a share has the stratified variance."""
    weights = sizes / sizes.sum(axis=1, keepdims=True)
    share = (weights * positive / labeled).sum(axis=1)
    smoothed = (positive + design.pseudo_count) / (labeled + 2 * design.pseudo_count)
    factors = weights**2 * (1 - labeled / sizes) / (labeled - 1)
    parts = factors * smoothed * (1 - smoothed)
    variance = parts.sum(axis=1)
    level = np.full(len(share), 0.95)
    if design.has_t:
        errors = np.minimum(positive, labeled - positive)
        freedom = variance**2 / (parts**2 / (2 * errors + 1)).sum(axis=1)
        quantile = scipy.stats.t.isf(0.025, freedom)
        level = 1 - 2 * scipy.stats.norm.sf(quantile)
    center = (weights * smoothed).sum(axis=1)
    size = np.minimum(center * (1 - center), share * (1 - share)) / variance
    ends = [wilson(s, n, float(c)) for s, n, c in zip(share, size, level, strict=True)]
    low, high = np.array(ends, dtype=float).reshape(-1, 2).T
    return low, high


def simulate(
    studies: Studies, design: Design, pilot: int, precision: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the mean labels, and how often the half-width is reached and the truth contained."""
    sizes = studies.sizes
    first = np.minimum(pilot, sizes)
    seen = rng.hypergeometric(studies.positive, sizes - studies.positive, first)
    rarer = np.minimum(seen, first - seen)
    limits = scipy.stats.beta.ppf(design.caution, rarer + 0.5, first - rarer + 0.5)
    needed = second_stage(sizes, np.minimum(limits, 0.5), precision, design.quantile)
    labeled = np.maximum(first, np.minimum(needed, sizes))
    left = studies.positive - seen
    more = rng.hypergeometric(left, sizes - first - left, labeled - first)
    low, high = intervals(sizes, seen + more, labeled, design)
    is_reached = (high - low) / 2 <= precision
    is_covered = (low <= studies.truth) & (studies.truth <= high)
    return float(labeled.sum(axis=1).mean()), float(is_reached.mean()), float(is_covered.mean())


def main() -> None:
    """Print a line for each world and design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=4000)
    parser.add_argument("--precision", type=float, default=0.05)
    parser.add_argument("--pilot", type=int, default=50)
    options = parser.parse_args()
    print("design images share accuracy | labels plain ratio | reached covered")
    for world in WORLDS:
        rng = np.random.default_rng(1)
        plain = plain_sample(world, options.precision, PLAIN_STUDIES, rng)
        studies = Studies.of(world, options.studies, rng)
        for name, design in DESIGNS.items():
            labels, reached, covered = simulate(
                studies, design, options.pilot, options.precision, rng
            )
            print(
                f"{name} {world.images} {world.share:.0%} {world.accuracies[0]:.0%} | "
                f"{labels:.0f} {plain} {labels / plain:.2f} | {reached:.1%} {covered:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
