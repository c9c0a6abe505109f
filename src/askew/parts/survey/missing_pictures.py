"""Test whether images are missing more often in some sets than in others.

For example, a safety checker may block the images of one group. The shares in the remaining images
are then biased.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self, TypeVar

import numpy as np

from askew.models.manifest import INITIAL
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.stats.contingency import ChiSquare, chi_square
from askew.stats.intervals import benjamini_hochberg
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Missing, is_copy, record


@record
class MissingCount:
    """Numbers of missing and planned images."""

    missing: int
    planned: int

    @classmethod
    def of(cls, pictures: Sequence[object]) -> Self:
        """Count the missing and the planned images in a sequence, leaving out repeated images."""
        distinct = [picture for picture in pictures if not is_copy(picture)]
        missing = sum(isinstance(picture, Missing) for picture in distinct)
        return cls(missing=missing, planned=len(distinct))


@record
class MissingPictures:
    """Pearson's chi-squared test of whether the share of missing images differs between sets.

    Attributes
    ----------
    prompt : str or None
        Prompt of the sets.
    axis : str
        Axis whose values distinguish the sets.
    counts : mapping of value to MissingCount
        Missing and planned images of each set.
    chi2, dof, p, cramers_v : float
        Result of the test. If expected counts are small, the p-value is computed from permutations.
    draws : int
        Number of permutations.
    q : float
        q-value, corrected over all entries of a run (Benjamini-Hochberg).
    """

    prompt: str | None
    axis: str
    counts: Mapping[str, MissingCount]
    chi2: float
    dof: int
    p: float
    draws: int
    cramers_v: float
    q: float


U = TypeVar("U", bound=MissingPictures)
CountsOfSets = tuple[Mapping[str, str | None], Mapping[str, MissingCount]]
"""Table of counts, and the fields that identify the table.

The order of the fields affects random draws.
"""


def missing_pictures(
    sets: Mapping[str, Sequence[ObservedSet]], scoring: Scoring
) -> tuple[MissingPictures, ...]:
    """Compare the baseline set of each prompt with the image sets of each of its axes."""
    tables: list[CountsOfSets] = []
    for prompt, axis, members in sets_by_axis(sets):
        counts = {value: MissingCount.of(observed.pictures) for value, observed in members.items()}
        tables.append(({"prompt": prompt, "axis": axis}, counts))
    return uneven(MissingPictures, tables, scoring)


def sets_by_axis(
    sets: Mapping[str, Sequence[ObservedSet]],
) -> Iterator[tuple[str, str, dict[str, ObservedSet]]]:
    """Yield a table for each prompt and axis, with the baseline set and the axis's image sets.

    Parameters
    ----------
    sets
        Image sets, keyed by prompt.
    """
    for prompt, observed_sets in sets.items():
        axes = [observed.prompt.axis for observed in observed_sets if observed.prompt.axis]
        for axis in dict.fromkeys(axes):
            members = {
                observed.prompt.value or INITIAL: observed
                for observed in observed_sets
                if observed.prompt.axis in (None, axis)
            }
            yield prompt, axis, members


def uneven(kind: type[U], tables: Sequence[CountsOfSets], scoring: Scoring) -> tuple[U, ...]:
    """Test each table of missing images, with q-values corrected over all tables.

    Parameters
    ----------
    kind
        Record of the results.
    tables
        Tables of counts, and the fields of `kind` that identify them. A table is left out if none
        or all of its images are missing.
    scoring
        Seed of the permutations.
    """
    tested = [
        _tested(kind, identifiers, counts, scoring)
        for identifiers, counts in tables
        if _can_differ(counts)
    ]
    q_values = benjamini_hochberg(np.array([entry.p for entry in tested]))
    return tuple(replace(entry, q=float(q)) for entry, q in zip(tested, q_values, strict=True))


def _can_differ(counts: Mapping[str, MissingCount]) -> bool:
    """Check whether a table has at least two sets, one missing image and one existing image."""
    planned = [count for count in counts.values() if count.planned]
    missing = sum(count.missing for count in planned)
    return len(planned) > 1 and 0 < missing < sum(count.planned for count in planned)


def _tested(
    kind: type[U],
    identifiers: Mapping[str, str | None],
    counts: Mapping[str, MissingCount],
    scoring: Scoring,
) -> U:
    planned = {value: count for value, count in counts.items() if count.planned}
    table = [[count.missing, count.planned - count.missing] for count in planned.values()]
    rng = scoring.rng(*map(str, identifiers.values()), "missing pictures")
    test = chi_square(table, rng=rng, threshold=SIGNIFICANCE_LEVEL)
    assert isinstance(test, ChiSquare)  # some images are missing and some are present
    return kind(
        **identifiers,  # type: ignore[arg-type]
        counts=planned,
        chi2=test.statistic,
        dof=test.dof,
        p=test.p,
        draws=test.draws or 0,
        cramers_v=test.cramers_v,
        q=test.p,
    )
