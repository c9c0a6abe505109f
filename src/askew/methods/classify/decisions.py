"""Errors of classes in pictures of social groups, what is asked of them, and the decisions that follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from askew.prompts.groups import stated_value
from askew.stats.classification import pair_decisions

DENOISING = "denoising"
GENDER = "gender"

Decisions = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Readings:
    """One classifier's errors with one number of noise samples: by group (pictures, classes, samples).

    `samples` is None for a classifier that takes none. Smaller errors fit better.
    """

    classifier: str
    samples: int | None
    classes: tuple[str, ...]
    errors: Mapping[str, NDArray[np.float32]]

    @property
    def names(self) -> tuple[str, int | None]:
        """What says in an entry whose numbers these are: the classifier and its samples."""
        return self.classifier, self.samples


@dataclass(frozen=True, slots=True)
class Question:
    """Which classes are held against which, and what is right.

    targets  the two target sets
    truth    the true class by group
    bias     the planted bias of a studio model
    """

    targets: Mapping[str, Sequence[str]]
    truth: Mapping[str, str] = field(default_factory=dict)
    bias: float | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every class of the first set with every one of the second."""
        first, second = self.targets.values()
        return list(product(first, second))


@dataclass(frozen=True, slots=True)
class Decided:
    """Readings with their decisions (pictures, pairs) by group; groups of one gender also pooled."""

    readings: Readings
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: Readings, pairs: Sequence[tuple[str, str]]) -> Decided:
        """The decisions between these classes."""
        at = {word: place for place, word in enumerate(readings.classes)}
        places = [(at[a], at[b]) for a, b in pairs]
        own = {group: pair_decisions(errors, places) for group, errors in readings.errors.items()}
        pooled = _pooled(readings.errors)
        together = {name: np.concatenate([own[group] for group in groups]) for name, groups in pooled.items()}
        return cls(readings, own | together, pooled)

    @property
    def group_pairs(self) -> list[tuple[str, str]]:
        """Every two groups, and the pooled ones."""
        return [*combinations(self.readings.errors, 2), *combinations(self.pooled, 2)]


def fewest_and_most(decided: Sequence[Decided]) -> tuple[Decided, Decided] | None:
    """The decisions with the fewest and with the most noise samples; None where there is one number of them."""
    sampled = [one for one in decided if one.readings.samples is not None]
    return (sampled[0], sampled[-1]) if len(sampled) > 1 else None


def true_classes(groups: Iterable[str], classes: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The right class of each group: as given, else the one class whose gender is the group's. Others are left out."""
    genders = {word: stated_value(word, GENDER) for word in classes}
    found = {}
    for group in groups:
        own = stated_value(group, GENDER)
        fitting = [word for word, gender in genders.items() if gender is not None and gender == own]
        if group in given:
            found[group] = given[group]
        elif len(fitting) == 1:
            found[group] = fitting[0]
    return found


def _pooled(groups: Iterable[str]) -> dict[str, list[str]]:
    """Groups that say the same gender, under one name: only where there are several of each of two genders."""
    genders: dict[str, list[str]] = {}
    for group in groups:
        gender = stated_value(group, GENDER)
        if gender is not None:
            genders.setdefault(f"all {gender}", []).append(group)
    return genders if len(genders) == 2 and all(len(some) > 1 for some in genders.values()) else {}
