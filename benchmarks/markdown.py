"""Rows of Markdown tables that benchmarks print."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.means import student_mean
from askew.types import Estimate


def table_row(*cells: str) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def numbers(values: Iterable[float], form: str = ".3f") -> list[str]:
    """Return cells with numbers in a format, by default with three decimals."""
    return [f"{value:{form}}" for value in values]


def mean_cell(values: ArrayLike) -> str:
    """Return a cell with the mean and Student's interval of the values that are finite."""
    known = np.asarray(values, dtype=float)
    if not np.isfinite(known).any():
        return ""
    e = student_mean(known[np.isfinite(known)])
    return f"{e.value:+.4f} [{e.low:+.4f}, {e.high:+.4f}]"


def mark(score: object) -> float:
    """Return the best estimate of a score, or NaN for a missing score."""
    return score.mark if isinstance(score, Estimate) else np.nan
