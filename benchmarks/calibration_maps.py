"""Measure the coverage of the intervals of map overlap, on maps whose overlap is planted.

    python -m benchmarks.calibration_maps [--repeats 400]

Prints the tables of docs/reference/calibration-maps.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from askew.stats.overlap import entanglement, iou_matrix, mask
from askew.types import Estimate, Missing
from benchmarks.markdown import numbers, table_row
from benchmarks.planted_overlap import planted_maps, planted_truth

OVERLAPS = (0.0, 0.1, 0.2, 0.3, None, 0.5, 0.7, 0.9, 1.0)
"""Planted overlaps; None for the overlap by chance."""

FEW_OVERLAPS = (0.0, None, 0.7)
PICTURES = (6, 12, 24, 48, 100)
ALL_OVERLAPS_AT = (12, 48)
"""Numbers of images with all overlaps, and with overlaps that vary between images."""

SIDE = 32
TOLERANCE = 1e-9
TOLERANCE_OF_RAW = 0.006
"""Largest deviation of mIoU from overlap / (2 - overlap) by whole pixels."""

COLUMNS = (
    "planted",
    "images",
    "mIoU",
    "expected by chance",
    "corrected",
    "mean estimate",
    "coverage, mIoU",
    "coverage, corrected",
    "width",
    "p < .05",
)


@dataclass(frozen=True, slots=True)
class Case:
    """Planted overlap of simulated maps.

    Attributes
    ----------
    overlap
        Mean planted overlap in [0, 1]; None for the overlap by chance.
    spread
        Standard deviation of the overlap between images.
    pictures
        Number of images.
    """

    overlap: float | None
    spread: float
    pictures: int

    @property
    def name(self) -> str:
        """Description of the overlap."""
        if self.overlap is None:
            return "chance"
        spread = f" ± {self.spread:.1f}" if self.spread else ""
        return f"{self.overlap:.1f}{spread}"

    @property
    def seed(self) -> list[int]:
        """Seed of the simulation."""
        overlap = self.overlap or 9
        return [5, self.pictures, int(100 * overlap), int(100 * self.spread)]


def simulate(
    case: Case, rng: np.random.Generator, draws: int
) -> tuple[Estimate, Estimate | Missing]:
    """Return mIoU and corrected mIoU of simulated maps."""
    if case.overlap is None or case.spread == 0:
        a, b = planted_maps(case.pictures, case.overlap, rng, SIDE)
    else:
        overlaps = np.clip(rng.normal(case.overlap, case.spread, case.pictures), 0, 1)
        maps = [planted_maps(1, overlap, rng, SIDE) for overlap in overlaps]
        a, b = (np.concatenate(of_concept) for of_concept in zip(*maps, strict=True))
    return entanglement(iou_matrix(mask(a), mask(b)), rng=rng, draws=draws)


def truth(case: Case) -> tuple[float, float]:
    """Return the true mIoU and corrected mIoU of the population."""
    if case.overlap is not None and case.spread == 0:
        return case.overlap / (2 - case.overlap), planted_truth(case.overlap)
    many = Case(overlap=case.overlap, spread=case.spread, pictures=1500)
    miou, _ = simulate(many, np.random.default_rng(99), 1)
    corrected = 0.0 if case.overlap is None else float(miou.corrected or 0.0)
    return miou.value, corrected


def row(case: Case, repeats: int, draws: int) -> str:
    """Return a row of the table."""
    rng = np.random.default_rng(case.seed)
    runs = [simulate(case, rng, draws) for _ in range(repeats)]
    mious = [miou for miou, _ in runs]
    corrected = [estimate for _, estimate in runs if isinstance(estimate, Estimate)]
    true_miou, true_corrected = truth(case)
    by_chance = np.mean([estimate.null or 0 for estimate in mious])
    mean = np.mean([estimate.value for estimate in corrected])
    rates = (
        _coverage(mious, true_miou, TOLERANCE_OF_RAW),
        _coverage(corrected, true_corrected, TOLERANCE),
        float(np.mean([(estimate.high or 0) - (estimate.low or 0) for estimate in corrected])),
        float(np.mean([(estimate.p or 1) < 0.05 for estimate in mious])),
    )
    signed = numbers([true_corrected, float(mean)], "+.3f")
    truths = numbers([true_miou, float(by_chance)])
    return table_row(case.name, str(case.pictures), *truths, *signed, *numbers(rates))


def _coverage(estimates: Sequence[Estimate], truth: float, tolerance: float) -> float:
    """Return the share of intervals that contain the true value, up to a tolerance."""
    covered = []
    for estimate in estimates:
        low = (estimate.low or 0) - tolerance
        high = (estimate.high or 0) + tolerance
        covered.append(low <= truth <= high)
    return float(np.mean(covered))


def cases(spread: float) -> Iterator[Case]:
    """Yield the cases of a table."""
    for pictures in PICTURES if spread == 0 else ALL_OVERLAPS_AT:
        for overlap in OVERLAPS if pictures in ALL_OVERLAPS_AT else FEW_OVERLAPS:
            if spread == 0 or overlap is not None:
                yield Case(overlap=overlap, spread=spread, pictures=pictures)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    for spread in (0.0, 0.2):
        print(table_row(*COLUMNS))
        print(f"|{'---|' * len(COLUMNS)}")
        for case in cases(spread):
            print(row(case, options.repeats, options.draws), flush=True)
        print()


if __name__ == "__main__":
    main()
