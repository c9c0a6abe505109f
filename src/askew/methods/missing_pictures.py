"""Whether pictures are missing more often in some sets than in others, as when a safety checker hides one group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askew.methods.editing import EditedGroup
from askew.models.manifest import CONDITION, INITIAL
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.stats.contingency import ChiSquare, chi_square
from askew.stats.multiple import benjamini_hochberg
from askew.types import Missing, Picture

DECISIVE = 0.05
"""The p about which more permutations are drawn."""


Counts = Mapping[str, tuple[int, int]]
"""By value: how many pictures are missing, and how many were planned."""


def missing_pictures(sets: Mapping[str, Sequence[ObservedSet]], scoring: Scoring) -> list[dict[str, Any]]:
    """Per prompt and axis, the counts of missing pictures by value, and a test of whether their rate differs.

    Pearson's chi-squared test of (values) x (missing, made), by permutation where counts are small. Axes without a
    missing picture, or without any other, are left out. Conditions, which are no counterfactuals, stand beside the
    initial set. q by Benjamini-Hochberg over all entries.
    """
    return _uneven(
        [
            ({"prompt": prompt, "axis": axis}, {one.prompt.value or INITIAL: _missing(one.pictures) for one in found})
            for prompt, some in sets.items()
            for axis, found in _by_axis(some).items()
        ],
        scoring,
    )


def missing_edits(
    groups: Sequence[EditedGroup], targets: Mapping[str, Sequence[str]], scoring: Scoring
) -> list[dict[str, Any]]:
    """The same over groups: of their sources, and by set of targets of sources of which any edit is missing.

    A source counts once however many of its edits are missing, since these are no independent cases.
    """
    sources = {group.name: _missing(group.sources) for group in groups}
    edits = {name: {group.name: _without_edit(group, words) for group in groups} for name, words in targets.items()}
    counted = [({"prompt": None, "targets": name, "axis": "group"}, counts)
               for name, counts in ((None, sources), *edits.items())]  # fmt: skip
    return _uneven(counted, scoring)


def _uneven(counted: Sequence[tuple[dict[str, Any], Counts]], scoring: Scoring) -> list[dict[str, Any]]:
    planned = [(where, {v: c for v, c in counts.items() if c[1]}) for where, counts in counted]
    entries = [
        where | _test(counts, scoring.rng(*map(str, where.values()), "missing pictures"))
        for where, counts in planned
        if len(counts) > 1 and 0 < sum(m for m, _ in counts.values()) < sum(n for _, n in counts.values())
    ]
    qs = benjamini_hochberg(np.array([entry["p"] for entry in entries]))
    return [entry | {"q": float(q)} for entry, q in zip(entries, qs, strict=True)]


def _by_axis(sets: Sequence[ObservedSet]) -> dict[str, list[ObservedSet]]:
    found: dict[str, list[ObservedSet]] = {}
    for one in sets:
        if one.prompt.axis is not None:
            found.setdefault(one.prompt.axis, []).append(one)
    initial = [one for one in sets if one.prompt.axis is None]
    return {axis: [*initial, *some] if axis == CONDITION else some for axis, some in found.items()}


def _test(counts: Counts, rng: np.random.Generator) -> dict[str, Any]:
    table = [[missing, planned - missing] for missing, planned in counts.values()]
    test = chi_square(table, rng=rng, threshold=DECISIVE)
    assert isinstance(test, ChiSquare)  # some pictures are missing, some are not
    return {
        "counts": {value: {"missing": missing, "planned": planned} for value, (missing, planned) in counts.items()},
        "chi2": test.statistic,
        "dof": test.dof,
        "p": test.p,
        "draws": test.draws or 0,
        "cramers_v": test.cramers_v,
    }


def _missing(pictures: Sequence[Picture | Missing]) -> tuple[int, int]:
    return sum(isinstance(one, Missing) for one in pictures), len(pictures)


def _without_edit(group: EditedGroup, words: Sequence[str]) -> tuple[int, int]:
    there = [k for k, source in enumerate(group.sources) if isinstance(source, Picture)]
    rows = [row for (word, _), row in group.edits.items() if word in words]
    return sum(any(isinstance(row[k], Missing) for row in rows) for k in there), len(there)
