"""The edits of one group's pictures towards some words at a strength, and what is measured of every pair of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.measure.skin_change import SkinChange
from askew.methods.edit.reading import EditedGroup, Readings
from askew.run.base import Answer, Outcome
from askew.types import Missing, Picture

Floats = NDArray[np.float64]
"""(sources, words), NaN where one of a pair is missing."""

DIFFERENCES = {"ita": ("after", "before"), "beyond_exposure": ("lightness", "background")}
"""Measures of skin that are one field of `SkinChange` less another."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A group with some of its edits."""

    group: EditedGroup
    words: tuple[str, ...]
    strength: float

    @property
    def edits(self) -> list[Outcome]:
        """All of them, word by word."""
        return [one for word in self.words for one in self.group.edits[word, self.strength]]

    def pictures(self) -> Iterator[tuple[Picture, Picture]]:
        """Every picture with each of its edits, where both are there."""
        for word in self.words:
            for a, b in zip(self.group.sources, self.group.edits[word, self.strength], strict=True):
                if isinstance(a, Picture) and isinstance(b, Picture):
                    yield a, b

    def pairs(self, measure: Callable[[Picture, Picture], float]) -> Floats:
        """A measure of every picture and each of its edits."""
        columns = [
            [
                measure(a, b) if isinstance(a, Picture) and isinstance(b, Picture) else np.nan
                for a, b in zip(self.group.sources, self.group.edits[word, self.strength], strict=True)
            ]
            for word in self.words
        ]
        return np.array(columns, dtype=float).T

    def changes(self, seen: Mapping[str, Answer]) -> Floats:
        """Whether the value of an axis changed: 1 or 0."""
        return self.pairs(lambda a, b: differ(seen.get(a.id), seen.get(b.id)))

    def skin(self, readings: Readings, measure: str) -> Floats:
        """A measure of the change of skin: a field of `SkinChange`, or one of `DIFFERENCES`."""
        return self.pairs(lambda a, b: _of_skin(readings.skin.get((a.id, b.id)), measure))


def differ(before: Answer | None, after: Answer | None) -> float:
    """Whether two answers differ, NaN where there is none."""
    return float(before != after) if isinstance(before, str) and isinstance(after, str) else np.nan


def average(values: Floats) -> float | None:
    """The mean of what is known; None where nothing is."""
    return None if np.isnan(values).all() else float(np.nanmean(values))


def _of_skin(change: SkinChange | None, measure: str) -> float:
    if change is None:
        return np.nan
    numbers = [getattr(change, part) for part in DIFFERENCES.get(measure, (measure,))]
    if any(isinstance(one, Missing) for one in numbers):
        return np.nan
    return float(numbers[0] - numbers[1]) if len(numbers) == 2 else float(numbers[0])
