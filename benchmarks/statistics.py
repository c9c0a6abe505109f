"""Compare the time of `associations` with a plain loop over bootstrap draws, for an axis.

    python -m benchmarks.statistics [--draws 1000]

The loop does less: for each draw it resamples images by index and computes the K scores and MAD
once. `associations` also inverts the tests that give its intervals, and draws the null. The script
prints the ratio loop / vectorized, and the time of eight axes (six counterfactuals, 48 images, 60
concepts).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from askew.stats.association_intervals import associations

PICTURES = 48
CONCEPTS = 60
COUNTERFACTUALS = 6


def loop(
    initial: list[list[int]], sets: list[list[list[int]]], draws: int, rng: np.random.Generator
) -> list[float]:
    """Return MAD of every draw, computed image by image and concept by concept."""
    results = []
    for _ in range(draws):
        base = resampled(initial, rng)
        scores = [overlap(base, resampled(other, rng)) for other in sets]
        mean = sum(scores) / len(scores)
        results.append(sum(abs(score - mean) for score in scores) / len(scores))
    return results


def resampled(pictures: list[list[int]], rng: np.random.Generator) -> list[float]:
    """Return mean concept counts of resampled images."""
    chosen = [pictures[i] for i in rng.integers(len(pictures), size=len(pictures))]
    return [sum(column) / len(chosen) for column in zip(*chosen, strict=True)]


def overlap(w: list[float], v: list[float]) -> float:
    """Return the sum of minima over the sum of maxima of two histograms."""
    pairs = list(zip(w, v, strict=True))
    return sum(min(pair) for pair in pairs) / sum(max(pair) for pair in pairs)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall time and CPU time; on a busy machine only CPU time is meaningful."""
    wall = time.perf_counter()
    cpu = time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    shape = (COUNTERFACTUALS + 1, PICTURES, CONCEPTS)
    initial, *sets = (rng.random(shape) < rng.random(CONCEPTS) / 2).astype(int)

    plain = seconds(lambda: loop(initial.tolist(), [s.tolist() for s in sets], draws, rng))
    vectorized = seconds(lambda: associations(initial, sets, rng=rng, draws=draws))
    for clock, before, after in zip(("wall", "CPU"), plain, vectorized, strict=True):
        print(
            f"{clock}: loop {before:.2f} s, vectorized {after:.2f} s per axis, "
            f"ratio {before / after:.1f}, eight axes {8 * after:.1f} s"
        )


if __name__ == "__main__":
    main()
