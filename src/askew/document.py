"""What a command found, as a document: in a terminal or a notebook, as a page, Markdown, a figure, a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from askew.frame import Form, Row, exported, frame
from askew.pages.blocks import Page
from askew.store.files import write_whole

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.figure import Figure
    from rich.console import RenderableType


class Document(ABC):
    """Findings that can be shown. Who inherits it says what the page shows, where it lies, and what was estimated."""

    @property
    @abstractmethod
    def page(self) -> Page:
        """What the report shows."""

    @property
    @abstractmethod
    def report(self) -> Path:
        """Where the report lies."""

    @abstractmethod
    def estimates(self) -> list[Row]:
        """A row for every estimate, in the order of the file with the numbers."""

    def write_report(self) -> Path:
        """Write the report as one HTML file and return its path."""
        from askew.pages import html

        write_whole({self.report: html.page(self.page).encode()})
        return self.report

    def table(self) -> RenderableType:
        """The main results for a terminal, to print with rich."""
        from askew.pages import terminal

        return terminal.screen(self.page)

    def markdown(self) -> str:
        """The main results as Markdown, for a pull request or a model card."""
        from askew.pages import markdown

        return markdown.text(self.page)

    def frame(self) -> list[Row] | pyarrow.Table:
        """All estimates as a tidy table: a pyarrow Table where that package is installed, else a list of rows."""
        return frame(self.estimates())

    def export(self, to: Form = "csv") -> str | bytes:
        """All estimates as CSV, JSON or Parquet, or the main results as Markdown.

        Raises MissingPackage for Parquet without the extra `export`.
        """
        return self.markdown() if to == "markdown" else exported(self.estimates(), to)

    def plot(self) -> Figure:
        """The main findings as a matplotlib figure. Raises MissingPackage without the extra `plot`."""
        from askew.pages import figures

        return figures.figure(self.page)

    def __rich__(self) -> RenderableType:
        return self.table()

    def _repr_html_(self) -> str:
        from askew.pages import html

        return html.fragment(self.page)
