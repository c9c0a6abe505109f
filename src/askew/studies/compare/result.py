"""What a comparison found, in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import Field

from askew import findings
from askew.document import Document, Row, rows
from askew.errors import UsageError
from askew.methods.audit.findings import AuditResult
from askew.pages.blocks import Page
from askew.plan import Part, RunPlan, Text
from askew.store.files import write_file
from askew.studies.compare import COMPARISON_FILE
from askew.studies.compare.findings import OF_SETS, Difference, scored
from askew.types import Estimate, Missing

PAGE_FILE = "comparison.html"
RUNS_FILE = "comparison.toml"


class ComparedRunPlan(Part):
    """Where a run lies; paths that are not absolute begin at the folder of the comparison."""

    name: Text
    folder: Path
    store: Path


class ComparisonPlan(RunPlan):
    """Which runs were compared, under which names: the content of comparison.toml."""

    runs: tuple[ComparedRunPlan, ...] = Field(min_length=2)


@dataclass(frozen=True)
class Comparison(Document):
    """What differs between runs: the entries of comparison.json, the runs by name, and what a reader should know."""

    folder: Path
    runs: Mapping[str, AuditResult]
    entries: tuple[Difference, ...]
    warnings: Sequence[str]

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
        """One score of the second run less that of the first; of the first prompt, pair and instrument unless named.

        `set_name` is for shares and distances, "initial" by default. Raises UsageError for what was not compared.
        """
        wanted = {
            "score": score,
            "prompt": prompt or self.entries[0].prompt,
            "axis": axis,
            "set": set_name or ("initial" if score in OF_SETS else None),
            "value": value,
            "runs": tuple(runs or self.entries[0].runs),
        } | ({"instrument": instrument} if instrument else {})
        for entry in self.entries:
            if all(getattr(entry, name) == sought for name, sought in wanted.items()):
                return entry.difference
        text = ", ".join(f"{name} {sought!r}" for name, sought in wanted.items() if sought is not None)
        raise UsageError(f"this comparison has no entry with {text}")

    @property
    def results(self) -> Path:
        """Where comparison.json lies."""
        return self.folder / COMPARISON_FILE

    numbers = results

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.folder / PAGE_FILE

    @cached_property
    def page(self) -> Page:
        """What the report shows."""
        from askew.studies.compare.page import page

        return page(self)

    def estimates(self) -> list[Row]:
        """A row for every difference, in the order of comparison.json."""
        return rows(scored(self.entries), "compare")

    def write(self) -> Comparison:
        """Write comparison.json, comparison.toml and comparison.html into the folder."""
        findings.write(self.entries, self.results, tuple[Difference, ...])
        write_file(self.folder / RUNS_FILE, self._plan().to_toml().encode())
        self.write_report()
        return self

    def _plan(self) -> ComparisonPlan:
        places = {name: [str(place) if place.is_absolute() else os.path.relpath(place, self.folder)
                         for place in (run.folder, run.store)] for name, run in self.runs.items()}  # fmt: skip
        runs = [{"name": name, "folder": folder, "store": store} for name, (folder, store) in places.items()]
        return ComparisonPlan.checked({"runs": runs})
