"""Generic pieces of inference: bootstrap, percentile intervals, test inversion, null summaries,
many tests at once.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.types import CorrectedForm, Estimate

Floats = NDArray[np.float64]
Test = Callable[[Floats], ArrayLike]
BOUNDED_FORM: CorrectedForm = "(value - null) / (max - null)"
POINT = 1e-9  # an interval at this level is as good as a point: the median-unbiased estimate
ENOUGH = 10  # null draws as large as a score from which its p-value is known well enough
TOLERANCE = 1e-9  # scores closer than this count as equal, so that rounding decides no p-value


def tail(level: float) -> float:
    """Probability left out on each side of a central interval, in (0, 0.5)."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1")
    return (1 - level) / 2


def student_stretch(level: float, freedom: int) -> float:
    """How much wider Student's interval is than a normal one."""
    return float(scipy.stats.t.isf(tail(level), freedom) / scipy.stats.norm.isf(tail(level)))


def array_of(
    numbers: ArrayLike,
    name: str = "a picture set",
    axes: str = "(pictures, columns)",
    finite: bool = True,
) -> Floats:
    """`numbers` as an array with these axes: NotEnoughData without any, ValueError for others, and
    for a number that is not finite where all must be.
    """
    x = np.asarray(numbers, dtype=float)
    if x.ndim != axes.count(",") + 1:
        raise ValueError(f"{name} has {x.ndim} axes; {axes} is needed")
    if not x.size:
        raise NotEnoughData(f"{name}: nothing there; at least one picture with an answer is needed")
    if finite and not np.all(np.isfinite(x)):
        raise ValueError(f"{name} holds numbers that are not finite")
    return x


def in_order(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows sorted, so that random draws do not depend on the order of the pictures."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows


def bootstrap_weights(n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Weights of n pictures in `draws` resamples with replacement: (draws, n), each row sums to 1."""
    return np.asarray(rng.multinomial(n, np.full(n, 1 / n), size=draws) / n)


def bootstrap_errors(pictures: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Sampling errors of the mean of a (pictures, columns) array: (draws, columns), centred at 0.

    Stretched by sqrt(n / (n - 1)), as a resample varies less than a fresh sample. One picture shows
    no error.
    """
    n = len(pictures)
    errors = bootstrap_weights(n, draws, rng) @ pictures - pictures.mean(axis=0)
    return np.asarray(errors * np.sqrt(n / max(n - 1, 1)))


def percentile_interval(draws: Floats, level: float) -> tuple[float, float]:
    """The central `level` of bootstrap draws: (draws,) to (low, high)."""
    low, high = np.quantile(draws, [tail(level), 1 - tail(level)])
    return float(low), float(high)


def first_accepted(
    accepts: Test,
    start: ArrayLike,
    stop: ArrayLike,
    steps: int = 10,
    accepted: ArrayLike | None = None,
) -> Floats:
    """Where tests along paths from `start` to `stop`, (...), turn from rejecting to accepting, by
    bisection.

    `accepts(start)`, or `accepted` where that is known, decides at once where true; `stop` is the
    answer where nothing before it is accepted.
    """
    at_start = np.asarray(accepts(np.asarray(start)) if accepted is None else accepted)
    rejected = np.asarray(start)
    agreed = np.where(at_start, start, stop)
    for _ in range(0 if at_start.all() else steps):
        middle = (rejected + agreed) / 2
        agrees = accepts(middle)
        rejected = np.where(agrees, rejected, middle)
        agreed = np.where(agrees, middle, agreed)
    return np.where(at_start, start, agreed)


def p_value(value: float, null_draws: Floats) -> float:
    """Share of null draws at least as large as the value: (1 + exceedances) / (1 + draws)."""
    return float((1 + np.count_nonzero(null_draws >= value - TOLERANCE)) / (1 + len(null_draws)))


def p_by_rounds(observed: ArrayLike, rounds: Iterable[Floats]) -> Floats:
    """`p_value` of scores (...), by rounds of null draws (draws, ...) until each is reached
    `ENOUGH` times or no more are left.
    """
    reached = np.zeros(np.shape(observed))
    made = 0
    for null in rounds:
        reached = reached + (null >= np.asarray(observed) - TOLERANCE).sum(axis=0)
        made = made + len(null)
        if reached.min() >= ENOUGH:
            break
    return np.asarray((1 + reached) / (1 + made))


def corrected(estimate: Estimate, null: float, p: float, maximum: float = 1.0) -> Estimate:
    """A bounded score with its null, p-value and chance-corrected value. `corrected` is unclipped;
    it is None where the null is already the maximum and leaves no room.
    """
    room = maximum - null
    beyond, form = (
        ((estimate.value - null) / room, BOUNDED_FORM) if room > TOLERANCE else (None, None)
    )
    return replace(estimate, null=null, max=maximum, corrected=beyond, corrected_form=form, p=p)


def less_null(estimate: Estimate, null: float, p: float | None) -> Estimate:
    """A signed score with its null, p-value, and `corrected` as what it lies above the null."""
    beyond = estimate.value - null
    return replace(estimate, null=null, corrected=beyond, corrected_form="value - null", p=p)


def simultaneous(estimate: Estimate, tests: int) -> tuple[float, float]:
    """The ends of an interval stretched so that those of `tests` estimates hold all at once
    (Bonferroni). Either reach is taken as a normal quantile times a standard error.
    """
    outer = tail(estimate.level or 0.95)
    stretch = float(scipy.stats.norm.isf(outer / max(tests, 1)) / scipy.stats.norm.isf(outer))
    low, high = ends(estimate)
    return estimate.value - stretch * (estimate.value - low), estimate.value + stretch * (
        high - estimate.value
    )


def ends(estimate: Estimate) -> tuple[float, float]:
    """Low and high end of an estimate's interval; its value where it has none."""
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return low, high


def mover(
    a: float,
    b: float,
    of_a: tuple[float, float],
    of_b: tuple[float, float],
    correlation: float = 0.0,
) -> tuple[float, float]:
    """Interval of a - b from the intervals of both, whose errors have a correlation (MOVER; Zou and
    Donner 2008).
    """

    def reach(x: float, y: float) -> float:
        return math.sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))

    return a - b - reach(a - of_a[0], of_b[1] - b), a - b + reach(of_a[1] - a, b - of_b[0])


def positive_counts(counts: ArrayLike, name: str = "counts", whole: bool = False) -> Floats:
    """`counts` as an array (..., values) with an observation in every row, NotEnoughData otherwise."""
    c = np.asarray(counts, dtype=float)
    if c.ndim == 0 or not ((c >= 0) & (c < np.inf)).all() or (whole and np.any(c % 1)):
        raise ValueError(
            f"{name} must hold finite {'whole ' if whole else ''}numbers that are not negative"
        )
    if not c.sum(axis=-1).all():
        raise NotEnoughData(f"{name}: all zero; at least one picture with an answer is needed")
    return c


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """q-values of a family of m p-values (Benjamini & Hochberg 1995): min over p_j >= p of p_j * m
    / rank_j, at most 1.

    `p` is (tests,), each in [0, 1], ValueError otherwise. Tests that were not made must be left out
    by the caller.
    """
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p-values must be one list of numbers in [0, 1]")
    return np.asarray(scipy.stats.false_discovery_control(values)) if len(values) else values


def holm_then_bh(tests: Sequence[Sequence[float]]) -> list[tuple[float, float, list[float]]]:
    """A verdict per family of tests of one null hypothesis, and q-values of its members that never
    contradict it.

    The family's p is that of its first step by Holm (1979), min(1, m * smallest p). Its q is by
    Benjamini and Hochberg over all families. A member's q is its own Holm p, scaled as the family's
    was: selected families are tested at the level that selection leaves (Benjamini & Bogomolov
    2014). So a member has a q below a level only where its family has, and a family has only where
    a member has. `tests` are by family the p-values of its members, at least one; returned are by
    family p, q, and the q of every member.
    """
    holm = []
    for members in tests:
        order = np.argsort(members, kind="stable")
        steps = np.maximum.accumulate(
            np.asarray(members, dtype=float)[order] * np.arange(len(members), 0, -1)
        )
        holm.append(np.minimum(steps, 1.0)[np.argsort(order)])
    firsts = np.array([own.min() for own in holm])
    found = []
    for own, p, q in zip(holm, firsts, benjamini_hochberg(firsts), strict=True):
        scale = q / p if p else 1.0
        found.append((float(p), float(q), [float(one) for one in np.minimum(own * scale, 1.0)]))
    return found
