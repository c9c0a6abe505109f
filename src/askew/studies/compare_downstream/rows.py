"""Pair two runs' measurements of the same images, and estimate differences between the runs."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.findings import E
from askew.parts.scoring import Scoring, or_missing
from askew.stats import run_differences as stats
from askew.stats.clustered import clustered_rate, rate_gap
from askew.types import Missing

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ImageRows:
    """Numbers that describe the input images of a run, with one row per image.

    Attributes
    ----------
    keys
        Key of each image. The same image has the same key in every run.
    rows
        Array of shape (images, columns), with a row of numbers for each key. For a rate, the
        numbers must be 0, 1 or NaN. For a mean, any numbers are allowed.
    """

    keys: tuple[Hashable, ...]
    rows: Floats

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Concatenate the rows of several groups. An image that is in two groups appears twice."""
        listed = list(parts)
        keys = [(place, key) for place, part in enumerate(listed) for key in part.keys]
        return cls(keys=tuple(keys), rows=np.concatenate([part.rows for part in listed]))

    def ordered(self, keys: Iterable[Hashable]) -> Floats:
        """Return the rows of the images with these keys, in the order of the keys."""
        place = {key: number for number, key in enumerate(self.keys)}
        return self.rows[[place[key] for key in keys]]


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Rows of two runs.

    The rows of both runs either describe the same images in the same order, or are independent.

    Attributes
    ----------
    first, second
        Rows of the first and the second run.
    pairs
        Number of images by which the rows are paired; 0 if the rows of the runs are independent.
    """

    first: Floats
    second: Floats
    pairs: int

    @classmethod
    def of(cls, first: ImageRows, second: ImageRows) -> Self:
        """Pair the rows by image if the input images of one run include those of the other run."""
        common = [key for key in first.keys if key in set(second.keys)]
        if common and len(common) == min(len(first.keys), len(second.keys)):
            return cls(
                first=first.ordered(common), second=second.ordered(common), pairs=len(common)
            )
        return cls(first=first.rows, second=second.rows, pairs=0)


@dataclass(frozen=True, slots=True)
class ScoreOfRuns:
    """A score in two runs, and the difference between the runs."""

    of_runs: tuple[E, E]
    difference: E
    pairs: int


NO_IMAGES = Missing("error", "one of the runs has no input images of this group")


def rate_score(matched: MatchedRows, scoring: Scoring, *names: str) -> ScoreOfRuns:
    """Estimate a rate in each of two runs, and the difference between the runs.

    Parameters
    ----------
    matched
        Rows of both runs.
    scoring
        Settings for the intervals.
    names
        Names that determine the seed of the random draws.
    """
    if not len(matched.first) or not len(matched.second):
        return ScoreOfRuns(of_runs=(NO_IMAGES, NO_IMAGES), difference=NO_IMAGES, pairs=0)
    first, second = (
        or_missing(clustered_rate, rows, level=scoring.level)
        for rows in (matched.first, matched.second)
    )
    difference = or_missing(
        stats.rate_difference,
        matched.second,
        matched.first,
        paired=matched.pairs > 0,
        rng=scoring.rng("comparison of runs", *names),
        **scoring.interval_options,
    )
    return ScoreOfRuns(of_runs=(first, second), difference=difference, pairs=matched.pairs)


def contrast_score(x: MatchedRows, y: MatchedRows, scoring: Scoring, *names: str) -> ScoreOfRuns:
    """Estimate the rate of group x minus the rate of group y in each run, and compare the runs.

    Parameters
    ----------
    x, y
        Rows of both runs that describe group x, and rows of both runs that describe group y.
    scoring
        Settings for the intervals.
    names
        Names that determine the seed of the random draws.
    """
    if not all(len(rows) for rows in (x.first, x.second, y.first, y.second)):
        return ScoreOfRuns(of_runs=(NO_IMAGES, NO_IMAGES), difference=NO_IMAGES, pairs=0)
    first, second = (
        or_missing(rate_gap, of_x, of_y, scoring.level, "MOVER, Wilson, effective size")
        for of_x, of_y in ((x.first, y.first), (x.second, y.second))
    )
    paired = x.pairs > 0 and y.pairs > 0
    difference = or_missing(
        stats.contrast_difference,
        (x.second, x.first),
        (y.second, y.first),
        paired=paired,
        rng=scoring.rng("comparison of runs", *names),
        **scoring.interval_options,
    )
    pairs = x.pairs + y.pairs if paired else 0
    return ScoreOfRuns(of_runs=(first, second), difference=difference, pairs=pairs)
