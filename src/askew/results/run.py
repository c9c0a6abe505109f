"""A finished run in Python, whatever its method: its folder, its results, its pictures, its report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Console, RenderableType

from askew.plan import RunPlan
from askew.results.file import read_results
from askew.store.imagefile import opened
from askew.store.store import Store

REPORT_FILE = "report.html"


@dataclass(frozen=True)
class RunResult(ABC):
    """A run's plan, its folder, and the store that holds its pictures."""

    plan: RunPlan
    folder: Path
    store: Path

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The content of results.json."""
        return read_results(self.folder)

    @abstractmethod
    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""

    @abstractmethod
    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""

    @property
    def report(self) -> Path:
        """Where the report lies."""
        return self.folder / REPORT_FILE

    def open_picture(self, picture: str) -> Image.Image | None:
        """A picture of this audit by its id; None if its file is gone."""
        path = self._files.get(picture)
        if path is None or not path.exists():
            return None
        return opened(path)

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        ids = [picture for entry in self.results["sets"] for picture in entry["pictures"] if picture]
        with Store(self.store, create=False) as store:
            return store.known_files(ids)

    def _repr_html_(self) -> str:
        console = Console(record=True, file=StringIO(), width=100)
        console.print(self.table())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
