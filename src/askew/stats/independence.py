"""Does the distribution of one axis change with another? Pearson's chi-squared test of a table of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import betaincinv

from askew.errors import NotEnoughData
from askew.stats.intervals import TOLERANCE, Floats, tail

SMALL_EXPECTED = 5
CERTAINTY = 0.999


@dataclass(frozen=True, slots=True)
class Independence:
    """Result of a test of independence.

    chi2, dof   Pearson's statistic without continuity correction, and its degrees of freedom
    p           from the chi-squared distribution, or (1 + exceedances) / (1 + draws) by permutation
    draws       permutations made; 0 where the asymptotic p was used
    cramers_v   strength, in [0, 1]
    """

    chi2: float
    dof: int
    p: float
    draws: int
    cramers_v: float
    method: Literal["chi-squared", "permutation"]


def independence(
    table: ArrayLike,
    *,
    rng: np.random.Generator,
    threshold: float = 1e-4,
    first_draws: int = 999,
    max_draws: int = 100_000,
) -> Independence:
    """Test whether rows and columns of a table of counts are independent (BiasConnect, section 3.3).

    All expected counts at least 5: asymptotic. Otherwise by permutation, that is by random tables with the same
    margins: `first_draws` of them, then more until a 99.9 % Clopper-Pearson interval of p lies on one side of
    `threshold`, or `max_draws` are made. Rows and columns without counts are dropped.

    Args:
        table: (R, C) counts.
        threshold: the p below which the caller will call rows and columns dependent.

    Raises:
        NotEnoughData: fewer than two rows or columns with counts.
        ValueError: not two axes, or something that is not a count.
    """
    counts = _trimmed(table)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    expected = np.outer(rows, columns) / counts.sum()
    chi2 = float(_chi_squared(counts, expected))
    dof = (len(rows) - 1) * (len(columns) - 1)
    strength = float(np.sqrt(chi2 / (counts.sum() * (min(counts.shape) - 1))))
    if expected.min() >= SMALL_EXPECTED:
        return Independence(chi2, dof, float(stats.chi2.sf(chi2, dof)), 0, strength, "chi-squared")
    exceedances = draws = 0
    while draws < max_draws and not _decided(exceedances, draws, threshold):
        more = min(max(draws, first_draws), max_draws - draws)
        tables = stats.random_table(rows, columns, seed=rng).rvs(size=more)
        exceedances += int(np.count_nonzero(_chi_squared(tables, expected) >= chi2 - TOLERANCE * max(chi2, 1.0)))
        draws += more
    return Independence(chi2, dof, (1 + exceedances) / (1 + draws), draws, strength, "permutation")


def _trimmed(table: ArrayLike) -> Floats:
    counts = np.asarray(table, dtype=float)
    if counts.ndim != 2 or not np.all(np.isfinite(counts)) or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError("a table of counts has two axes and holds whole numbers that are not negative")
    counts = np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])
    if min(counts.shape) < 2:
        raise NotEnoughData("a test of independence needs at least two rows and two columns with counts")
    return counts


def _chi_squared(counts: Floats, expected: Floats) -> Floats:
    """(..., R, C) to (...)."""
    return np.asarray(np.einsum("...rc,rc->...", np.square(counts), 1 / expected) - expected.sum())


def _decided(exceedances: int, draws: int, threshold: float) -> bool:
    """Whether a Clopper-Pearson interval of p lies on one side of the threshold."""
    if draws == 0:
        return False
    low = betaincinv(exceedances, draws - exceedances + 1, tail(CERTAINTY)) if exceedances else 0.0
    high = betaincinv(exceedances + 1, draws - exceedances, 1 - tail(CERTAINTY)) if exceedances < draws else 1.0
    return bool(low > threshold or high < threshold)
