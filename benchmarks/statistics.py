"""Time of `associations` against a plain loop over bootstrap draws, one axis, same sizes.

    python -m benchmarks.statistics [--draws 1000]

The loop does less: for each draw it resamples pictures by index and computes the K scores and MAD
once. `associations` also inverts the tests that give its intervals, and draws the null. Prints the
ratio loop / vectorised, and the time of eight axes (six counterfactuals, 48 pictures, 60 concepts).
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
    """MAD of every draw, one picture and one concept at a time."""
    results = []
    for _ in range(draws):
        base = resampled(initial, rng)
        scores = [overlap(base, resampled(other, rng)) for other in sets]
        mean = sum(scores) / len(scores)
        results.append(sum(abs(score - mean) for score in scores) / len(scores))
    return results


def resampled(pictures: list[list[int]], rng: np.random.Generator) -> list[float]:
    chosen = [pictures[i] for i in rng.integers(len(pictures), size=len(pictures))]
    return [sum(column) / len(chosen) for column in zip(*chosen, strict=True)]


def overlap(w: list[float], v: list[float]) -> float:
    pairs = list(zip(w, v, strict=True))
    return sum(min(pair) for pair in pairs) / sum(max(pair) for pair in pairs)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU time; on a busy machine only the second is telling."""
    wall = time.perf_counter()
    cpu = time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    shape = (COUNTERFACTUALS + 1, PICTURES, CONCEPTS)
    initial, *sets = (rng.random(shape) < rng.random(CONCEPTS) / 2).astype(int)

    plain = seconds(lambda: loop(initial.tolist(), [s.tolist() for s in sets], draws, rng))
    vectorised = seconds(lambda: associations(initial, sets, rng=rng, draws=draws))
    for clock, before, after in zip(("wall", "CPU"), plain, vectorised, strict=True):
        print(
            f"{clock}: loop {before:.2f} s, vectorised {after:.2f} s an axis, ratio {before / after:.1f}, ",
            end="",
        )
        print(f"eight axes {8 * after:.1f} s")


if __name__ == "__main__":
    main()
