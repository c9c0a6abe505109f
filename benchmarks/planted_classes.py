"""Associations that the studio planted between groups and occupations, and their recovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.parts.scoring import Scoring, or_missing
from askew.studio.caption import parse
from askew.studio.planted import joint
from askew.types import Estimate, Missing
from benchmarks.captions import phrase
from benchmarks.recovery import recovered, spearman_crossed

Floats = NDArray[np.float64]
Decisions = Floats


@dataclass(frozen=True, slots=True)
class PlantedAssociation:
    """Planted differential association of two groups, by pair of classes that the studio knows.

    Attributes
    ----------
    first, second
        Classes of the first and of the second target set.
    rows, columns
        Places of the known classes in the first and in the second target set.
    table
        Probability of the first class for the first group minus that for the second group:
        (rows, columns).
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    rows: list[int]
    columns: list[int]
    table: Floats

    @classmethod
    def of(
        cls, targets: Mapping[str, Sequence[str]], x: str, y: str, bias: float
    ) -> PlantedAssociation | None:
        """Return the association of groups x and y.

        Parameters
        ----------
        targets
            The two target sets.
        x, y
            The groups.
        bias
            Bias of the planted world.

        Returns
        -------
        PlantedAssociation or None
            None if the studio does not know the words of a group, or none of the classes.
        """
        first, second = (tuple(words) for words in targets.values())
        whole = np.empty((len(first), len(second)))
        for i, a in enumerate(first):
            whole[i] = [_planted_difference((x, y), a, b, bias) for b in second]
        known = ~np.isnan(whole)
        rows = np.flatnonzero(known.any(axis=1)).tolist()
        columns = np.flatnonzero(known.any(axis=0)).tolist()
        if not rows:
            return None
        return cls(
            first=first,
            second=second,
            rows=rows,
            columns=columns,
            table=whole[np.ix_(rows, columns)],
        )

    def chosen(self, decisions: Decisions) -> Decisions:
        """Return decisions (images, pairs) about known pairs, in the order of the flat table."""
        cube = decisions.reshape(len(decisions), len(self.first), len(self.second))
        return np.asarray(cube[:, self.rows][:, :, self.columns].reshape(len(decisions), -1))

    def measured(self, x: Decisions, y: Decisions) -> Floats:
        """Return the measured differences: (rows, columns).

        Raises
        ------
        NotEnoughData
            If a pair was never decided for a group.
        """
        sides = [self.chosen(decisions) for decisions in (x, y)]
        if any(np.isnan(side).all(axis=0).any() for side in sides):
            raise NotEnoughData("a pair of classes fits all images of a group equally well")
        means = [np.nanmean(side, axis=0) for side in sides]
        return np.asarray((means[0] - means[1]).reshape(self.table.shape))


def measure_recovery(
    planted: PlantedAssociation,
    decisions: tuple[Decisions, Decisions],
    rng: np.random.Generator,
    scoring: Scoring,
) -> tuple[Estimate | Missing, Estimate | Missing]:
    """Compare measured with planted differences.

    Returns
    -------
    order
        Rank correlation of measured and planted differences.
    share
        Share of the planted differences that is measured.
    """
    chosen = [planted.chosen(side) for side in decisions]
    options = scoring.interval_options
    share = or_missing(recovered, *chosen, planted.table.ravel(), rng=rng, **options)
    try:
        measured = planted.measured(*decisions)
    except NotEnoughData as error:
        return Missing("not_asked", str(error)), share
    order = or_missing(spearman_crossed, planted.table, measured, rng=rng, **options)
    return order, share


def _planted_difference(groups: tuple[str, str], a: str, b: str, bias: float) -> float:
    """Return the difference of the planted preferences of two groups, or NaN."""
    first, second = (planted_preference(group, a, b, bias) for group in groups)
    if first is None or second is None:
        return np.nan
    return first - second


def planted_preference(group: str, a: str, b: str, bias: float) -> float | None:
    """Return P(a | {a, b}, group) in the planted world if both occupations are equally frequent.

    Parameters
    ----------
    group
        Name of the group.
    a, b
        Occupations.
    bias
        Bias of the planted world.

    Returns
    -------
    float or None
        Probability in [0, 1]. None if the studio does not know the words of the group or of an
        occupation.
    """
    first, second = (_likelihood(group, occupation, bias) for occupation in (a, b))
    if first is None or second is None:
        return None
    return first / (first + second)


@lru_cache(maxsize=4096)
def _likelihood(group: str, occupation: str, bias: float) -> float | None:
    """Return P(attributes of the group | occupation)."""
    prompt = parse(group)
    meant = parse(occupation).occupation
    if not prompt.attributes or prompt.unknown or prompt.occupation or meant is None:
        return None
    names = tuple(prompt.attributes)
    table = joint(phrase("occupation", meant), names, bias)
    return table[tuple(prompt.attributes[name] for name in names)]
