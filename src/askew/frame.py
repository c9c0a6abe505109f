"""All estimates of a finished run as a tidy table, and the forms in which it can be exported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Literal

from askew.errors import MissingPackage
from askew.findings import Scored

if TYPE_CHECKING:
    import pyarrow

Form = Literal["csv", "parquet", "json", "markdown"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""

PLACES = ("prompt", "model", "axis", "set", "value")


@dataclass(frozen=True, slots=True)
class Row:
    """One estimate: what it is about, and its parts.

    of       the value of an axis, such as "female", where the estimate is about one
    about    whatever else tells it from others: "a: gender; b: nurse"
    missing  pictures that gave no answer
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


def rows(scores: Iterable[Scored], method: str, model: str = "") -> list[Row]:
    """A row for every estimate, in their order; `model` made the pictures where an estimate does not say who did."""
    return [_row(one, method, model) for one in scores]


def frame(found: list[Row]) -> list[Row] | pyarrow.Table:
    """The rows: a pyarrow Table where that package is installed, else the list."""
    try:
        return _table(found)
    except MissingPackage:
        return found


def exported(found: list[Row], to: Literal["csv", "parquet", "json"]) -> str | bytes:
    """The rows as CSV, JSON or Parquet. Raises MissingPackage for Parquet without pyarrow."""
    if to == "json":
        return json.dumps([asdict(row) for row in found], indent=1, ensure_ascii=False) + "\n"
    if to == "parquet":
        from pyarrow import parquet

        written = io.BytesIO()
        parquet.write_table(_table(found), written)
        return written.getvalue()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Row))
    writer.writerows([_cell(getattr(row, field.name)) for field in fields(Row)] for row in found)
    return text.getvalue()


def _cell(content: str | float | None) -> str | float | None:
    """A text that a spreadsheet would calculate gets a quote before it."""
    return f"'{content}" if isinstance(content, str) and content.startswith(FORMULA) else content


def _table(found: list[Row]) -> pyarrow.Table:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise MissingPackage("pyarrow", "export", "a table of all estimates as Parquet") from error
    return pyarrow.Table.from_pylist([asdict(row) for row in found])


def _row(one: Scored, method: str, model: str) -> Row:
    names, e = one.names, one.estimate
    others = "; ".join(f"{name}: {text}" for name, text in names.items() if name not in PLACES and text)
    return Row(
        method, names.get("model") or model, names.get("prompt"), names.get("axis"), names.get("set"),
        names.get("value"), others or None, one.score, e.value, e.low, e.high, e.level, e.null, e.corrected, e.p, e.q,
        e.n, e.missing,
    )  # fmt: skip
