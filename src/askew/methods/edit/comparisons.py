"""Compare the effects of edits between groups, edit prompts and strengths, and pool groups."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from askew.findings import E, with_q
from askew.methods.edit.cells import EditCell, EditData, EditedGroup
from askew.methods.edit.findings import Contrast, EditCondition, PooledChange
from askew.methods.edit.plan import GENDER
from askew.parts.scoring import or_missing
from askew.prompts.given import stated_value
from askew.stats import clustered

ComparedConditions = tuple[str, EditCondition, EditCondition]
"""Kind of contrast, and the two conditions that it compares."""


def contrasts(data: EditData) -> tuple[Contrast, ...]:
    """Compare groups, sets of edit prompts, and strengths.

    All pairs of groups and all pairs of sets of edit prompts are compared. The lowest strength is
    compared with the highest strength.

    Images with the same number are edited with the same noise in all groups, so the comparisons are
    paired.

    Parameters
    ----------
    data : EditData
        The edits and their measurements.

    Returns
    -------
    tuple of Contrast
        The contrasts. q-values are corrected over all contrasts of the same kind, separately for
        each score.
    """
    entries = tuple(_contrast(data, *compared) for compared in _compared(data))
    return with_q(entries, lambda address: (entries[int(address[0])].contrast, address[1]))


def _compared(data: EditData) -> Iterator[ComparedConditions]:
    """Yield all pairs of groups, and then, for each group, pairs of sets and pairs of strengths."""
    groups = [group.name for group in data.groups]
    strengths = sorted(data.strengths)
    for name, strength in product(data.edit_prompts, strengths):
        for first, second in combinations(groups, 2):
            yield (
                "group",
                EditCondition(group=first, targets=name, strength=strength),
                EditCondition(group=second, targets=name, strength=strength),
            )
    for group in groups:
        yield from _compared_prompts(group, data.edit_prompts, strengths)
        if len(strengths) > 1:
            yield from _compared_strengths(group, data.edit_prompts, strengths)


def _compared_prompts(
    group: str, prompts: Iterable[str], strengths: Sequence[float]
) -> Iterator[ComparedConditions]:
    for strength in strengths:
        for first, second in combinations(prompts, 2):
            yield (
                "targets",
                EditCondition(group=group, targets=first, strength=strength),
                EditCondition(group=group, targets=second, strength=strength),
            )


def _compared_strengths(
    group: str, prompts: Iterable[str], strengths: Sequence[float]
) -> Iterator[ComparedConditions]:
    for name in prompts:
        yield (
            "strength",
            EditCondition(group=group, targets=name, strength=strengths[0]),
            EditCondition(group=group, targets=name, strength=strengths[-1]),
        )


def _contrast(data: EditData, kind: str, first: EditCondition, second: EditCondition) -> Contrast:
    names = []
    for condition in (first, second):
        names += [condition.group, condition.targets, str(condition.strength)]
    # Both scores draw from one generator, in this order.
    rng = data.scoring.rng(kind, *names)
    first_cell = _cell(data, first)
    second_cell = _cell(data, second)
    return Contrast(
        contrast=kind,
        first=first,
        second=second,
        gender_change=or_missing(
            clustered.clustered_rate_difference,
            data.gender_changes([second_cell]),
            data.gender_changes([first_cell]),
            rng=rng,
            **data.scoring.interval_options,
        ),
        ita_change=or_missing(
            clustered.clustered_mean_difference,
            data.tone_changes([second_cell]),
            data.tone_changes([first_cell]),
            rng=rng,
            **data.scoring.interval_options,
        ),
    )


def _cell(data: EditData, condition: EditCondition) -> EditCell:
    group = next(group for group in data.groups if group.name == condition.group)
    words = tuple(data.edit_prompts[condition.targets])
    return EditCell(group=group, words=words, strength=condition.strength)


def pooled(data: EditData) -> tuple[PooledChange, ...]:
    """Pool groups whose names state the same gender or ethnicity ("downstream", figure 3).

    Parameters
    ----------
    data : EditData
        The edits and their measurements.

    Returns
    -------
    tuple of PooledChange
        Pooled changes. Groups are pooled on an axis only if their names state at least two of the
        axis's values.
    """
    entries = []
    for axis in (GENDER, "ethnicity"):
        for value, groups in _groups_by_value(data.groups, axis).items():
            for name, strength in product(data.edit_prompts, sorted(data.strengths)):
                words = tuple(data.edit_prompts[name])
                cells = [EditCell(group=group, words=words, strength=strength) for group in groups]
                rng = data.scoring.rng("pooled", axis, value, name, f"{strength:g}")
                gender_change, ita_change = _changes(data, cells, rng)
                entries.append(
                    PooledChange(
                        axis=axis,
                        value=value,
                        groups=tuple(group.name for group in groups),
                        targets=name,
                        strength=strength,
                        gender_change=gender_change,
                        ita_change=ita_change,
                    )
                )
    return tuple(entries)


def _groups_by_value(groups: Sequence[EditedGroup], axis: str) -> dict[str, list[EditedGroup]]:
    """Return the groups, keyed by the value in their names; empty unless several values occur."""
    by_value: dict[str, list[EditedGroup]] = {}
    for group in groups:
        value = stated_value(group.name, axis)
        if value:
            by_value.setdefault(value, []).append(group)
    return by_value if len(by_value) > 1 else {}


def _changes(data: EditData, cells: Sequence[EditCell], rng: np.random.Generator) -> tuple[E, E]:
    """Estimate the changes in perceived gender and ITA, pooled over all cells."""
    gender_change = or_missing(
        clustered.clustered_rate, data.gender_changes(cells), level=data.scoring.level
    )
    ita_change = or_missing(
        clustered.clustered_mean,
        data.tone_changes(cells),
        rng=rng,
        null=0.0,
        **data.scoring.interval_options,
    )
    return gender_change, ita_change
