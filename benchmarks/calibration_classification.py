"""Measure the coverage of intervals of associations: Wilson at the effective size, and bootstrap.

    python -m benchmarks.calibration_classification [--repeats 400] [--draws 500] [--write
    docs/reference/downstream.md]

Each image has a separate probability that a decision is for the first class. It is beta-distributed
around the truth, by the correlation of the decisions about an image. The differential association
compares two groups with as many images each. --write puts the tables between the page's markers
`intervals`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.stats.classification import association, differential
from askew.stats.intervals import bootstrap_errors, percentile_interval
from benchmarks.marked_page import update

PAIRS = 25
LEVEL = 0.95
SIZES = (12, 24, 48, 256)
SHARES = (0.02, 0.1, 0.3, 0.5)
CORRELATIONS = (0.05, 0.3, 0.8)
TWO_GROUPS = ((0.05, 0.02), (0.3, 0.1), (0.7, 0.3), (0.98, 0.5))

Floats = NDArray[np.float64]
Ends = tuple[float, float]


def drawn(share: float, correlation: float, pictures: int, rng: np.random.Generator) -> Floats:
    """Draw decisions (pictures, PAIRS) with a given share in the population."""
    size = (1 - correlation) / correlation
    chances = rng.beta(share * size, (1 - share) * size, pictures)
    return (rng.random((pictures, PAIRS)) < chances[:, None]).astype(float)


def bootstrapped(decisions: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return bootstrap draws of the share, over images: (draws,)."""
    rows = decisions.mean(axis=1)
    return np.asarray(rows.mean() + bootstrap_errors(rows[:, None], draws, rng)[:, 0])


class Tally:
    """Coverage and widths of the intervals of a method."""

    def __init__(self) -> None:
        self._hits: list[bool] = []
        self._widths: list[float] = []

    def add(self, ends: Ends, truth: float) -> None:
        """Count an interval."""
        low, high = ends
        self._hits.append(low - 1e-9 <= truth <= high + 1e-9)
        self._widths.append(high - low)

    def cells(self) -> str:
        """Return coverage and mean width."""
        return f"{np.mean(self._hits):.3f} | {np.mean(self._widths):.3f}"


def one_group(share: float, correlation: float, pictures: int, options: argparse.Namespace) -> str:
    """Return the row of an association."""
    rng = np.random.default_rng([7, pictures, int(1000 * share), int(100 * correlation)])
    ours = Tally()
    bootstrap = Tally()
    for _ in range(options.repeats):
        decisions = drawn(share, correlation, pictures, rng)
        result = association(decisions, rng=rng, draws=1)
        ours.add((result.low or 0.0, result.high or 0.0), share)
        resampled = bootstrapped(decisions, options.draws, rng)
        bootstrap.add(percentile_interval(resampled, LEVEL), share)
    return f"| {share} | {correlation} | {pictures} | {ours.cells()} | {bootstrap.cells()} |"


def two_groups(
    shares: tuple[float, float], correlation: float, pictures: int, options: argparse.Namespace
) -> str:
    """Return the row of a differential association."""
    rng = np.random.default_rng([11, pictures, int(1000 * shares[0]), int(100 * correlation)])
    ours = Tally()
    bootstrap = Tally()
    truth = shares[0] - shares[1]
    for _ in range(options.repeats):
        sides = [drawn(share, correlation, pictures, rng) for share in shares]
        result = differential(sides[0], sides[1], rng=rng, draws=1)
        ours.add((result.low or 0.0, result.high or 0.0), truth)
        resampled = [bootstrapped(side, options.draws, rng) for side in sides]
        bootstrap.add(percentile_interval(resampled[0] - resampled[1], LEVEL), truth)
    difference = f"{shares[0]} − {shares[1]}"
    cells = f"{ours.cells()} | {bootstrap.cells()}"
    return f"| {difference} | {correlation} | {pictures} | {cells} |"


def tables(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of both tables."""
    repeats = options.repeats
    command = (
        "python -m benchmarks.calibration_classification "
        f"--repeats {repeats} --draws {options.draws}"
    )
    yield (
        f"The command `{command}` simulates {repeats} runs per row, with {PAIRS} decisions per "
        f"image. A coverage near .95 is accurate to about "
        f"±{2 * np.sqrt(0.95 * 0.05 / repeats):.2f}."
    )
    methods = ("Wilson, effective size", "bootstrap over images")
    columns = " | ".join(f"{method}: coverage | width" for method in methods)
    head = f"correlation | images | {columns} |"
    rule = "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    yield from ("", f"| association | {head}", rule)
    for pictures, share, correlation in product(SIZES, SHARES, CORRELATIONS):
        yield one_group(share, correlation, pictures, options)
    yield from ("", f"| difference | {head.replace('Wilson', 'MOVER of Wilson')}", rule)
    for pictures, shares, correlation in product((12, 48), TWO_GROUPS, CORRELATIONS):
        yield two_groups(shares, correlation, pictures, options)


def main() -> None:
    """Print the tables, and write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    text = "\n".join(tables(options))
    print(text)
    if options.write:
        update(options.write, "intervals", [text])


if __name__ == "__main__":
    main()
