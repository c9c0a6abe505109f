"""What a comparison found, in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from askew import findings
from askew.errors import RunError, UsageError
from askew.methods.audit.result import AuditResult
from askew.pages.blocks import Page
from askew.store.files import write_whole
from askew.store.index import explain_os_error
from askew.studies.compare.findings import OF_SETS, Difference
from askew.types import Estimate, Missing

if TYPE_CHECKING:
    from rich.console import RenderableType

COMPARISON_FILE = "comparison.json"
PAGE_FILE = "comparison.html"


@dataclass(frozen=True)
class Comparison:
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

    @cached_property
    def page(self) -> Page:
        """What the report shows."""
        from askew.studies.compare.page import page

        return page(self)

    @property
    def results(self) -> Path:
        """Where comparison.json lies."""
        return self.folder / COMPARISON_FILE

    numbers = results

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.folder / PAGE_FILE

    def write(self) -> Comparison:
        """Write comparison.json and comparison.html into the folder."""
        from askew.pages import html

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"the folder {self.folder} {explain_os_error(error)}") from error
        findings.write(self.entries, self.results, tuple[Difference, ...])
        write_whole({self.report: html.page(self.page).encode()})
        return self

    def table(self) -> RenderableType:
        """The main differences for a terminal, to print with rich."""
        from askew.pages import terminal

        return terminal.screen(self.page)

    def _repr_html_(self) -> str:
        from askew.pages import html

        return html.fragment(self.page)
