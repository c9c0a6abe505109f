"""Tools for statistical inference: bootstrap, intervals, test inversion and multiple testing."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.distributions import normal_isf, student_isf
from askew.types import CorrectedForm, Estimate

Floats = NDArray[np.float64]
Test = Callable[[Floats], ArrayLike]
BOUNDED_FORM: CorrectedForm = "(value - null) / (max - null)"
POINT = 1e-9  # an interval at this level is as good as a point: the median-unbiased estimate
ENOUGH = 10  # null draws as large as a score from which its p-value is known well enough
LEAST_IMAGES = 3
"""Minimum number of images needed to compute an interval by resampling.

All resamples of one image are equal, and half of the resamples of two images contain only one image.
"""

TOLERANCE = 1e-9  # scores closer than this count as equal, so that rounding decides no p-value


def tail(level: float) -> float:
    """Return the probability, in (0, 0.5), that a central interval leaves out on each side."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1")
    return (1 - level) / 2


def critical_value(level: float) -> float:
    """Return half the width of a central interval of the standard normal distribution."""
    return normal_isf(tail(level))


def student_stretch(level: float, freedom: float) -> float:
    """Return the ratio of the width of Student's interval to the width of a normal interval."""
    return student_isf(tail(level), freedom) / critical_value(level)


def fisher_interval(r: float, error: float, level: float) -> tuple[float, float]:
    """Return the interval for a correlation, computed as a normal interval on Fisher's z scale.

    Parameters
    ----------
    r
        The correlation, in (-1, 1).
    error
        Standard error of z = artanh(r).
    level
        Confidence level of the interval, in (0, 1).
    """
    z = math.atanh(r)
    reach = critical_value(level) * error
    return math.tanh(z - reach), math.tanh(z + reach)


def array_of(
    numbers: ArrayLike,
    name: str = "an image set",
    axes: str = "(images, columns)",
    finite: bool = True,
) -> Floats:
    """Convert numbers to an array, and check that the array has these dimensions.

    Parameters
    ----------
    numbers
        The numbers.
    name
        Name of the array in error messages.
    axes
        Names of the array's dimensions, as in "(images, columns)".
    finite
        Whether all numbers must be finite.

    Raises
    ------
    NotEnoughData
        If there are no numbers.
    ValueError
        If the number of dimensions is wrong, or if a number must be finite but is not.
    """
    x = np.asarray(numbers, dtype=float)
    if x.ndim != axes.count(",") + 1:
        raise ValueError(f"{name} has {x.ndim} axes; {axes} is needed")
    if not x.size:
        raise NotEnoughData(f"{name} is empty; at least one image with an answer is needed")
    if finite and not np.all(np.isfinite(x)):
        raise ValueError(f"{name} contains numbers that are not finite")
    return x


def in_order(rows: NDArray[Any]) -> NDArray[Any]:
    """Sort rows, so that random draws do not depend on the order of the images."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows


def bootstrap_weights(n: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw bootstrap resamples, as image weights of shape (draws, n) whose rows sum to 1."""
    return np.asarray(rng.multinomial(n, np.full(n, 1 / n), size=draws) / n)


def bootstrap_errors(pictures: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw sampling errors of the mean of an image set, centered at 0.

    The errors are stretched by sqrt(n / (n - 1)), because a resample varies less than a new sample.
    With fewer than `LEAST_IMAGES` images, even the stretched errors are too small for an interval
    (`from_enough`).

    Parameters
    ----------
    pictures : array, (images, columns)
        The image set.
    draws
        Number of draws.
    rng
        Random generator for the draws.

    Returns
    -------
    array, (draws, columns)
    """
    n = len(pictures)
    errors = bootstrap_weights(n, draws, rng) @ pictures - pictures.mean(axis=0)
    return np.asarray(errors * np.sqrt(n / max(n - 1, 1)))


def percentile_interval(draws: Floats, level: float) -> tuple[float, float]:
    """Return the lower and upper limit of the central interval of bootstrap draws."""
    low, high = quantile(draws, [tail(level), 1 - tail(level)])
    return float(low), float(high)


def quantile(draws: Floats, shares: ArrayLike) -> Floats:
    """Return the same quantiles as `numpy.quantile`, in a fifth of the time if there are few draws.

    Parameters
    ----------
    draws : array, (draws,)
        The bootstrap draws.
    shares : array, (...)
        Fraction of the draws that are below each quantile, in [0, 1].

    Returns
    -------
    array, (...)
    """
    ordered = np.sort(draws)
    last = len(ordered) - 1
    if np.isnan(ordered[last]):  # sorted to the end
        return np.full(np.shape(shares), np.nan)
    position = np.asarray(shares) * last
    below = position.astype(np.intp)
    part = position - below
    low = ordered[below]
    high = ordered[np.minimum(below + 1, last)]
    # from the nearer end, as NumPy does
    return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))


def from_enough(estimate: Estimate, *images: int) -> Estimate:
    """Remove the interval from an estimate if a set has too few images for resampling.

    Parameters
    ----------
    estimate
        The estimate.
    *images
        Number of images in each resampled set.
    """
    if min(images) >= LEAST_IMAGES:
        return estimate
    return replace(estimate, low=None, high=None, level=None, interval=None, debiased=None)


def first_accepted(
    accepts: Test,
    start: ArrayLike,
    stop: ArrayLike,
    steps: int = 10,
    accepted: ArrayLike | None = None,
) -> Floats:
    """Find, by bisection, where the test result on each path changes from rejection to acceptance.

    Parameters
    ----------
    accepts
        Function that tests one position on each path, and returns True for each path on which the
        position is accepted.
    start, stop : array, (...)
        First and last position on each path. The function returns `stop` if no earlier position is
        accepted.
    steps
        Number of bisections.
    accepted : array, (...), optional
        Result of the test at `start`, if it is known. Where `accepted` is True, the function
        returns `start`.
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
    """Return the p-value: (1 + number of draws that reach the value) / (1 + number of draws)."""
    return float((1 + np.count_nonzero(null_draws >= value - TOLERANCE)) / (1 + len(null_draws)))


def p_by_rounds(observed: ArrayLike, rounds: Iterable[Floats]) -> Floats:
    """Compute the p-value of each score from several rounds of null draws.

    Each round is an array of shape (draws, ...). The function stops early once at least `ENOUGH`
    null draws have reached each score.
    """
    reached = np.zeros(np.shape(observed))
    draws = 0
    for null in rounds:
        reached = reached + (null >= np.asarray(observed) - TOLERANCE).sum(axis=0)
        draws = draws + len(null)
        if reached.min() >= ENOUGH:
            break
    return np.asarray((1 + reached) / (1 + draws))


def corrected(estimate: Estimate, null: float, p: float, maximum: float = 1.0) -> Estimate:
    """Add the null value, p-value and chance-corrected value to a score with a known maximum.

    The chance-corrected value is not clipped, and is None if the null value equals the maximum.
    """
    room = maximum - null
    if room <= TOLERANCE:
        return replace(estimate, null=null, max=maximum, corrected=None, corrected_form=None, p=p)
    share = (estimate.value - null) / room
    return replace(
        estimate, null=null, max=maximum, corrected=share, corrected_form=BOUNDED_FORM, p=p
    )


def less_null(estimate: Estimate, null: float, p: float | None) -> Estimate:
    """Add the null value, p-value and corrected value (value minus null) to a signed score."""
    difference = estimate.value - null
    return replace(estimate, null=null, corrected=difference, corrected_form="value - null", p=p)


def simultaneous(estimate: Estimate, tests: int) -> tuple[float, float]:
    """Return the limits of an interval that is widened for `tests` simultaneous estimates.

    Bonferroni's correction is used. Each half of the interval is treated as a normal quantile times
    a standard error.
    """
    outer = tail(estimate.level or 0.95)
    quantile = normal_isf(outer / max(tests, 1))
    stretch = quantile / normal_isf(outer)
    low, high = ends(estimate)
    value = estimate.value
    return value - stretch * (value - low), value + stretch * (high - value)


def ends(estimate: Estimate) -> tuple[float, float]:
    """Return the limits of the interval. If there is no interval, both limits equal the value."""
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return low, high


def sure_ends(estimate: Estimate) -> tuple[float, float]:
    """Return the limits of the interval. If there is no interval, the limits are infinite."""
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    return low, high


def mover(
    a: float,
    b: float,
    of_a: tuple[float, float],
    of_b: tuple[float, float],
    correlation: float = 0.0,
) -> tuple[float, float]:
    """Return the interval for a - b from the intervals for a and b (MOVER; Zou and Donner 2008).

    Parameters
    ----------
    a, b
        The two scores.
    of_a, of_b
        Intervals (low, high) of the two scores.
    correlation
        Correlation between the errors of the two scores.
    """

    def reach(x: float, y: float) -> float:
        return math.sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))

    low = a - b - reach(a - of_a[0], of_b[1] - b)
    high = a - b + reach(of_a[1] - a, b - of_b[0])
    return low, high


def positive_counts(counts: ArrayLike, name: str = "counts", whole: bool = False) -> Floats:
    """Return counts as an array, and check that each row contains at least one observation.

    The function raises NotEnoughData if a row contains only zeros, and ValueError if a number is
    negative or infinite.
    """
    c = np.asarray(counts, dtype=float)
    is_positive = c.ndim > 0 and ((c >= 0) & (c < np.inf)).all()
    if not is_positive or (whole and np.any(c % 1)):
        numbers = "whole numbers" if whole else "numbers"
        raise ValueError(f"{name} must be finite, non-negative {numbers}")
    if not c.sum(axis=-1).all():
        raise NotEnoughData(
            f"all numbers in {name} are 0; at least one image with an answer is needed"
        )
    return c


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Return the q-values of a family of m p-values (Benjamini & Hochberg 1995).

    q = min over p_j >= p of p_j * m / rank_j, at most 1. The caller must leave out tests that were
    not carried out.

    Parameters
    ----------
    p : array, (tests,)
        p-values in [0, 1]. Other numbers raise ValueError.
    """
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p-values must be a single list of numbers in [0, 1]")
    if len(values) == 0:
        return values
    order = np.argsort(values)
    scaled = values[order] * len(values) / np.arange(1, len(values) + 1)
    q = np.empty_like(values)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def holm_then_bh(tests: Sequence[Sequence[float]]) -> list[tuple[float, float, list[float]]]:
    """Return p and q for each family of tests, and a q-value for each member of a family.

    The p of a family comes from the first step of Holm (1979), min(1, m * smallest p). The q of a
    family comes from Benjamini and Hochberg's method, applied to all families. The q of a member is
    its Holm-adjusted p times the ratio q / p of the family, because selected families are tested at
    a reduced level (Benjamini & Bogomolov 2014). So if a member's q is below a level, the q of its
    family is also below this level. If the q of a family is below a level, the q of at least one
    member is also below that level.

    Parameters
    ----------
    tests
        For each family, the p-values of its members. Each family has at least one member.

    Returns
    -------
    list of tuple
        For each family: its p, its q, and the q of each member.
    """
    adjusted_families = [holm(members) for members in tests]
    smallest = np.array([adjusted.min() for adjusted in adjusted_families])
    verdicts = []
    for adjusted, p, q in zip(
        adjusted_families, smallest, benjamini_hochberg(smallest), strict=True
    ):
        scale = q / p if p else 1.0
        members = np.minimum(adjusted * scale, 1.0).tolist()
        verdicts.append((float(p), float(q), members))
    return verdicts


def holm(p: Sequence[float]) -> Floats:
    """Return a family's p-values, adjusted by Holm's method (1979), in their original order."""
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    steps = np.maximum.accumulate(np.asarray(p, dtype=float)[order] * factors)
    return np.asarray(np.minimum(steps, 1.0)[np.argsort(order)])
