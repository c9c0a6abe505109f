"""Measure the tests of changes of associations with the number of noise samples.

    python -m benchmarks.calibration_samples [repeats]

Each image has an error for five classes of either set: the association of its group, a part that
belongs to the image, and noise. The model chooses by the smaller error, as in `askew classify`.
Without a change, fewer and more samples have noise of the same size, so the associations are equal.
Three quarters of its variance are shared, as for nested samples. With a change, more samples have a
tenth of the variance.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from askew.stats.classification import differential_change, pair_decisions, rate_change
from askew.types import Estimate

Floats = NDArray[np.float64]
Decisions = tuple[Floats, Floats]
"""Decisions with more and with fewer samples."""

PAIRS = list(product(range(5), range(5, 10)))
NOISE = 2.0
SHARED = 0.75
SIZES = ((12, 12), (24, 24), (48, 48), (12, 48), (48, 12))
TRUTH_IMAGES = 100_000
DRAWS = 500


@dataclass(frozen=True, slots=True)
class World:
    """Errors of a group.

    Attributes
    ----------
    effect
        Half of the mean difference of the errors of the two sets of classes.
    changes
        Whether more samples have less noise.
    """

    effect: float
    changes: bool

    def decisions(self, images: int, rng: np.random.Generator) -> Decisions:
        """Draw the decisions about images with more and with fewer samples, (images, pairs)."""
        sides = np.repeat([-1.0, 1.0], 5)
        fixed = self.effect * sides + rng.normal(size=(images, 10))
        shared, few, many = (NOISE * rng.normal(size=(images, 10)) for _ in range(3))
        fewer = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * few
        more = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * many
        if self.changes:
            more = np.sqrt(0.1) * fewer
        after, before = (pair_decisions((fixed + e)[:, :, None], PAIRS) for e in (more, fewer))
        return after, before

    def truth(self) -> float:
        """Return the change of the association in many images."""
        after, before = self.decisions(TRUTH_IMAGES, np.random.default_rng(1))
        return float(after.mean() - before.mean()) if self.changes else 0.0


def tallied(estimate: Callable[[int], Estimate], truth: float, repeats: int) -> str:
    """Return the cells of a case: truth, coverage, width, and the share of p below .05."""
    estimates = [estimate(seed) for seed in range(repeats)]
    covered = [low <= truth <= high for low, high in map(_ends, estimates)]
    widths = [high - low for low, high in map(_ends, estimates)]
    significant = [(each.p or 0.0) < 0.05 for each in estimates]
    return f"{truth:+.3f} | {np.mean(covered):.3f} | {np.mean(widths):.3f} | {np.mean(significant):.3f}"


def _ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def association_row(effect: float, changes: bool, images: int, repeats: int) -> str:
    """Return the row of the change of an association."""
    world = World(effect, changes)

    def estimate(seed: int) -> Estimate:
        rng = np.random.default_rng([seed, images])
        return rate_change(*world.decisions(images, rng), rng=rng, draws=DRAWS)

    name = "change" if changes else "no change"
    return f"| {name} | {effect:+.1f} | {images} | {tallied(estimate, world.truth(), repeats)} |"


def differential_row(
    effects: tuple[float, float], changes: bool, images: tuple[int, int], repeats: int
) -> str:
    """Return the row of the change of the difference of two groups."""
    worlds = [World(effect, changes) for effect in effects]
    truth = worlds[0].truth() - worlds[1].truth()

    def estimate(seed: int) -> Estimate:
        rng = np.random.default_rng([seed, *images])
        x, y = (world.decisions(n, rng) for world, n in zip(worlds, images, strict=True))
        return differential_change(x, y, rng=rng, draws=DRAWS)

    name = "change" if changes else "no change"
    groups = f"{effects[0]:+.1f}; {effects[1]:+.1f} | {images[0]}; {images[1]}"
    return f"| {name} | {groups} | {tallied(estimate, truth, repeats)} |"


def tables(repeats: int) -> Iterator[str]:
    """Yield the lines of both tables."""
    columns = (
        "truth | coverage | width | p < .05 |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    )
    yield f"| association of a group | effect | images | {columns}"
    for effect, changes, images in product((0.0, 0.5, 1.5), (False, True), (12, 24, 48)):
        if effect or not changes:
            yield association_row(effect, changes, images, repeats)
    yield f"\n| difference of two groups | effects | images | {columns}"
    for effects, size in product(((0.0, 0.0), (0.5, -0.5), (1.5, 0.0)), SIZES):
        yield differential_row(effects, changes=False, images=size, repeats=repeats)
    for effects, size in product(((0.5, 0.5), (0.3, -0.3)), SIZES):
        yield differential_row(effects, changes=True, images=size, repeats=repeats)


def main() -> None:
    """Print the tables."""
    for line in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print(line, flush=True)


if __name__ == "__main__":
    main()
