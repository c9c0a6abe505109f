"""Compute differences between runs of `askew edit` from the stored labels of their images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Self

import numpy as np

from askew.errors import UsageError
from askew.findings import E
from askew.methods.edit.findings import EditingResult
from askew.methods.edit.plan import GENDER, EditPlan
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.observed import axis_answers
from askew.plan import AxisPlan
from askew.stats.run_differences import mean_difference
from askew.store.keys import question_hash
from askew.store.store import Store
from askew.studies.compare_downstream.findings import RunPair, TaskDifference
from askew.studies.compare_downstream.rows import (
    ImageRows,
    MatchedRows,
    ScoreOfRuns,
    contrast_score,
    rate_score,
)
from askew.types import Missing

Labels = Mapping[str, Mapping[str, str]]
"""Labels, keyed by axis and then by image id. Images without a label have no entry."""


@dataclass(frozen=True, slots=True)
class EditConditions:
    """Groups, strengths, edit prompts and axes that all compared runs share.

    Attributes
    ----------
    groups, strengths
        Groups of input images, and strengths of the edits.
    edit_prompts
        Sets of edit prompts, keyed by name.
    axes
        Labeled axes. Gender comes first.
    """

    groups: Sequence[str]
    strengths: Sequence[float]
    edit_prompts: Mapping[str, Sequence[str]]
    axes: Sequence[AxisPlan]


def match_edits(runs: Mapping[str, EditingResult]) -> EditConditions:
    """Return the groups, strengths, edit prompts and axes that all runs share.

    Parameters
    ----------
    runs
        Finished runs by name.

    Raises
    ------
    UsageError
        If the runs cannot be compared.
    """
    (first_name, first), *others = runs.items()
    for name, run in others:
        if run.findings.instruments.vqa != first.findings.instruments.vqa:
            raise UsageError(
                f"{name} and {first_name} cannot be compared: their images were labeled by "
                "different instruments. Repeat a run with the --vqa of the other run"
            )
    plans = [run.plan for run in runs.values()]
    first_plan, *other_plans = plans
    groups = set(first_plan.groups).intersection(*(plan.groups for plan in other_plans))
    strengths = set(first_plan.strengths).intersection(*(plan.strengths for plan in other_plans))
    prompts = {}
    for name, words in first_plan.edit_prompts.items():
        if all(plan.edit_prompts.get(name) == words for plan in plans):
            prompts[name] = words
    conditions = EditConditions(
        groups=[group for group in first_plan.groups if group in groups],
        strengths=sorted(strengths),
        edit_prompts=prompts,
        axes=[axis for axis in first_plan.axes if _have_axis(other_plans, axis)],
    )
    for option, part in (
        ("--groups", conditions.groups),
        ("--strengths", conditions.strengths),
        ("--edit-prompts", conditions.edit_prompts),
    ):
        if not part:
            raise UsageError(
                f"the runs {', '.join(runs)} have no value of {option} in common. Repeat a run "
                f"with the {option} of the other run"
            )
    return conditions


def _have_axis(plans: Sequence[EditPlan], axis: AxisPlan) -> bool:
    return all(axis in plan.axes for plan in plans)


@dataclass(frozen=True, slots=True)
class EditedImages:
    """Input images and edited images of a run, with their labels.

    Attributes
    ----------
    pictures
        Ids of the images in each set, keyed by group, word of the edit prompt, and strength. For
        input images, word and strength are None.
    labels
        Labels of all images in `pictures`.
    """

    pictures: Mapping[tuple[str, str | None, float | None], tuple[str | None, ...]]
    labels: Labels

    @classmethod
    def of(cls, run: EditingResult, axes: Sequence[AxisPlan]) -> Self:
        """Return the images of a run, with their labels from its store."""
        pictures = {}
        for image_set in run.findings.sets:
            if image_set.axis is None or image_set.target is not None:
                key = (image_set.prompt, image_set.target, image_set.strength)
                pictures[key] = image_set.pictures
        ids = {name for row in pictures.values() for name in row if name is not None}
        return cls(pictures=pictures, labels=_stored_labels(run, axes, sorted(ids)))

    def changes(self, group: str, words: Sequence[str], strength: float, axis: str) -> ImageRows:
        """Return numbers that state which edits changed the label.

        The rows are input images, and the columns are words of the edit prompts. A number is 1 if
        the edit changed the label, 0 if it did not, and NaN if a label is missing.
        """
        labels = self.labels.get(axis, {})
        sources = self.pictures[group, None, None]
        columns = []
        for word in words:
            edits = self.pictures[group, word, strength]
            columns.append(
                [_change(labels, *images) for images in zip(sources, edits, strict=True)]
            )
        present = [place for place, name in enumerate(sources) if name is not None]
        rows = np.array(columns, dtype=float).T[present]
        return ImageRows(keys=tuple(sources[place] for place in present), rows=rows)

    def skin_changes(
        self, run: EditingResult, group: str, targets: str, strength: float
    ) -> ImageRows:
        """Return the mean change in ITA over each input image's edits, of shape (images, 1)."""
        sources = self.pictures[group, None, None]
        changes = run.cell(group, targets, strength).ita_changes
        keys = []
        rows = []
        for source, change in zip(sources, changes, strict=False):
            if source is not None:
                keys.append(source)
                rows.append([np.nan if change is None else change])
        return ImageRows(keys=tuple(keys), rows=np.array(rows, dtype=float).reshape(-1, 1))


def _change(labels: Mapping[str, str], source: str | None, edit: str | None) -> float:
    before = labels.get(source or "")
    after = labels.get(edit or "")
    if before is None or after is None:
        return np.nan
    return float(before != after)


def _stored_labels(run: EditingResult, axes: Sequence[AxisPlan], ids: Sequence[str]) -> Labels:
    """Return stored labels by axis.

    The labels on an axis come only from the first instrument that labels images on this axis.
    """
    asked = [axis.axis() for axis in axes]
    questions = [question for axis in asked for question in axis.questions]
    hashes = [question_hash(question) for question in questions]
    labels: dict[str, dict[str, str]] = {}
    with Store(run.store, create=False) as store:
        for fingerprint in (run.findings.instruments.vqa or {}).values():
            stored = store.answers(fingerprint, ids, questions)
            for name in ids:
                row = [stored.get((name, asked_hash), NOT_STORED) for asked_hash in hashes]
                for axis, answer in axis_answers(asked, row).items():
                    if isinstance(answer, str):
                        labels.setdefault(f"{fingerprint} {axis}", {})[name] = answer
    by_axis: dict[str, dict[str, str]] = {}
    for key, of_axis in labels.items():
        by_axis.setdefault(key.rpartition(" ")[2], of_axis)
    if not by_axis.get(GENDER):
        raise UsageError(
            f"the store {run.store} contains no labels for the images of {run.folder}. Name the "
            "store of the runs with --store, or repeat the command that created the run"
        )
    return by_axis


NOT_STORED = Missing("error", "the store contains no answer")


def edit_differences(
    names: RunPair,
    runs: tuple[EditingResult, EditingResult],
    conditions: EditConditions,
    scoring: Scoring,
) -> Iterator[TaskDifference]:
    """Yield the differences between two runs.

    For each set of edit prompts and each strength, the function compares contrasts between groups,
    changes in perceived gender, changes on other axes, and changes in skin tone.

    Parameters
    ----------
    names, runs
        Names of the first and the second run, and the runs themselves.
    conditions
        Groups, strengths, edit prompts and axes that both runs share. See `match_edits`.
    scoring
        Settings for the intervals.
    """
    first, second = (EditedImages.of(run, conditions.axes) for run in runs)
    for (targets, words), strength in product(
        conditions.edit_prompts.items(), conditions.strengths
    ):

        def matched(
            group: str,
            axis: str,
            words: Sequence[str] = words,
            strength: float = strength,
        ) -> MatchedRows:
            sides = [images.changes(group, words, strength, axis) for images in (first, second)]
            return MatchedRows.of(*sides)

        def entry(
            score: str,
            value: ScoreOfRuns,
            group: str,
            other: str | None = None,
            axis: str | None = None,
            targets: str = targets,
            strength: float = strength,
        ) -> TaskDifference:
            return TaskDifference(
                score=score,
                group=group,
                other_group=other,
                axis=axis,
                targets=targets,
                strength=strength,
                runs=names,
                pairs=value.pairs,
                of_runs=value.of_runs,
                difference=value.difference,
            )

        place = (targets, f"{strength:g}")
        for x, y in combinations(conditions.groups, 2):
            contrast = contrast_score(
                matched(x, GENDER), matched(y, GENDER), scoring, "contrast", *place, x, y
            )
            yield entry("gender_contrast", contrast, x, y)
        for group, axis in product(conditions.groups, [axis.name for axis in conditions.axes]):
            rate = rate_score(matched(group, axis), scoring, "change", *place, group, axis)
            if axis == GENDER:
                yield entry("gender_change", rate, group)
            else:
                yield entry("axis_change", rate, group, axis=axis)
        for group in conditions.groups:
            sides = [
                images.skin_changes(run, group, targets, strength)
                for images, run in zip((first, second), runs, strict=True)
            ]
            cells = [run.cell(group, targets, strength).ita_change for run in runs]
            tone = skin_score(sides, cells, scoring, "skin", *place, group)
            yield entry("ita_change", tone, group)


def skin_score(
    sides: Sequence[ImageRows], cells: Sequence[E], scoring: Scoring, *names: str
) -> ScoreOfRuns:
    """Estimate the difference between two runs in the skin-tone change that their edits cause.

    Parameters
    ----------
    sides
        Changes in skin tone in both runs, one row per input image.
    cells
        Mean changes in skin tone that the two runs report in their results.
    scoring
        Settings for the intervals.
    names
        Names that determine the seed of the random draws.
    """
    first, second = cells
    missing = next((score for score in cells if isinstance(score, Missing)), None)
    if missing is None and not all(len(side.rows) for side in sides):
        missing = NO_CHANGES
    if missing is not None:
        return ScoreOfRuns(of_runs=(first, second), difference=missing, pairs=0)
    matched = MatchedRows.of(*sides)
    difference = or_missing(
        mean_difference,
        matched.second,
        matched.first,
        paired=matched.pairs > 0,
        rng=scoring.rng("comparison of runs", *names),
        **scoring.interval_options,
    )
    return ScoreOfRuns(of_runs=(first, second), difference=difference, pairs=matched.pairs)


NO_CHANGES = Missing(
    "error",
    "the results of a run do not contain the skin tone of each image. To add skin tones, repeat "
    "the command that created the run; the command reuses the stored edits",
)
