"""Compute a comparison of downstream runs, and write its files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

from askew.findings import LocatedEstimate
from askew.methods.classify.findings import ClassificationResult
from askew.methods.edit.findings import EditingResult
from askew.pages.blocks import Page
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import studio_warnings
from askew.studies.compare.comparison import ComparisonDocument
from askew.studies.compare.runs import TaskRun, content_digest
from askew.studies.compare_downstream.classes import (
    classification_differences,
    match_classifications,
)
from askew.studies.compare_downstream.edits import edit_differences, match_edits
from askew.studies.compare_downstream.findings import (
    TaskDifference,
    scored,
    with_family,
)
from askew.types import Estimate, Missing

Runs = Mapping[str, TaskRun]


@dataclass(frozen=True, repr=False)
class TaskComparison(ComparisonDocument[TaskRun, TaskDifference]):
    """A comparison of classifications or edits, with its files.

    The files are comparison.json, comparison.toml and comparison.html.
    """

    content = tuple[TaskDifference, ...]

    def difference(self, score: str, group: str, **names: object) -> Estimate | Missing:
        """Return the difference in a score between two runs (second minus first).

        Parameters
        ----------
        score
            Name of the score. See `TaskDifference`.
        group
            Name of the group.
        **names
            Values of other fields of a `TaskDifference`, such as other_group, targets, strength or
            runs. If several entries match, the first matching entry in comparison.json is returned.

        Raises
        ------
        UsageError
            If the score was not compared.
        """
        wanted = {"score": score, "group": group, **names}
        return self._difference(wanted)

    @cached_property
    def page(self) -> Page:
        """Content of the report."""
        from askew.studies.compare_downstream.page import page

        return page(self)

    def located(self) -> Iterable[LocatedEstimate]:
        """Return the estimates of the differences, in the order of comparison.json."""
        return scored(self.entries)


def compare_tasks(runs: Runs, folder: Path) -> TaskComparison:
    """Compare every pair of finished classifications or edits.

    Parameters
    ----------
    runs
        Finished runs by name. All runs have the same method.
    folder
        Folder of the comparison.

    Raises
    ------
    UsageError
        If the runs cannot be compared.
    """
    plans = [run.plan for run in runs.values()]
    scoring = Scoring(
        instrument="",
        seed=min(plan.seed for plan in plans),
        draws=max(plan.bootstrap_samples for plan in plans),
        level=max(plan.confidence for plan in plans),
    )
    entries: list[TaskDifference] = []
    for pair in combinations(runs, 2):
        entries += _of_pair(pair, runs, scoring)
    return TaskComparison(
        folder=folder, runs=runs, entries=with_family(entries), warnings=warnings_of(runs)
    )


def _of_pair(names: tuple[str, str], runs: Runs, scoring: Scoring) -> Sequence[TaskDifference]:
    """Return the differences between two runs.

    The order of the runs affects only the signs of the differences.
    """
    digests = [content_digest(runs[name]) for name in names]
    is_swapped = digests[1] < digests[0]
    ordered = names[::-1] if is_swapped else names
    first, second = (runs[name] for name in ordered)
    differences: Sequence[TaskDifference] = ()
    if isinstance(first, ClassificationResult) and isinstance(second, ClassificationResult):
        of_classes = {name: run for name, run in runs.items() if isinstance(run, type(first))}
        groups, samples = match_classifications(of_classes)
        differences = tuple(
            classification_differences(ordered, (first, second), groups, samples, scoring)
        )
    elif isinstance(first, EditingResult) and isinstance(second, EditingResult):
        of_edits = {name: run for name, run in runs.items() if isinstance(run, type(first))}
        differences = tuple(
            edit_differences(ordered, (first, second), match_edits(of_edits), scoring)
        )
    return [entry.swapped() for entry in differences] if is_swapped else differences


def warnings_of(runs: Runs) -> list[str]:
    """Return warnings about the comparison, without duplicates."""
    warnings = []
    digests: dict[str, str] = {}
    for name, run in runs.items():
        first = digests.setdefault(content_digest(run), name)
        if first != name:
            warnings.append(
                f"{first} and {name} are runs of the same plan on the same model with the same "
                "images, so there are no differences"
            )
        warnings += studio_warnings([run.findings.model.name], run.findings.instruments.vqa)
    return list(dict.fromkeys(warnings))
