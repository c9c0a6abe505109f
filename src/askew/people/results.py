"""Results of a study with human raters, computed with and without excluded raters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from PIL import Image

from askew import findings
from askew.document import Document, EstimateRow, rows
from askew.errors import UsageError
from askew.findings import RESULTS_FILE
from askew.pages.blocks import Page
from askew.pages.words import plural
from askew.people.choose_analysis import choose_analysis
from askew.people.findings import StudyAnalysis, StudyFindings
from askew.people.folder import StudyFolder
from askew.people.label_analysis import label_analysis
from askew.people.rate_analysis import rate_analysis
from askew.people.raters import StudyAnswers, all_answers, summaries
from askew.people.records import StudyKind
from askew.people.selection_analysis import selection_analysis
from askew.run.folder import REPORT_FILE
from askew.store.imagefile import opened

ANALYSES: Mapping[StudyKind, Callable[[StudyAnswers], StudyAnalysis]] = {
    "label": label_analysis,
    "choose": choose_analysis,
    "rate": rate_analysis,
    "concepts": selection_analysis,
    "axes": selection_analysis,
}
"""Functions that compute the results, keyed by kind of study."""


@dataclass(frozen=True, repr=False)
class StudyResult(Document):
    """Results of a study.

    Attributes
    ----------
    folder
        The study.
    findings
        Content of results.json.
    """

    folder: StudyFolder
    findings: StudyFindings

    @cached_property
    def page(self) -> Page:
        """Content of the report."""
        from askew.people.page import page

        return page(self)

    @property
    def report(self) -> Path:
        """Path of the report."""
        return self.folder.path / REPORT_FILE

    @property
    def numbers(self) -> Path:
        """Path of results.json."""
        return self.folder.path / RESULTS_FILE

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the results."""
        return self.findings.warnings

    def estimates(self) -> list[EstimateRow]:
        """Return a table row for each estimate. The answers of excluded raters are not used."""
        return rows(findings.scored(self.findings.included), "study")

    def picture(self, name: str) -> Image.Image | None:
        """Return the study's image that has this id; None if its file no longer exists."""
        path = self.folder.image(name)
        return opened(path) if path.is_file() else None

    def write(self) -> "StudyResult":
        """Write results.json and the report."""
        findings.write(self.findings, self.numbers)
        self.write_report()
        return self


def study_results(folder: StudyFolder) -> StudyResult:
    """Compute the results of a study from all of its answers.

    Raises
    ------
    UsageError
        If no rater has answered.
    """
    everyone = all_answers(folder)
    if not everyone.raters:
        raise UsageError(
            f"the study {folder.path} has no answers yet. Serve the study with askew study serve "
            f"{folder.path}"
        )
    raters = summaries(everyone)
    excluded = {rater.id for rater in raters if rater.excluded}
    analysis = ANALYSES[folder.plan.kind]
    included = analysis(everyone.without(excluded))
    results = StudyFindings(
        format=findings.FORMAT,
        askew=version("askew"),
        plan=folder.plan,
        raters=tuple(raters),
        withdrawn=folder.withdrawn(),
        included=included,
        everyone=analysis(everyone),
        warnings=(*_warnings(folder, everyone, excluded), *_stage_warnings(folder, included)),
    )
    return StudyResult(folder=folder, findings=results)


def _stage_warnings(folder: StudyFolder, analysis: StudyAnalysis) -> list[str]:
    """Return a warning if the planned precision requires a second stage that the study lacks."""
    is_reached = all(entry.reached for entry in analysis.shares)
    if folder.plan.pilot is None or folder.second_items or is_reached:
        return []
    return [
        "the study contains only its pilot so far. When all raters have answered, add the second stage "
        f"with askew study extend {folder.path}"
    ]


def _warnings(folder: StudyFolder, study: StudyAnswers, excluded: set[str]) -> list[str]:
    warnings = []
    assigned = [name for rater in folder.raters() for name in rater.items]
    if len(study.answers) < len(assigned):
        warnings.append(
            f"{len(study.answers)} of {plural(len(assigned), 'question')} are answered. The remaining "
            "answers may change the results"
        )
    if excluded == set(study.raters):
        warnings.append("the rules in the plan exclude all raters, so there are no results")
    return warnings
