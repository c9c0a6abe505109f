"""Rates and means over pictures that come in clusters: several edits of one source picture are no
independent draws.

Arrays are (clusters, members), NaN where a member gave no answer. Rows are independent of each
other; where two arrays are compared, their rows belong together in pairs. NotEnoughData is raised
without any answer, or pair of rows where a comparison needs one; ValueError for other arrays.
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import (
    TOLERANCE,
    Floats,
    array_of,
    bootstrap_errors,
    corrected,
    ends,
    mover,
    percentile_interval,
    student_stretch,
)
from askew.stats.shares import wilson
from askew.types import Estimate

BATCH_OF_DRAWS = 1000


def clustered_rate(happened: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Share of members in which something happened, in [0, 1].

    Interval: Wilson's at the effective number of members, which is their number over the design
    effect (variance of the share over clusters against independent members), held within 1 and the
    size of a cluster, and less for few clusters (t for z). Where all members agree, clusters count
    once. `happened` holds 0, 1 and NaN.
    """
    x = _checked(happened)
    if not np.isin(x[~np.isnan(x)], (0, 1)).all():
        raise ValueError("a rate needs 0, 1 or NaN for every member")
    answered = x[~np.isnan(x).all(axis=1)]
    counts = (~np.isnan(answered)).sum(axis=1)
    sums = np.nansum(answered, axis=1)
    n = int(counts.sum())
    clusters = len(counts)
    largest = float(counts.max())
    share = float(sums.sum() / n)
    effective = 1.0
    if clusters > 1:
        independent = share * (1 - share) / n
        variance = clusters / (clusters - 1) * float(((sums - share * counts) ** 2).sum()) / n**2
        effect = largest if independent == 0 else min(max(variance / independent, 1.0), largest)
        effective = n / effect / student_stretch(level, clusters - 1) ** 2
    low, high = wilson(share, effective, level)
    return Estimate(share, low, high, level, "Wilson, effective size", n, int(x.size - n), max=1.0)


def clustered_rate_difference(
    first: ArrayLike, second: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Share in `first` less that in `second`, in [-1, 1].

    Interval: both shares' intervals joined (MOVER; Newcombe 1998), less the correlation of their
    clusters, which are pairs by row where both have answers. p: pairs change places at random,
    two-sided.
    """
    x = _checked(first)
    y = _checked(second)
    one, other = _paired(x, y)
    r = (
        0.0
        if len(one) < 3 or one.std() == 0 or other.std() == 0
        else float(np.corrcoef(one, other)[0, 1])
    )
    r = (
        max(r - 1 / len(one), 0.0) if r > 0 else r
    )  # what chance adds would make the interval too narrow
    found = rate_gap(x, y, level, "MOVER, Wilson, paired", r)
    return replace(found, null=0.0, p=sign_flip_p(one - other, rng, draws))


def rate_gap(
    first: ArrayLike, second: ArrayLike, level: float, name: str, correlation: float = 0.0
) -> Estimate:
    """The share in `first` less that in `second`, in [-1, 1], by both shares' intervals joined
    (MOVER).
    """
    a = clustered_rate(first, level=level)
    b = clustered_rate(second, level=level)
    low, high = mover(a.value, b.value, ends(a), ends(b), correlation)
    n = (a.n or 0) + (b.n or 0)
    missing = a.missing + b.missing
    return Estimate(
        a.value - b.value, max(low, -1.0), min(high, 1.0), level, name, n, missing, max=1.0
    )


def rate_above_floor(
    happened: ArrayLike, floor: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> tuple[Estimate, Estimate]:
    """A rate with, as its null, the rate at which the same happens to the same clusters by the
    measurement alone.

    `corrected` is (rate - floor) / (1 - floor). p: one-sided, pairs of a cluster's rate and its
    floor change places. `floor` is (clusters, members or 1), of the same clusters. The rate and the
    floor are returned.
    """
    x = _checked(happened)
    y = _checked(floor)
    rate = clustered_rate(x, level=level)
    base = clustered_rate(y, level=level)
    one, other = _paired(x, y)
    return corrected(rate, base.value, sign_flip_p(one - other, rng, draws, one_sided=True)), base


def clustered_mean(
    values: ArrayLike,
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    null: float | None = None,
) -> Estimate:
    """Mean over clusters of the means of their members, with a bootstrap interval over clusters.

    With `null`, p is two-sided by flipping the signs of the clusters' distances from it.
    """
    x = _checked(values)
    rows = _means(x)
    missing = int(np.isnan(x).sum())
    name = "bootstrap over sources"
    mean = float(rows.mean())
    low, high = percentile_interval(mean + bootstrap_errors(rows[:, None], draws, rng)[:, 0], level)
    p = None if null is None else sign_flip_p(rows - null, rng, draws)
    return Estimate(mean, low, high, level, name, int(x.size - missing), missing, null=null, p=p)


def clustered_mean_difference(
    first: ArrayLike, second: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Mean of `first` less that of `second`, over the pairs of clusters in which both have a value;
    p by sign flips.
    """
    one, other = _paired(_checked(first), _checked(second))
    return clustered_mean((one - other)[:, None], rng=rng, draws=draws, level=level, null=0.0)


def _checked(values: ArrayLike) -> Floats:
    x = array_of(values, "an array of clusters", "(clusters, members)", finite=False)
    if np.isnan(x).all():
        raise NotEnoughData("no member of any cluster has a value")
    return x


def _means(x: Floats) -> Floats:
    return np.asarray(np.nanmean(x[~np.isnan(x).all(axis=1)], axis=1))


def _paired(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The cluster means of both arrays, of the rows in which both have a value."""
    x, y = x[: len(y)], y[: len(x)]
    both = ~(np.isnan(x).all(axis=1) | np.isnan(y).all(axis=1))
    if not both.any():
        raise NotEnoughData("no two clusters have values in both sets")
    return _means(x[both]), _means(y[both])


def sign_flip_p(
    differences: Floats, rng: Generator, draws: int, *, one_sided: bool = False
) -> float:
    """(1 + draws at least as far) / (1 + draws) for the mean of differences whose signs are random
    under the null.
    """
    differences = differences[np.lexsort((differences, np.abs(differences)))]
    observed = float(differences.sum())
    exceeding = 0
    for start in range(0, draws, BATCH_OF_DRAWS):
        signs = rng.choice((-1.0, 1.0), size=(min(BATCH_OF_DRAWS, draws - start), len(differences)))
        sums = signs @ differences
        far = (
            sums >= observed - TOLERANCE if one_sided else np.abs(sums) >= abs(observed) - TOLERANCE
        )
        exceeding += int(far.sum())
    return (1 + exceeding) / (1 + draws)
