"""Measure how often copies of images make a fair model look biased.

    python -m benchmarks.calibration_copies [REPEATS]

A set of 24 files holds few distinct images of a fair model. The script prints how often Pearson's
test finds bias (p < .05) if each file counts, and if each distinct image counts. The default is
2,000 sets per row. All draws are seeded. The script takes a few seconds.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from askew.run.work import once_each
from askew.stats.goodness_of_fit import reference_test
from askew.types import Picture
from benchmarks.calibration_shares import table
from benchmarks.markdown import numbers

FILES = 24
DISTINCT = (24, 12, 8, 6, 4, 2, 1)
FAIR = (0.5, 0.5)


def rates(distinct: int, repeats: int) -> tuple[float, float]:
    """Return the shares of fair sets with p < .05: by files, and by distinct images."""
    rng = np.random.default_rng(0)
    rejections = [0, 0]
    for _ in range(repeats):
        of_image = rng.integers(len(FAIR), size=distinct)
        files = [Picture(str(number % distinct), "", "p") for number in range(FILES)]
        distinct_pictures = [
            picture for picture in once_each(files) if isinstance(picture, Picture)
        ]
        for place, pictures in enumerate((files, distinct_pictures)):
            counts = Counter(int(of_image[int(picture.id)]) for picture in pictures)
            test = reference_test([counts[value] for value in range(len(FAIR))], FAIR)
            rejections[place] += test.p < 0.05
    return rejections[0] / repeats, rejections[1] / repeats


def rows(repeats: int) -> Iterator[list[str]]:
    """Yield a row for each number of distinct images."""
    for distinct in DISTINCT:
        yield [str(distinct), *numbers(rates(distinct, repeats))]


if __name__ == "__main__":
    table(
        f"Copies among {FILES} files",
        ("distinct images", "p < .05, each file counts", "p < .05, each image counts once"),
        rows(int(sys.argv[1]) if len(sys.argv) > 1 else 2000),
    )
