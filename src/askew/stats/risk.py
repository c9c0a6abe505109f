"""Risk difference: how much more often one group is shown than another (BiasMap, section 2.2)."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.differences import wilson
from askew.types import Estimate


def risk_difference(first: int, second: int, n: int, *, level: float = 0.95, missing: int = 0) -> Estimate:
    """|P(first) - P(second)| among n answers, `first` and `second` of which name the two groups; 0 to 1.

    Interval: Wilson's intervals of both shares joined (MOVER) with the correlation of two shares of one sample, and
    folded at 0. For two groups that make up all answers this is Wilson's interval of one share. Null: the mean if both
    groups were equally frequent, which is not 0. p: exact sign test of one group against the other, two-sided.

    Raises:
        NotEnoughData: no answer.
        ValueError: counts that do not fit.
    """
    if min(first, second) < 0 or first + second > n:
        raise ValueError(f"{first} and {second} of {n} answers: counts that do not fit")
    if n == 0:
        raise NotEnoughData("no answer; at least one is needed")
    low, high = _signed(first / n, second / n, n, wilson(first, n, level), wilson(second, n, level))
    ends = (low, high) if low > 0 else (-high, -low) if high < 0 else (0.0, max(-low, high))
    value, null, both = abs(first - second) / n, _null(first + second, n), first + second
    p = float(stats.binomtest(first, both).pvalue) if both else 1.0
    room = 1 - null
    corrected = (value - null) / room if room > 0 else None
    return Estimate(value, ends[0], ends[1], level, "Wilson, MOVER, folded", n, missing, null, 1.0, corrected,
                    None if corrected is None else "(value - null) / (max - null)", p)  # fmt: skip


def _signed(p: float, q: float, n: int, of_p: tuple[float, float], of_q: tuple[float, float]) -> tuple[float, float]:
    """Interval of p - q."""
    spread = math.sqrt((1 - p) * (1 - q))
    r = -math.sqrt(p * q) / spread if spread else -1.0
    below = _reach(p - of_p[0], of_q[1] - q, r)
    above = _reach(of_p[1] - p, q - of_q[0], r)
    return max(p - q - below, -1.0), min(p - q + above, 1.0)


def _reach(x: float, y: float, r: float) -> float:
    return math.sqrt(max(x * x + y * y - 2 * r * x * y, 0.0))


def _null(both: int, n: int) -> float:
    """Mean of |first - second| / n if each of `both` answers named either group with probability 1/2."""
    k = np.arange(both + 1)
    return float(np.sum(stats.binom.pmf(k, both, 0.5) * np.abs(2 * k - both)) / n)
