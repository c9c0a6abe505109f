"""A comparison and its files: comparison.json, comparison.html and comparison.toml."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field

from askew import findings
from askew.document import Document, EstimateRow, rows
from askew.errors import UsageError
from askew.findings import LocatedEstimate
from askew.methods.audit.findings import AuditResult
from askew.pages.blocks import Page
from askew.plan import NonEmptyText, PlanPart, RunPlan
from askew.store.files import add_sums, replace_sum, write_file
from askew.studies.compare import COMPARISON_FILE
from askew.studies.compare.findings import (
    SET_SCORES,
    D,
    R,
    RunDifferences,
    ScoreDifference,
    scored,
)
from askew.studies.compare.runs import ComparedResult
from askew.types import Estimate, Missing

PAGE_FILE = "comparison.html"
RUNS_FILE = "comparison.toml"
FILES = (COMPARISON_FILE, RUNS_FILE, PAGE_FILE)
"""Files of a comparison. `SHA256SUMS` lists them."""


class ComparedRunPlan(PlanPart):
    """Folder and store of a run.

    The paths of the folder and the store may be relative to the folder of the comparison.
    """

    name: NonEmptyText
    folder: Path
    store: Path


class ComparisonPlan(RunPlan):
    """Content of comparison.toml: the names, folders and stores of the compared runs."""

    runs: tuple[ComparedRunPlan, ...] = Field(min_length=2)


@dataclass(frozen=True, repr=False)
class ComparisonDocument(Document, RunDifferences[R, D]):
    """A comparison with its files comparison.json, comparison.toml and comparison.html.

    A subclass defines the page, the estimates of the differences, and the type of the content of
    comparison.json.
    """

    content: ClassVar[object]
    """Type of the content of comparison.json."""

    @abstractmethod
    def located(self) -> Iterable[LocatedEstimate]:
        """Return the estimates of the differences, in the order of comparison.json."""

    @property
    def results(self) -> Path:
        """Path of comparison.json."""
        return self.folder / COMPARISON_FILE

    numbers = results

    @property
    def report(self) -> Path:
        """Path of the page."""
        return self.folder / PAGE_FILE

    @property
    def image_warnings(self) -> Sequence[str]:
        """Warnings about damaged images in the runs."""
        return [text for run in self.runs.values() for text in run.image_warnings]

    def estimates(self) -> list[EstimateRow]:
        """Return a row for each difference, in the order of comparison.json."""
        return rows(self.located(), "compare")

    def write(self) -> Self:
        """Write comparison.json, comparison.toml and comparison.html, and their checksums."""
        findings.write(self.entries, self.results, self.content)
        write_runs(self.folder, self.runs)
        self.write_report()
        add_sums(self.folder, FILES)
        return self

    def write_report(self) -> Path:
        """Write the report as one HTML file and return its path."""
        path = super().write_report()
        replace_sum(path)
        return path

    def _difference(self, wanted: Mapping[str, object]) -> Estimate | Missing:
        """Return the first difference with these field values.

        Raise UsageError if no difference matches.
        """
        for entry in self.entries:
            if all(getattr(entry, name) == sought for name, sought in wanted.items()):
                return entry.difference
        text = ", ".join(
            f"{name} {sought!r}" for name, sought in wanted.items() if sought is not None
        )
        raise UsageError(f"this comparison has no entry with {text}")


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonDocument[AuditResult, ScoreDifference]):
    """A comparison of finished audits, with comparison.json, comparison.toml and comparison.html."""

    content = tuple[ScoreDifference, ...]

    def difference(
        self,
        score: str,
        axis: str,
        value: str | None = None,
        *,
        prompt: str | None = None,
        runs: tuple[str, str] | None = None,
        set_name: str | None = None,
        instrument: str | None = None,
    ) -> Estimate | Missing:
        """Return the difference in a score between two runs (second minus first).

        Parameters
        ----------
        score
            Name of the score: mad, cas, share or distance.
        axis, value
            Axis, and the value whose share or CAS is compared.
        prompt, runs, instrument
            Prompt, names of the two runs, and instrument. Defaults to the prompt and runs of the
            first entry in comparison.json, and to the first instrument that labeled the images of
            those runs.
        set_name
            Image set that the share or distance describes. [default: initial]

        Raises
        ------
        UsageError
            If the score was not compared.
        """
        first = self.entries[0]
        of_set = set_name or ("initial" if score in SET_SCORES else None)
        wanted = {
            "score": score,
            "prompt": prompt or first.prompt,
            "axis": axis,
            "set": of_set,
            "value": value,
            "runs": tuple(runs or first.runs),
            **({"instrument": instrument} if instrument else {}),
        }
        return self._difference(wanted)

    @cached_property
    def page(self) -> Page:
        """Content of the report."""
        from askew.studies.compare.page import page

        return page(self)

    def located(self) -> Iterable[LocatedEstimate]:
        """Return the estimates of the differences, in the order of comparison.json."""
        return scored(self.entries)


def write_runs(folder: Path, runs: Mapping[str, ComparedResult]) -> None:
    """Write comparison.toml, which lists the compared runs.

    Parameters
    ----------
    folder
        Folder of the comparison.
    runs
        The runs by name.
    """
    listed = []
    for name, run in runs.items():
        places = {"folder": _path_from(folder, run.folder), "store": _path_from(folder, run.store)}
        listed.append({"name": name, **places})
    plan = ComparisonPlan.checked({"runs": listed})
    write_file(folder / RUNS_FILE, plan.to_toml().encode())


def _path_from(folder: Path, place: Path) -> str:
    """Make a path relative to the folder. Absolute paths remain unchanged."""
    return str(place) if place.is_absolute() else os.path.relpath(place, folder)
