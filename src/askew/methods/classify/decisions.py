"""Decisions between classes, based on their denoising errors, for each group and pooled groups."""

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
"""1 if a pair's first class is chosen, 0 if the second, NaN if missing. Shape (images, pairs)."""


@dataclass(frozen=True, slots=True)
class ClassDecisions:
    """Decisions between classes.

    Attributes
    ----------
    readings : ErrorsOfClasses
        The errors from which the decisions follow.
    decisions : mapping of str to Decisions
        Decisions keyed by group, followed by pooled decisions over all groups that share a gender.
    pooled : mapping of str to sequence of str
        Names of the pooled groups, with their members.
    """

    readings: ErrorsOfClasses
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: ErrorsOfClasses, pairs: Sequence[tuple[str, str]]) -> Self:
        """Return the decisions between the classes of each pair."""
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
        """All pairs of groups, then all pairs of pooled groups."""
        return [*combinations(self.readings.errors, 2), *combinations(self.pooled, 2)]

    @property
    def of_groups(self) -> dict[str, Decisions]:
        """The decisions keyed by group, without pooled groups."""
        return {group: self.decisions[group] for group in self.readings.errors}


def _groups_by_gender(groups: Iterable[str]) -> dict[str, list[str]]:
    """Return two pools of groups, one per gender; nothing unless both contain several groups."""
    by_gender: dict[str, list[str]] = {}
    for group in groups:
        gender = stated_value(group, GENDER)
        if gender:
            by_gender.setdefault(f"all {gender}", []).append(group)
    several = all(len(members) > 1 for members in by_gender.values())
    return by_gender if len(by_gender) == 2 and several else {}


@dataclass(frozen=True, slots=True)
class Hits:
    """Correctness of the model's decisions: for each image, 1 if it chooses the group's true class.

    Attributes
    ----------
    samples : int
        Number of noise samples.
    of_groups : mapping of str to Decisions or None
        1, 0 or NaN (missing) for each image of a group, of shape (images, 1). None without a true
        class.
    """

    samples: int
    of_groups: Mapping[str, Decisions | None]

    @classmethod
    def of(cls, errors: ErrorsOfClasses, true_classes: Mapping[str, str]) -> Self:
        """Return, for all groups, which images got their true class.

        Parameters
        ----------
        errors : ErrorsOfClasses
            Denoising errors of the classes whose accuracy is measured.
        true_classes : mapping of str to str
            True class by group.
        """
        hits: dict[str, Decisions | None] = {}
        for group, of_group in errors.errors.items():
            hits[group] = None
            if group in true_classes:
                hits[group] = stats.hits(of_group, errors.classes.index(true_classes[group]))
        return cls(samples=errors.samples, of_groups=hits)
