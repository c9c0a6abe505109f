"""Agreement between raters: Krippendorff's alpha and Cohen's kappa, with bootstrap intervals.

Ratings are whole numbers in an array of shape (raters, items). Each number is the index of a value,
or -1 where a rater gave no value. Both coefficients are 1 - D_o / D_e. D_o is the observed
disagreement between raters about the same item, and D_e is the disagreement expected by chance. The
weight of a disagreement between two values depends on the scale:

- Nominal: 1 if the values differ, 0 if they are equal (`nominal_weights`).
- Ordinal, for alpha: the squared number of ratings between the two values (Krippendorff 2011,
  section C).
- Ordinal, for kappa: the squared difference between the positions of the two values.

A resample draws items, raters or both with replacement. If a rater is drawn twice, the two copies
are not compared, because only ratings from different raters form pairs. With only two raters, askew
does not resample raters, because half of the resamples would contain only one of them.

All functions raise NotEnoughData if no item has two ratings, or if all ratings are equal, and
ValueError for invalid arrays.
"""

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import LEAST_IMAGES, Floats, critical_value, percentile_interval
from askew.types import Estimate, Scale

Resampled = Literal["items", "raters", "items and raters"]
"""Units that a bootstrap resamples."""

LEAST_RATERS = 3
"""Minimum number of raters for which askew resamples raters."""

BATCH_CELLS = 2**23
"""Maximum number of table cells in one batch of resamples. It limits memory use."""


def krippendorff_alpha(ratings: ArrayLike, values: int, scale: Scale = "nominal") -> float:
    """Return Krippendorff's alpha (2011).

    Parameters
    ----------
    ratings : array, (raters, items)
        Index of the value that each rater gave to each item; -1 for no rating.
    values
        Number of values.
    scale
        Scale of the values. The indices of ordinal values follow the order of the scale.

    Returns
    -------
    float
        Alpha: 1 for perfect agreement, 0 for agreement at the level expected by chance, and
        negative for less agreement than expected by chance.
    """
    answered = _answered(ratings, values)
    ones = np.ones((1, answered.shape[0]))
    pairs = _coincidences(answered, ones, np.ones((1, answered.shape[1])))
    alpha = float(_alphas(pairs, scale)[0])
    _check_defined(alpha, pairs[0])
    return alpha


def alpha_estimate(
    ratings: ArrayLike,
    values: int,
    scale: Scale = "nominal",
    *,
    rng: Generator,
    over: Resampled = "items and raters",
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate Krippendorff's alpha with a bootstrap interval.

    If only items are resampled, the interval applies to new items rated by the same raters. If both
    items and raters are resampled, the interval applies to new items and new raters, and is
    conservative (Owen 2007). If the raters never disagree, alpha is 1 in all resamples. The low end
    is then 1 minus the upper Wilson bound for the rate of an event that occurred in none of the
    items.

    Parameters
    ----------
    ratings : array, (raters, items)
        Index of the value that each rater gave to each item; -1 for no rating.
    values
        Number of values.
    scale
        Scale of the values.
    rng
        Random generator for the resamples.
    over
        Units that are resampled. Raters are resampled only if there are at least three.
    draws
        Number of resamples.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        Alpha with its interval. The interval is missing in two cases: fewer than three items have
        two or more ratings, or only the raters are resampled and there are fewer than three of
        them. `n` is the number of items with two or more ratings.
    """
    answered = _answered(ratings, values)
    alpha = krippendorff_alpha(ratings, values, scale)
    raters, items = answered.shape[:2]
    n = int((answered.any(axis=2).sum(axis=0) >= 2).sum())
    estimate = Estimate(value=alpha, n=n, max=1.0, null=0.0)
    units = _resampled_units(over, raters)
    if not units or n < LEAST_IMAGES:
        return estimate
    drawn = []
    batch = max(BATCH_CELLS // answered[0].size, 1)
    for start in range(0, draws, batch):
        count = min(batch, draws - start)
        of_raters = _unit_weights(raters, count, rng, drawn="raters" in units)
        of_items = _unit_weights(items, count, rng, drawn="items" in units)
        drawn.append(_alphas(_coincidences(answered, of_raters, of_items), scale))
    return _with_interval(estimate, np.concatenate(drawn), f"bootstrap over {units}", level)


def cohen_kappa(ratings: ArrayLike, values: int, scale: Scale = "nominal") -> float:
    """Return Cohen's kappa for two raters.

    For nominal values, the result is the kappa of Cohen (1960). For ordinal values, it is the
    weighted kappa of Cohen (1968), with squared weights.

    Parameters
    ----------
    ratings : array, (2, items)
        Index of the value that each rater gave to each item; -1 for no rating. Items that only one
        rater rated are left out.
    values
        Number of values.
    scale
        Scale of the values.
    """
    table = _table_of_two(ratings, values)
    kappa = float(_kappas(table[None], scale)[0])
    _check_defined(kappa, table)
    return kappa


def kappa_estimate(
    ratings: ArrayLike,
    values: int,
    scale: Scale = "nominal",
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate Cohen's kappa for two raters, with an interval from a bootstrap over items.

    Parameters
    ----------
    ratings : array, (2, items)
        Index of the value that each rater gave to each item; -1 for no rating.
    values
        Number of values.
    scale
        Scale of the values.
    rng
        Random generator for the resamples.
    draws
        Number of resamples.
    level
        Confidence level of the interval, in (0, 1).
    """
    table = _table_of_two(ratings, values)
    kappa = cohen_kappa(ratings, values, scale)
    n = int(table.sum())
    estimate = Estimate(value=kappa, n=n, max=1.0, null=0.0)
    if n < LEAST_IMAGES:
        return estimate
    resampled = rng.multinomial(n, table.ravel() / n, size=draws).reshape(draws, *table.shape)
    return _with_interval(estimate, _kappas(resampled, scale), "bootstrap over items", level)


def nominal_weights(values: int) -> Floats:
    """Return weights of shape (values, values): 1 if two values differ, 0 if they are equal."""
    return np.asarray(1.0 - np.eye(values))


def _answered(ratings: ArrayLike, values: int) -> NDArray[np.bool_]:
    """Return a mask of shape (raters, items, values): True where the rater gave the value."""
    codes = np.asarray(ratings)
    if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError("ratings must be whole numbers in an array of shape (raters, items)")
    if codes.size and not -1 <= codes.min() <= codes.max() < values:
        raise ValueError(f"ratings must lie between -1 and {values - 1}")
    return np.asarray(codes[:, :, None] == np.arange(values))


def _coincidences(answered: NDArray[np.bool_], of_raters: Floats, of_items: Floats) -> Floats:
    """Count, for each pair of values, how often two raters give these two values to the same item.

    The counts are weighted by rater and item, and have the shape (draws, values, values). An item
    whose ratings have the total weight m contributes a total of m to the counts. This total is
    divided equally among all pairs of different raters.

    Parameters
    ----------
    answered : array, (raters, items, values)
        True where a rater gave the value.
    of_raters, of_items : array, (draws, raters) and (draws, items)
        Weight of each rater and of each item in each draw.
    """
    raters, items, values = answered.shape
    flat = answered.reshape(raters, items * values).astype(float)
    draws = len(of_raters)
    counts = (of_raters @ flat).reshape(draws, items, values)
    with_itself = (np.square(of_raters) @ flat).reshape(draws, items, values)
    ratings = counts.sum(axis=2)
    pairs = np.square(ratings) - with_itself.sum(axis=2)
    share = np.divide(ratings, pairs, out=np.zeros_like(pairs), where=pairs > 0) * of_items
    of_values = np.swapaxes(counts * share[..., None], 1, 2) @ counts
    diagonal = np.einsum("di,div->dv", share, with_itself)
    of_values[:, np.arange(values), np.arange(values)] -= diagonal
    return np.asarray(np.maximum(of_values, 0))


def _alphas(pairs: Floats, scale: Scale) -> Floats:
    """Return alpha for each coincidence table, or NaN if all ratings in the table are equal."""
    ratings = pairs.sum(axis=2)
    total = ratings.sum(axis=1)
    weights = _alpha_weights(ratings, scale)
    observed = (pairs * weights).sum(axis=(1, 2))
    expected = (ratings[:, :, None] * ratings[:, None, :] * weights).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        alphas = 1 - (total - 1) * observed / expected
    return np.asarray(np.where(expected > 0, alphas, np.nan))


def _alpha_weights(ratings: Floats, scale: Scale) -> Floats:
    """Return the weights of disagreements, as an array of shape (draws, values, values)."""
    draws, values = ratings.shape
    if scale == "nominal":
        return np.broadcast_to(nominal_weights(values), (draws, values, values))
    middle = np.cumsum(ratings, axis=1) - ratings / 2
    return np.asarray(np.square(middle[:, :, None] - middle[:, None, :]))


def _table_of_two(ratings: ArrayLike, values: int) -> NDArray[np.int64]:
    """Count the items for each pair of values from the first (rows) and second rater (columns)."""
    answered = _answered(ratings, values)
    if len(answered) != 2:
        raise ValueError(f"kappa is defined for two raters, not for {len(answered)}")
    table = answered[0].astype(np.int64).T @ answered[1].astype(np.int64)
    if not table.any():
        raise NotEnoughData("no item has labels from both raters")
    return np.asarray(table)


def _kappas(tables: NDArray[np.int64], scale: Scale) -> Floats:
    """Return kappa for each table of shape (values, values), or NaN if all ratings are equal."""
    values = tables.shape[1]
    weights = nominal_weights(values)
    if scale == "ordinal":
        positions = np.arange(values, dtype=float)
        weights = np.square(positions[:, None] - positions)
    total = tables.sum(axis=(1, 2))
    observed = (tables * weights).sum(axis=(1, 2))
    chance = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
    expected = (chance * weights).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        kappas = 1 - total * observed / expected
    return np.asarray(np.where(expected > 0, kappas, np.nan))


def _check_defined(coefficient: float, pairs: Floats | NDArray[np.int64]) -> None:
    """Raise NotEnoughData if no item has two labels, or if the coefficient is NaN."""
    if not pairs.any():
        raise NotEnoughData("no item has labels from two raters")
    if np.isnan(coefficient):
        raise NotEnoughData("all labels are equal, so the agreement cannot be corrected for chance")


def _resampled_units(over: Resampled, raters: int) -> str:
    """Return what to resample ("items", "raters" or both); "" if there are too few raters."""
    if raters >= LEAST_RATERS or over == "items":
        return over
    return "items" if over == "items and raters" else ""


def _unit_weights(count: int, draws: int, rng: Generator, *, drawn: bool) -> Floats:
    """Return the number of times each rater or item occurs in each draw (1 if `drawn` is False)."""
    if not drawn:
        return np.ones((draws, count))
    return rng.multinomial(count, np.full(count, 1 / count), size=draws).astype(float)


def _with_interval(estimate: Estimate, drawn: Floats, method: str, level: float) -> Estimate:
    """Return the estimate with an interval computed from the resampled values."""
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return estimate
    low, high = percentile_interval(defined, level)
    complete = partial(replace, estimate, level=level, interval=method)
    if estimate.value == 1:
        return complete(low=_low_end_of_agreement(int(estimate.n or 1), level), high=1.0)
    return complete(low=min(low, estimate.value), high=max(high, estimate.value))


def _low_end_of_agreement(items: int, level: float) -> float:
    """Return 1 minus the upper Wilson bound for an event that never occurred in `items` items."""
    square = critical_value(level) ** 2
    return items / (items + square)
