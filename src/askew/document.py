"""Documents that present results in a terminal, notebook, report, paper or table."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
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


ExportFormat = Literal["csv", "parquet", "json", "markdown", "png", "svg", "pdf"]

IMAGE_FORMATS = ("png", "svg", "pdf")

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that can begin a formula in a spreadsheet cell."""

PLACES = ("prompt", "model", "axis", "set", "value")


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """An estimate, with the model, prompt, axis and value that it describes.

    Attributes
    ----------
    method, model : str
        Names of the method and the model.
    prompt, axis, set : str, optional
        Prompt, axis and image set.
    of : str, optional
        Value of the axis, such as "female".
    about : str, optional
        All other names that identify the subject of the estimate, such as "a: gender; b: nurse".
    score : str
        Name of the score.
    value, low, high, level, null, corrected, p, q, n : float or int
        Fields of the estimate. See `Estimate`.
    missing : int
        Number of images without an answer.
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
    """Results that can be shown.

    A subclass provides the page, the path of the report, and the estimates.
    """

    @property
    @abstractmethod
    def page(self) -> Page:
        """Return the content of the report."""

    @property
    @abstractmethod
    def report(self) -> Path:
        """Return the path of the report."""

    @abstractmethod
    def estimates(self) -> list[EstimateRow]:
        """Return a row for each estimate, in the order of results.json."""

    @property
    def image_warnings(self) -> Sequence[str]:
        """Warnings about images that the page could not show."""
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.page.answer} Report: {self.report}>"

    def write_report(self) -> Path:
        """Write the report as a single HTML file and return its path."""
        from askew.pages import html

        return write_file(self.report, html.page(self.page).encode())

    def table(self) -> RenderableType:
        """Return the main results for printing to a terminal with rich."""
        from askew.pages import terminal

        return terminal.screen(self.page)

    def markdown(self) -> str:
        """Return the main results as Markdown, for a pull request or a model card."""
        from askew.pages import plain

        return plain.markdown(self.page)

    def frame(self) -> pandas.DataFrame | pyarrow.Table | list[EstimateRow]:
        """Return all estimates as a tidy table, one row per estimate.

        Returns
        -------
        pandas.DataFrame or pyarrow.Table or list
            A DataFrame if pandas is installed, a pyarrow Table if only pyarrow is installed, and a
            list of rows if neither is installed.
        """
        estimates = self.estimates()
        if find_spec("pandas"):
            import pandas

            return pandas.DataFrame([asdict(row) for row in estimates])
        return _table(estimates) if find_spec("pyarrow") else estimates

    def export(self, to: ExportFormat = "csv") -> str | bytes:
        """Return all estimates, the main results as Markdown, or the main chart as an image.

        Parameters
        ----------
        to : {"csv", "parquet", "json", "markdown", "png", "svg", "pdf"}
            The format.

        Returns
        -------
        str or bytes
            The content of the file. Parquet and images are bytes.

        Raises
        ------
        MissingPackage
            If pyarrow (for Parquet) or matplotlib (for images) is not installed.
        """
        if to == "markdown":
            return self.markdown()
        if to in IMAGE_FORMATS:
            from askew.pages import figures

            return figures.main_chart(self.page, to)
        rows = self.estimates()
        if to == "json":
            records = [asdict(row) for row in rows]
            return json.dumps(records, indent=1, ensure_ascii=False) + "\n"
        if to == "parquet":
            return _parquet(rows)
        return _csv(rows)

    def plot(self) -> Figure:
        """Return the main findings as a matplotlib figure.

        Raises
        ------
        MissingPackage
            If matplotlib is not installed.
        """
        from askew.pages import figures

        return figures.figure(self.page)

    def __rich__(self) -> RenderableType:
        return self.table()

    def _repr_html_(self) -> str:
        from askew.pages import html

        return html.fragment(self.page)


def rows(scores: Iterable[LocatedEstimate], method: str, model: str = "") -> list[EstimateRow]:
    """Return a row for each estimate, in the order of the estimates.

    Parameters
    ----------
    scores : iterable of LocatedEstimate
        The estimates with their names.
    method : str
        Name of the method.
    model : str
        Name of the model for estimates that do not state a model.

    Returns
    -------
    list of EstimateRow
        The rows.
    """
    return [_row(score, method, model) for score in scores]


def _row(score: LocatedEstimate, method: str, model: str) -> EstimateRow:
    names = score.names
    others = [f"{name}: {text}" for name, text in names.items() if name not in PLACES and text]
    estimate = score.estimate
    return EstimateRow(
        method=method,
        model=names.get("model") or model,
        prompt=names.get("prompt"),
        axis=names.get("axis"),
        set=names.get("set"),
        of=names.get("value"),
        about="; ".join(others) or None,
        score=score.score,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        level=estimate.level,
        null=estimate.null,
        corrected=estimate.corrected,
        p=estimate.p,
        q=estimate.q,
        n=estimate.n,
        missing=estimate.missing,
    )


def _csv(rows: Sequence[EstimateRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(EstimateRow))
    for row in rows:
        writer.writerow(without_formula(value) for value in astuple(row))
    return text.getvalue()


def without_formula(value: object) -> object:
    """Return a value for a CSV file, preceded by an apostrophe if it looks like a formula.

    Some programs start a new row at a carriage return. Therefore carriage returns are replaced by
    line feeds, which are quoted in the file.
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    is_formula = value.startswith(FORMULA) or text.lstrip().startswith(FORMULA)
    return f"'{text}" if is_formula else text


def as_text(number: int) -> str:
    """Return the digits of a large number for a CSV file, preceded by an apostrophe.

    Spreadsheets and JavaScript would round a number above 2^53. A text keeps all digits.
    """
    return f"'{number}"


def _parquet(rows: Sequence[EstimateRow]) -> bytes:
    table = _table(rows)
    from pyarrow import parquet

    written = io.BytesIO()
    parquet.write_table(table, written)
    return written.getvalue()


def _table(rows: Sequence[EstimateRow]) -> pyarrow.Table:
    MissingPackage.unless_installed("pyarrow", "export", "a table of all estimates as Parquet")
    import pyarrow

    return pyarrow.Table.from_pylist([asdict(row) for row in rows])
