"""Power and false positives of the statement that refusals differ between groups.

python -m benchmarks.refusals --runs 1000
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from askew.findings import PictureSet
from askew.run.refusals import refusal_warnings
from askew.types import Missing, Picture

CASES = ((0.0, 0.3), (0.05, 0.3), (0.3, 0.3), (0.0, 0.0, 0.0, 0.3), (0.2, 0.2, 0.2, 0.2))
"""Planted refusal rates of the groups of an axis."""


def image_set(value: str, refused: int, images: int) -> PictureSet:
    """Return the images of a group, of which some are refused."""
    outcomes: list[Picture | Missing] = [Missing("refused", "no")] * refused
    outcomes += [Picture(f"{value} {k}", "", "a nurse", k) for k in range(images - refused)]
    return PictureSet.of("a nurse", outcomes, "group", value, f"a {value} nurse")


def stated_share(rates: Sequence[float], images: int, runs: int, seed: int = 0) -> float:
    """Return the share of simulated runs in which a difference is stated.

    Parameters
    ----------
    rates
        Refusal rate of each group.
    images
        Images of each group.
    runs
        Number of simulated runs.
    seed
        Seed of the simulation.
    """
    rng = np.random.default_rng(seed)
    stated = 0
    for _ in range(runs):
        sets = [
            image_set(f"value{k}", int(rng.binomial(images, rate)), images)
            for k, rate in enumerate(rates)
        ]
        stated += bool(refusal_warnings(sets))
    return stated / runs


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    for images in (24, 48):
        for rates in CASES:
            print(f"{images} images, rates {rates}: {stated_share(rates, images, runs):.3f}")


if __name__ == "__main__":
    main()
