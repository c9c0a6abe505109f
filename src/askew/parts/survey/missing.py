"""Whether pictures are missing more often in some sets than in others, as when a safety checker hides one group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from askew.models.manifest import INITIAL
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.stats.contingency import ChiSquare, chi_square
from askew.stats.intervals import benjamini_hochberg
from askew.types import Missing, record

DECISIVE = 0.05
"""The p about which more permutations are drawn."""


@record
class Gone:
    """How many pictures are missing, of how many that were planned."""

    missing: int
    planned: int

    @classmethod
    def of(cls, pictures: Sequence[object]) -> Gone:
        """Of pictures, those that are `Missing`."""
        return cls(sum(isinstance(one, Missing) for one in pictures), len(pictures))


@record
class MissingPictures:
    """By value of an axis how many pictures are missing, and Pearson's chi-squared test of whether their rate differs.

    The test of (values) x (missing, made) is by permutation, with `draws`, where counts are small. q by
    Benjamini-Hochberg over all entries of a run.
    """

    prompt: str | None
    axis: str
    counts: Mapping[str, Gone]
    chi2: float
    dof: int
    p: float
    draws: int
    cramers_v: float
    q: float


U = TypeVar("U", bound=MissingPictures)


def missing_pictures(sets: Mapping[str, Sequence[ObservedSet]], scoring: Scoring) -> tuple[MissingPictures, ...]:
    """Per prompt and axis, the initial set beside those of the axis."""
    counted = [
        ({"prompt": prompt, "axis": axis}, {one.prompt.value or INITIAL: Gone.of(one.pictures) for one in found})
        for prompt, some in sets.items()
        for axis, found in _by_axis(some).items()
    ]
    return uneven(MissingPictures, counted, scoring)


def uneven(
    kind: type[U], counted: Sequence[tuple[Mapping[str, str | None], Mapping[str, Gone]]], scoring: Scoring
) -> tuple[U, ...]:
    """A test per table of what is missing by value, one family of q-values.

    Each table comes with those fields of `kind` that say what it is about, in the order in which they name its random
    draws. Tables without a missing picture, or without any other, are left out.
    """
    tested = []
    for about, counts in counted:
        planned = {value: one for value, one in counts.items() if one.planned}
        missing = sum(one.missing for one in planned.values())
        if len(planned) < 2 or not 0 < missing < sum(one.planned for one in planned.values()):
            continue
        table = [[one.missing, one.planned - one.missing] for one in planned.values()]
        rng = scoring.rng(*map(str, about.values()), "missing pictures")
        test = chi_square(table, rng=rng, threshold=DECISIVE)
        assert isinstance(test, ChiSquare)  # some pictures are missing, some are not
        tested.append(
            kind(**about, counts=planned, chi2=test.statistic, dof=test.dof, p=test.p,  # type: ignore[arg-type]
                 draws=test.draws or 0, cramers_v=test.cramers_v, q=test.p)
        )  # fmt: skip
    qs = benjamini_hochberg(np.array([one.p for one in tested]))
    return tuple(replace(one, q=float(q)) for one, q in zip(tested, qs, strict=True))


def _by_axis(sets: Sequence[ObservedSet]) -> dict[str, list[ObservedSet]]:
    found: dict[str, list[ObservedSet]] = {}
    initial = [one for one in sets if one.prompt.axis is None]
    for one in sets:
        if (axis := one.prompt.axis) is not None:
            found.setdefault(axis, [*initial]).append(one)
    return found
