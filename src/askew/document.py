"""What a command found, as a document: in a terminal or a notebook, as a page, Markdown, a figure,
a tidy table.
"""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from askew.errors import MissingPackage
from askew.findings import LocatedEstimate
from askew.pages.blocks import Page
from askew.store.files import write_file

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.figure import Figure
    from rich.console import RenderableType


ExportFormat = Literal["csv", "parquet", "json", "markdown"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""

PLACES = ("prompt", "model", "axis", "set", "value")


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One estimate: what it is about, and its parts.

    `of` is the value of an axis, such as "female", where it is about one; `about` whatever else
    tells it from others: "a: gender; b: nurse"; `missing` pictures gave no answer.
    """

    method: str
    model: str
    prompt: str | None
    axis: str | None
    set: str | None
    of: str | None
    about: str | None
    score: str
    value: float
    low: float | None
    high: float | None
    level: float | None
    null: float | None
    corrected: float | None
    p: float | None
    q: float | None
    n: int | None
    missing: int


class Document(ABC):
    """Findings that can be shown. Who inherits it says what the page shows, where it lies, and what
    was estimated.
    """

    @property
    @abstractmethod
    def page(self) -> Page:
        """What the report shows."""

    @property
    @abstractmethod
    def report(self) -> Path:
        """Its file."""

    @abstractmethod
    def estimates(self) -> list[EstimateRow]:
        """A row for every estimate, in the order of the file with the numbers."""

    def write_report(self) -> Path:
        """Write the report as one HTML file and return its path."""
        from askew.pages import html

        return write_file(self.report, html.page(self.page).encode())

    def table(self) -> RenderableType:
        """The main results for a terminal, to print with rich."""
        from askew.pages import terminal

        return terminal.screen(self.page)

    def markdown(self) -> str:
        """The main results as Markdown, for a pull request or a model card."""
        from askew.pages import plain

        return plain.markdown(self.page)

    def frame(self) -> pandas.DataFrame | pyarrow.Table | list[EstimateRow]:
        """Return all estimates as a tidy table, one row per estimate.

        Returns
        -------
        pandas.DataFrame or pyarrow.Table or list
            A DataFrame if pandas is installed, else a pyarrow Table if pyarrow is installed, else a
            list of rows.
        """
        estimates = self.estimates()
        if find_spec("pandas"):
            import pandas

            return pandas.DataFrame([asdict(row) for row in estimates])
        return _table(estimates) if find_spec("pyarrow") else estimates

    def export(self, to: ExportFormat = "csv") -> str | bytes:
        """All estimates as CSV, JSON or Parquet, or the main results as Markdown.

        Raises MissingPackage for Parquet without the extra `export`.
        """
        if to == "markdown":
            return self.markdown()
        found = self.estimates()
        if to == "json":
            return json.dumps([asdict(row) for row in found], indent=1, ensure_ascii=False) + "\n"
        if to == "parquet":
            table = _table(found)
            written = io.BytesIO()
            from pyarrow import parquet

            parquet.write_table(table, written)
            return written.getvalue()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(field.name for field in fields(EstimateRow))
        for row in found:  # a text that a spreadsheet would calculate gets a quote before it
            writer.writerow(
                f"'{x}" if isinstance(x, str) and x.startswith(FORMULA) else x for x in astuple(row)
            )
        return text.getvalue()

    def plot(self) -> Figure:
        """The main findings as a matplotlib figure. Raises MissingPackage without the extra `plot`."""
        from askew.pages import figures

        return figures.figure(self.page)

    def __rich__(self) -> RenderableType:
        return self.table()

    def _repr_html_(self) -> str:
        from askew.pages import html

        return html.fragment(self.page)


def rows(scores: Iterable[LocatedEstimate], method: str, model: str = "") -> list[EstimateRow]:
    """A row for every estimate, in their order; `model` made the pictures where an estimate does
    not say who did.
    """
    found = []
    for one in scores:
        names = one.names
        e = one.estimate
        others = "; ".join(
            f"{name}: {text}" for name, text in names.items() if name not in PLACES and text
        )
        found.append(
            EstimateRow(
                method,
                names.get("model") or model,
                names.get("prompt"),
                names.get("axis"),
                names.get("set"),
                names.get("value"),
                others or None,
                one.score,
                e.value,
                e.low,
                e.high,
                e.level,
                e.null,
                e.corrected,
                e.p,
                e.q,
                e.n,
                e.missing,
            )
        )
    return found


def _table(found: list[EstimateRow]) -> pyarrow.Table:
    MissingPackage.unless_installed("pyarrow", "export", "a table of all estimates as Parquet")
    import pyarrow

    return pyarrow.Table.from_pylist([asdict(row) for row in found])
