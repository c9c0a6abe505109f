"""What an audit found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, cast

from PIL import Image
from rich.console import Console, RenderableType

from askew.errors import UnknownName, UsageError
from askew.plan import Plan
from askew.report.html import write_report
from askew.report.table import terminal_table
from askew.results import estimate_of, read_results
from askew.store import Store
from askew.types import Estimate, Missing

REPORT_FILE = "report.html"


@dataclass(frozen=True)
class AuditResult:
    """An audit's plan, its run folder, and the store that holds its pictures."""

    plan: Plan
    folder: Path
    store: Path

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The content of results.json."""
        return read_results(self.folder)

    def mad(self, axis: str, prompt: str | None = None) -> Estimate | Missing:
        """How one-sided the pictures of a prompt (the first by default) are on an axis, by TIBET's MAD."""
        return estimate_of(self._scores(axis, prompt)["mad"])

    def cas(self, axis: str, value: str, prompt: str | None = None) -> Estimate | Missing:
        """How much the pictures of a prompt resemble those of the counterfactual `value`, by TIBET's CAS."""
        return estimate_of(_entry("value", value, self._scores(axis, prompt)["cas"]))

    def share(self, axis: str, value: str, prompt: str | None = None, set_name: str = "initial") -> Estimate | Missing:
        """The perceived share of a value in a picture set."""
        text = prompt or self.plan.prompts[0].text
        for entry in self.results["shares"]:
            if (entry["prompt"], entry["axis"], entry["set"]) == (text, axis, set_name):
                return estimate_of(_entry("value", value, entry["shares"]))
        raise UsageError(f"this audit has no shares of axis {axis!r} for the set {set_name!r} of {text!r}")

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return terminal_table(self.results)

    @property
    def report(self) -> Path:
        """Where the report lies."""
        return self.folder / REPORT_FILE

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_report(self.results, self.open_picture, self.report)

    def open_picture(self, picture: str) -> Image.Image | None:
        """A picture of this audit by its id; None if its file is gone."""
        path = self._files.get(picture)
        if path is None or not path.exists():
            return None
        with Image.open(path) as image:
            return image.convert("RGB")

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        ids = [picture for entry in self.results["sets"] for picture in entry["pictures"] if picture]
        with Store(self.store, create=False) as store:
            return store.known_files(ids)

    def _repr_html_(self) -> str:
        console = Console(record=True, file=StringIO(), width=100)
        console.print(self.table())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def _scores(self, axis: str, prompt: str | None) -> Mapping[str, Any]:
        text = prompt or self.plan.prompts[0].text
        by_prompt = {entry["prompt"]: entry for entry in self.results["tibet"]}
        return cast("Mapping[str, Any]", _entry("axis", axis, _entry("prompt", text, by_prompt)["axes"]))


def _entry(what: str, name: str, table: Mapping[str, Any]) -> Any:
    if name not in table:
        raise UnknownName(f"{what} in this audit", name, table)
    return table[name]
