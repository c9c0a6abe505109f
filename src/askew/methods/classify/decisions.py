"""Decide between classes by their denoising errors, for each group and for pooled groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.plan import GENDER
from askew.prompts.given import stated_value
from askew.stats import classification as stats

Decisions = NDArray[np.float64]
"""Array of shape (images, pairs): 1 for a pair's first class, 0 for its second, NaN if missing."""


@dataclass(frozen=True, slots=True)
class ClassDecisions:
    """Decisions between classes.

    Attributes
    ----------
    readings : ErrorsOfClasses
        Denoising errors on which the decisions are based.
    decisions : mapping of str to Decisions
        Decisions keyed by group. The decisions pooled over all groups of the same gender come last.
    pooled : mapping of str to sequence of str
        Names of the members of each pooled group.
    """

    readings: ErrorsOfClasses
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: ErrorsOfClasses, pairs: Sequence[tuple[str, str]]) -> Self:
        """Compute the decisions between the two classes of each pair."""
        place = {word: number for number, word in enumerate(readings.classes)}
        places = [(place[a], place[b]) for a, b in pairs]
        decisions = {
            group: stats.pair_decisions(errors, places) for group, errors in readings.errors.items()
        }
        pooled = _groups_by_gender(decisions)
        together = {}
        for name, groups in pooled.items():
            together[name] = np.concatenate([decisions[group] for group in groups])
        return cls(readings=readings, decisions=decisions | together, pooled=pooled)

    @property
    def compared_groups(self) -> list[tuple[str, str]]:
        """All pairs of groups, followed by all pairs of pooled groups."""
        return [*combinations(self.readings.errors, 2), *combinations(self.pooled, 2)]

    @property
    def of_groups(self) -> dict[str, Decisions]:
        """Decisions keyed by group, excluding the pooled groups."""
        return {group: self.decisions[group] for group in self.readings.errors}


def _groups_by_gender(groups: Iterable[str]) -> dict[str, list[str]]:
    """Return the groups pooled by gender; empty unless both pools have at least two groups."""
    by_gender: dict[str, list[str]] = {}
    for group in groups:
        gender = stated_value(group, GENDER)
        if gender:
            by_gender.setdefault(f"all {gender}", []).append(group)
    several = all(len(members) > 1 for members in by_gender.values())
    return by_gender if len(by_gender) == 2 and several else {}


@dataclass(frozen=True, slots=True)
class Hits:
    """Correctness of the model's decision about each image.

    Attributes
    ----------
    samples : int
        Number of noise samples.
    of_groups : mapping of str to Decisions or None
        For each image of a group, 1 if it is assigned the group's true class, 0 if not, and NaN if
        it is missing. Shape (images, 1). None if the group has no true class.
    """

    samples: int
    of_groups: Mapping[str, Decisions | None]

    @classmethod
    def of(cls, errors: ErrorsOfClasses, true_classes: Mapping[str, str]) -> Self:
        """Check, for each group, which images are assigned their true class.

        Parameters
        ----------
        errors : ErrorsOfClasses
            Denoising errors of the classes for which accuracy is measured.
        true_classes : mapping of str to str
            True class, keyed by group.
        """
        hits: dict[str, Decisions | None] = {}
        for group, of_group in errors.errors.items():
            hits[group] = None
            if group in true_classes:
                hits[group] = stats.hits(of_group, errors.classes.index(true_classes[group]))
        return cls(samples=errors.samples, of_groups=hits)
