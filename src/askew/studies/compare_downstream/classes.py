"""Compute differences between runs of `askew classify` from the denoising errors in the results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np

from askew.errors import UsageError
from askew.methods.classify.decisions import ClassDecisions, Hits
from askew.methods.classify.findings import ClassificationResult
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.plan import ClassificationPlan
from askew.parts.scoring import Scoring
from askew.studies.compare_downstream.findings import RunPair, TaskDifference
from askew.studies.compare_downstream.rows import (
    ImageRows,
    MatchedRows,
    ScoreOfRuns,
    contrast_score,
    rate_score,
)

EQUAL_FIELDS = {"targets": "--targets", "template": "--template", "loss": "--loss"}
"""Plan fields that determine the scores and must be equal, each with the option that sets it."""


@dataclass(frozen=True, slots=True)
class ClassifiedImages:
    """Decisions for a run's images, based on the number of noise samples that all runs share.

    Attributes
    ----------
    samples
        Number of noise samples.
    decisions
        Decisions between target classes, keyed by group.
    pooled
        Members of each pooled group, keyed by the name of the pooled group.
    hits
        Whether each image is classified correctly, for each group whose true class is known.
    """

    samples: int
    decisions: Mapping[str, ImageRows]
    pooled: Mapping[str, Sequence[str]]
    hits: Mapping[str, ImageRows]

    @classmethod
    def of(cls, run: ClassificationResult, groups: Sequence[str], samples: int) -> Self:
        """Return a run's decisions for the images of these groups."""
        plan = run.plan
        keys = _image_ids(run)
        decided = ClassDecisions.of(
            _errors(run, groups, samples, plan.target_classes), list(plan.pairs)
        )
        decisions = {}
        for group in groups:
            decisions[group] = ImageRows(keys=keys[group], rows=decided.decisions[group])
        for name, members in decided.pooled.items():
            decisions[name] = ImageRows.joined([decisions[group] for group in members])
        hits = {}
        if plan.classes:
            of_labels = Hits.of(_errors(run, groups, samples, plan.classes), plan.true_classes)
            for group, rows in of_labels.of_groups.items():
                if rows is not None:
                    hits[group] = ImageRows(keys=keys[group], rows=rows)
        return cls(samples=samples, decisions=decisions, pooled=decided.pooled, hits=hits)


def _image_ids(run: ClassificationResult) -> dict[str, tuple[str, ...]]:
    """Return the ids of a run's images, keyed by group. Missing images are left out."""
    ids = {}
    for image_set in run.findings.sets:
        ids[image_set.prompt] = tuple(name for name in image_set.pictures if name is not None)
    return ids


def _errors(
    run: ClassificationResult, groups: Sequence[str], samples: int, classes: tuple[str, ...]
) -> ErrorsOfClasses:
    """Return each image's mean denoising error for each of these classes."""
    errors = {}
    for entry in run.findings.classification.errors:
        if (entry.samples, entry.classes) == (samples, classes) and entry.group in groups:
            values = np.array(entry.values, dtype=float).reshape(-1, len(classes), 1)
            errors[entry.group] = values
    return ErrorsOfClasses(
        samples=samples, classes=classes, errors={group: errors[group] for group in groups}
    )


def match_classifications(
    runs: Mapping[str, ClassificationResult],
) -> tuple[list[str], int]:
    """Return the groups and the largest number of noise samples that all runs have in common.

    Parameters
    ----------
    runs
        Finished runs, keyed by name.

    Raises
    ------
    UsageError
        If the runs cannot be compared.
    """
    plans = {name: run.plan for name, run in runs.items()}
    _check_fields(plans)
    first, *others = plans.values()
    samples = set(first.samples).intersection(*(plan.samples for plan in others))
    if not samples:
        listed = "; ".join(f"{name} has {plan.samples}" for name, plan in plans.items())
        raise UsageError(
            f"the runs have no number of noise samples in common ({listed}). Repeat a run with "
            f"--samples {','.join(map(str, first.samples))}"
        )
    shared = set(first.groups).intersection(*(plan.groups for plan in others))
    groups = [group for group in first.groups if group in shared]
    if not groups:
        listed = "; ".join(f"{name} has {', '.join(plan.groups)}" for name, plan in plans.items())
        raise UsageError(
            f"the runs have no group in common ({listed}). Use the same group names in all runs: "
            "set --groups NAME,NAME, or rename the sub-folders of the input images"
        )
    return groups, max(samples)


def _check_fields(plans: Mapping[str, ClassificationPlan]) -> None:
    (first, first_plan), *others = plans.items()
    for name, plan in others:
        for field, option in EQUAL_FIELDS.items():
            if getattr(plan, field) != getattr(first_plan, field):
                raise UsageError(
                    f"{name} and {first} cannot be compared: they have different {field}. Repeat a "
                    f"run with the {option} of the other run"
                )


def classification_differences(
    names: RunPair,
    runs: tuple[ClassificationResult, ClassificationResult],
    groups: Sequence[str],
    samples: int,
    scoring: Scoring,
) -> Iterator[TaskDifference]:
    """Yield the differences between two runs in their differentials, associations and accuracies.

    Parameters
    ----------
    names, runs
        Names of the first and the second run, and the runs themselves.
    groups, samples
        Groups and number of noise samples that `match_classifications` returns.
    scoring
        Settings for the intervals.
    """
    first, second = (ClassifiedImages.of(run, groups, samples) for run in runs)
    matched = {}
    for group, rows in first.decisions.items():
        matched[group] = MatchedRows.of(rows, second.decisions[group])

    def entry(score: str, value: ScoreOfRuns, group: str, other: str | None) -> TaskDifference:
        return TaskDifference(
            score=score,
            group=group,
            other_group=other,
            samples=samples,
            runs=names,
            pairs=value.pairs,
            of_runs=value.of_runs,
            difference=value.difference,
        )

    for x, y in (*combinations(first.pooled, 2), *combinations(groups, 2)):
        contrast = contrast_score(matched[x], matched[y], scoring, "differential", x, y)
        yield entry("differential", contrast, x, y)
    for group in (*first.pooled, *groups):
        rate = rate_score(matched[group], scoring, "association", group)
        yield entry("association", rate, group, None)
    for group in groups:
        if group in first.hits and group in second.hits:
            hits = MatchedRows.of(first.hits[group], second.hits[group])
            yield entry("accuracy", rate_score(hits, scoring, "accuracy", group), group, None)
