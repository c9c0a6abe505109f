"""Whether pictures are missing more often in some sets than in others, as when a safety checker hides one group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askew.methods.observed import ObservedSet, tally_missing
from askew.methods.scoring import Scoring
from askew.stats.contingency import ChiSquare, chi_square
from askew.stats.multiple import benjamini_hochberg

DECISIVE = 0.05
"""The p about which more permutations are drawn."""


def missing_pictures(sets: Mapping[str, Sequence[ObservedSet]], scoring: Scoring) -> list[dict[str, Any]]:
    """Per prompt and axis, the counts of missing pictures by value, and a test of whether their rate differs.

    Pearson's chi-squared test of (values) x (missing, made), by permutation where counts are small. Axes without a
    missing picture, or without any other, are left out. q by Benjamini-Hochberg over all entries.
    """
    entries = [
        _entry(prompt, axis, found, scoring)
        for prompt, some in sets.items()
        for axis, found in _by_axis(some).items()
        if 0 < _missing(found) < sum(len(one.pictures) for one in found)
    ]
    qs = benjamini_hochberg(np.array([entry["p"] for entry in entries]))
    return [entry | {"q": float(q)} for entry, q in zip(entries, qs, strict=True)]


def _by_axis(sets: Sequence[ObservedSet]) -> dict[str, list[ObservedSet]]:
    """The sets of each axis that has more than one."""
    found: dict[str, list[ObservedSet]] = {}
    for one in sets:
        if one.prompt.axis is not None and one.pictures:
            found.setdefault(one.prompt.axis, []).append(one)
    return {axis: some for axis, some in found.items() if len(some) > 1}


def _entry(prompt: str, axis: str, sets: Sequence[ObservedSet], scoring: Scoring) -> dict[str, Any]:
    counts = {str(one.prompt.value): (_missing([one]), len(one.pictures)) for one in sets}
    table = [[missing, planned - missing] for missing, planned in counts.values()]
    test = chi_square(table, rng=scoring.rng(prompt, axis, "missing pictures"), threshold=DECISIVE)
    assert isinstance(test, ChiSquare)  # some pictures of the axis are missing, some are not
    return {
        "prompt": prompt,
        "axis": axis,
        "counts": {value: {"missing": missing, "planned": planned} for value, (missing, planned) in counts.items()},
        "chi2": test.statistic,
        "dof": test.dof,
        "p": test.p,
        "draws": test.draws or 0,
        "cramers_v": test.cramers_v,
    }


def _missing(sets: Sequence[ObservedSet]) -> int:
    return sum(sum(tally_missing(one.pictures).values()) for one in sets)
