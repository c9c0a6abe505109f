"""Images to find five of the most biased occupations: `python -m benchmarks.halving [SIMULATIONS]`.

Labels of perceived gender are drawn from the planted world for 71 occupations. A search succeeds if
the planted skew of all five prompts is at most .10 below the fifth largest planted skew. The table
compares successive halving (`askew rank --find 5`) with equal numbers of images of all prompts.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from askew.stats.halving import halving_images, halving_rounds
from askew.stats.intervals import Floats
from askew.studio.planted import truth
from askew.studio.scene import OCCUPATIONS
from benchmarks.drawn_scores import portrait
from benchmarks.markdown import table_row

WANTED = 5
TOLERANCE = 0.10
BIASES = (1.0, 0.5)
LAST_IMAGES = (64, 96, 128, 192, 256)
"""Images of a prompt in the last round."""
EQUAL_IMAGES = (48, 72, 96, 122, 160, 200)

Places = NDArray[np.int_]
Search = Callable[[np.random.Generator], Places]


@dataclass(frozen=True, slots=True)
class World:
    """Planted shares of women, by occupation."""

    women: Floats

    @property
    def skews(self) -> Floats:
        """Planted skews."""
        return np.abs(2 * self.women - 1)

    def is_success(self, places: Places) -> bool:
        """Check whether prompts are close to the most biased prompts."""
        fifth = np.sort(self.skews)[-WANTED]
        return bool(self.skews[places].min() >= fifth - TOLERANCE)

    def halved(self, images: int, rng: np.random.Generator) -> Places:
        """Return the prompts that successive halving finds."""
        remaining = np.arange(len(self.women))
        counts = np.zeros(len(self.women))
        before = 0
        for entry in halving_rounds(len(self.women), WANTED, images):
            counts[remaining] += rng.binomial(entry.images - before, self.women[remaining])
            before = entry.images
            skews = np.abs(2 * counts[remaining] / before - 1)
            remaining = remaining[np.argsort(-skews, kind="stable")[: entry.survivors]]
        return remaining

    def by_equal_images(self, images: int, rng: np.random.Generator) -> Places:
        """Return the prompts of the largest skew in equal numbers of images."""
        skews = np.abs(2 * rng.binomial(images, self.women) / images - 1)
        return np.argsort(-skews, kind="stable")[:WANTED]


def planted_world(bias: float) -> World:
    """Return the planted shares of a bias."""
    women = [truth(portrait(name), "gender", bias)["female"] for name in OCCUPATIONS]
    return World(np.array(women))


def success_rate(world: World, search: Search, simulations: int) -> float:
    """Return the share of simulated searches that succeed."""
    rng = np.random.default_rng(0)
    return float(np.mean([world.is_success(search(rng)) for _ in range(simulations)]))


def main() -> None:
    """Print the table."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(table_row("bias", "search", "images of a prompt", "images", "success"))
    print(table_row("---:", "---", "---:", "---:", "---:"))
    for bias in BIASES:
        world = planted_world(bias)
        count = len(world.women)
        for images in LAST_IMAGES:
            total = halving_images(halving_rounds(count, WANTED, images))
            rate = success_rate(world, partial(world.halved, images), simulations)
            print(table_row(f"{bias}", "halving", f"up to {images}", f"{total:,}", f"{rate:.2f}"))
        for images in EQUAL_IMAGES:
            rate = success_rate(world, partial(world.by_equal_images, images), simulations)
            total = images * count
            print(table_row(f"{bias}", "equal", f"{images}", f"{total:,}", f"{rate:.2f}"))


if __name__ == "__main__":
    main()
