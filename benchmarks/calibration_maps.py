"""Measure the coverage of the intervals of map overlap, on maps whose overlap is planted.

    python -m benchmarks.calibration_maps [--repeats 400]

Prints the tables of docs/reference/calibration-maps.md.
"""

from __future__ import annotations

import argparse

import numpy as np

from askew.stats.overlap import entanglement, iou_matrix, mask
from askew.types import Estimate, Missing
from benchmarks.planted_overlap import planted_maps, planted_truth

OVERLAPS = (0.0, 0.1, 0.2, 0.3, None, 0.5, 0.7, 0.9, 1.0)
PICTURES = (6, 12, 24, 48, 100)
SIDE = 32


def simulate(
    overlap: float | None, spread: float, pictures: int, rng: np.random.Generator, draws: int
) -> tuple[Estimate, Estimate | Missing]:
    """mIoU and corrected mIoU of one run: maps of so many pictures, whose planted overlap varies by
    `spread`.
    """
    if overlap is None or spread == 0:
        a, b = planted_maps(pictures, overlap, rng, SIDE)
    else:
        each = np.clip(rng.normal(overlap, spread, pictures), 0, 1)
        a, b = (
            np.concatenate(maps)
            for maps in zip(*(planted_maps(1, x, rng, SIDE) for x in each), strict=True)
        )
    return entanglement(iou_matrix(mask(a), mask(b)), rng=rng, draws=draws)


def truth(overlap: float | None, spread: float) -> tuple[float, float]:
    """mIoU and corrected mIoU of endless pictures."""
    if overlap is not None and spread == 0:
        return overlap / (2 - overlap), planted_truth(overlap)
    miou, _ = simulate(overlap, spread, 1500, np.random.default_rng(99), 1)
    return miou.value, 0.0 if overlap is None else float(miou.corrected or 0.0)


def row(overlap: float | None, spread: float, pictures: int, repeats: int, draws: int) -> str:
    """One line of a table."""
    rng = np.random.default_rng([5, pictures, int(100 * (overlap or 9)), int(100 * spread)])
    runs = [simulate(overlap, spread, pictures, rng, draws) for _ in range(repeats)]
    plain, corrected = truth(overlap, spread)
    mious = [miou for miou, _ in runs]
    beyonds = [beyond for _, beyond in runs if not isinstance(beyond, Missing)]
    covered = np.mean([(e.low or 0) - 1e-9 <= corrected <= (e.high or 0) + 1e-9 for e in beyonds])
    mean = np.mean([e.value for e in beyonds])
    raw = np.mean([(e.low or 0) - 0.006 <= plain <= (e.high or 0) + 0.006 for e in mious])
    beyond = np.mean([(e.p or 1) < 0.05 for e in mious])
    width = np.mean([(e.high or 0) - (e.low or 0) for e in beyonds])
    chance = np.mean([e.null or 0 for e in mious])
    name = (
        "chance" if overlap is None else f"{overlap:.1f}" + (f" ± {spread:.1f}" if spread else "")
    )
    figures = (
        f"{plain:.3f}",
        f"{chance:.3f}",
        f"{corrected:+.3f}",
        f"{mean:+.3f}",
        *(f"{x:.3f}" for x in (raw, covered, width, beyond)),
    )
    return f"| {name} | {pictures} | {' | '.join(figures)} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--draws", type=int, default=200)
    choice = parser.parse_args()
    columns = (
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
    head = f"| {' | '.join(columns)} |"
    rule = "|---|---|---|---|---|---|---|---|---|---|"
    for spread in (0.0, 0.2):
        print(head, rule, sep="\n")
        for pictures in PICTURES if spread == 0 else (12, 48):
            for overlap in OVERLAPS if pictures in (12, 48) else (0.0, None, 0.7):
                if not (spread and overlap is None):
                    print(row(overlap, spread, pictures, choice.repeats, choice.draws), flush=True)
        print()


if __name__ == "__main__":
    main()
