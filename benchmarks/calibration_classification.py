"""How often intervals of associations hold the truth: Wilson's at the effective size, and the
bootstrap over pictures.

    python -m benchmarks.calibration_classification [--repeats 400] [--draws 500] [--write
    docs/reference/downstream.md]

Every picture has a chance of its own to be decided for the first class (beta-distributed around the
truth, by the correlation of its decisions), and so many decisions. The differential is of two
groups of so many pictures each. --write puts the tables between the page's markers `intervals`.
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
    """Decisions (pictures, PAIRS) with this share in the population."""
    size = (1 - correlation) / correlation
    chances = rng.beta(share * size, (1 - share) * size, pictures)
    return (rng.random((pictures, PAIRS)) < chances[:, None]).astype(float)


def bootstrapped(decisions: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draws of the share, over pictures."""
    rows = decisions.mean(axis=1)
    return np.asarray(rows.mean() + bootstrap_errors(rows[:, None], draws, rng)[:, 0])


class Tally:
    """How often one way's intervals hold the truth, and how wide they are."""

    def __init__(self) -> None:
        self._hits: list[bool] = []
        self._widths: list[float] = []

    def add(self, ends: Ends, truth: float) -> None:
        """One interval."""
        low, high = ends
        self._hits.append(low - 1e-9 <= truth <= high + 1e-9)
        self._widths.append(high - low)

    def cells(self) -> str:
        """Coverage and mean width."""
        return f"{np.mean(self._hits):.3f} | {np.mean(self._widths):.3f}"


def one_group(share: float, correlation: float, pictures: int, options: argparse.Namespace) -> str:
    """A line on an association."""
    rng = np.random.default_rng([7, pictures, int(1000 * share), int(100 * correlation)])
    ours = Tally()
    bootstrap = Tally()
    for _ in range(options.repeats):
        decisions = drawn(share, correlation, pictures, rng)
        result = association(decisions, rng=rng, draws=1)
        ours.add((result.low or 0.0, result.high or 0.0), share)
        bootstrap.add(
            percentile_interval(bootstrapped(decisions, options.draws, rng), LEVEL), share
        )
    return f"| {share} | {correlation} | {pictures} | {ours.cells()} | {bootstrap.cells()} |"


def two_groups(
    shares: tuple[float, float], correlation: float, pictures: int, options: argparse.Namespace
) -> str:
    """A line on a differential association."""
    rng = np.random.default_rng([11, pictures, int(1000 * shares[0]), int(100 * correlation)])
    ours = Tally()
    bootstrap = Tally()
    for _ in range(options.repeats):
        sides = [drawn(share, correlation, pictures, rng) for share in shares]
        result = differential(sides[0], sides[1], rng=rng, draws=1)
        ours.add((result.low or 0.0, result.high or 0.0), shares[0] - shares[1])
        resampled = [bootstrapped(side, options.draws, rng) for side in sides]
        bootstrap.add(
            percentile_interval(resampled[0] - resampled[1], LEVEL), shares[0] - shares[1]
        )
    return f"| {shares[0]} − {shares[1]} | {correlation} | {pictures} | {ours.cells()} | {bootstrap.cells()} |"


def tables(options: argparse.Namespace) -> Iterator[str]:
    """Both tables."""
    yield (
        f"`python -m benchmarks.calibration_classification --repeats {options.repeats} --draws {options.draws}`: "
        f"{PAIRS} decisions per image; {options.repeats} runs per row, so a coverage near .95 is known to about "
        f"{2 * np.sqrt(0.95 * 0.05 / options.repeats):.2f}."
    )
    methods = ("Wilson, effective size", "bootstrap over images")
    columns = " | ".join(f"{way}: coverage | width" for way in methods)
    head = (f"correlation | images | {columns} |", "---: | ---: | ---: | ---: | ---: | ---: |")
    yield from ("", f"| association | {head[0]}", f"| ---: | {head[1]}")
    for pictures, share, correlation in product(SIZES, SHARES, CORRELATIONS):
        yield one_group(share, correlation, pictures, options)
    yield from (
        "",
        f"| difference | {head[0].replace('Wilson', 'MOVER of Wilson')}",
        f"| ---: | {head[1]}",
    )
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
