"""Distances between two distributions, and Intersectional Sensitivity (BiasConnect, Eq. 1-4).

Distributions p and q are counts or shares of shape (..., K). All functions scale them to sum to 1.
Leading axes broadcast. All functions raise NotEnoughData if a distribution sums to 0 or K < 2. They
raise ValueError for negative or infinite numbers, and for distributions of different lengths. They
raise UnknownName if the name of a distance is not in `DISTANCES`.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData, UnknownName
from askew.stats.distributions import binomial_pmf
from askew.stats.intervals import Floats, positive_counts
from askew.types import Scale

Distance = Callable[[ArrayLike, ArrayLike], Floats]


def wasserstein(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute the Wasserstein distance W1 between two distributions over ranks, divided by K - 1.

    The ranks are 0..K-1. This distance is for ordered values, such as age groups. The distance is
    in [0, 1]. The distance equals the sum of |P - Q| over the first K - 1 cumulative shares P and
    Q, divided by K - 1 (BiasConnect, Eq. 2).
    """
    p, q = distributions(p, q)
    steps = np.abs(np.cumsum(p - q, axis=-1))[..., :-1]
    return np.asarray(steps.sum(axis=-1) / (p.shape[-1] - 1))[()]


def total_variation(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute the total variation distance, which is half the sum of |p - q|, in [0, 1].

    This distance is for values without an order. The distance is the share of images whose value
    would have to change to turn p into q.
    """
    p, q = distributions(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)[()]


def probability_values(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute the Wasserstein distance W1 between two sets of numbers: the shares of p and of q.

    The distance is the mean of |sorted p - sorted q|. If q is uniform, the distance equals the mean
    of |p_k - 1/K|, which lies in [0, 2 (K - 1) / K**2]. The distance ignores which value has which
    share, so it can only measure the deviation from uniform shares. The function raises ValueError
    if q is not uniform.
    """
    p, q = distributions(p, q)
    if not np.allclose(q, 1 / q.shape[-1]):
        raise ValueError(
            "the distance 'values' ignores which value has which share; use a uniform reference"
        )
    return np.asarray(np.abs(p - q).mean(axis=-1))[()]


DISTANCES: Mapping[str, Distance] = {
    "wasserstein": wasserstein,
    "total_variation": total_variation,
    "values": probability_values,
}


def distance_named(distance: str | Distance) -> Distance:
    """Return the distance function with this name. A function is returned unchanged."""
    if not isinstance(distance, str):
        return distance
    UnknownName.unless_known("distance", distance, DISTANCES)
    return DISTANCES[distance]


CHOICES: Mapping[str, str] = {
    "ordinal": "wasserstein",
    "nominal": "total_variation",
    "values": "values",
}
"""Name in `DISTANCES` for each distance that a user can choose, except "auto".

With "auto", the scale of the axis determines the distance.
"""


def distance_for(choice: str, scale: Scale) -> str:
    """Return the name in `DISTANCES` that results from a user's choice and an axis's scale.

    The possible choices are auto, ordinal, nominal and values.
    """
    UnknownName.unless_known("distance", choice, ["auto", *CHOICES])
    return CHOICES[scale if choice == "auto" else choice]


def linear_forms(distance: str, values: int) -> tuple[Floats, float]:
    """Express a distance as a weighted sum of absolute values of linear forms.

    d(p, q) = weight * sum over rows f of |f · (p - q)|. Each form f sums some of the shares, so its
    value is also a share. For the distance "values", the equation holds because q is always
    uniform.

    Parameters
    ----------
    distance
        Name of a distance in `DISTANCES`.
    values
        Number K of values.

    Returns
    -------
    tuple
        Array of L linear forms with zeros and ones, of shape (L, K), and the weight.
    """
    distance_named(distance)
    if values < 2:
        raise NotEnoughData("a distance needs an axis with at least two values")
    if distance == "wasserstein":
        return np.tri(values)[:-1], 1 / (values - 1)
    return np.eye(values), 1 / 2 if distance == "total_variation" else 1 / values


def distance_max(reference: ArrayLike, distance: str | Distance = "total_variation") -> float:
    """Return the maximum distance that any distribution can have from `reference`.

    Distances are convex, so the maximum is reached by a distribution in which all images show the
    same value.
    """
    reference = np.asarray(reference, dtype=float)
    return float(distance_named(distance)(np.eye(len(reference)), reference).max())


def sensitivity(
    initial: ArrayLike,
    after: ArrayLike,
    reference: ArrayLike,
    distance: str | Distance = "total_variation",
) -> Floats:
    """Compute the plug-in Intersectional Sensitivity, without debiasing (BiasConnect, Eq. 4).

    IS = d(initial, reference) - d(after, reference). IS is positive if the intervention brings the
    distribution closer to the reference. `initial` and `after` may be computed from different
    numbers of images. `stats.sensitivity.interactions` corrects for such differences and adds an
    interval.

    Parameters
    ----------
    initial, after, reference : array, (..., K)
        Shares or counts before the intervention, after the intervention, and in the reference.
    distance
        Name of a distance in `DISTANCES`, or a function.
    """
    measure = distance_named(distance)
    return np.asarray(measure(initial, reference) - measure(after, reference))[()]


def distributions(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    """Check two distributions, and scale each to sum to 1 along the last axis.

    Both distributions must have the same K values, K >= 2.
    """
    first = normalised(p, "the first distribution")
    second = normalised(q, "the second distribution")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(
            f"distributions over {first.shape[-1]} and {second.shape[-1]} values; "
            "they must have the same values"
        )
    if first.shape[-1] < 2:
        raise NotEnoughData("a distance needs an axis with at least two values")
    return first, second


def normalised(shares: ArrayLike, name: str = "a distribution") -> Floats:
    """Scale counts or shares to sum to 1 along the last axis."""
    values = positive_counts(shares, name)
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def towards_value(target: Floats, value: int, step: Floats | float) -> Floats:
    """Move shares toward a distribution in which all images show the same value.

    The result is (1 - step) * target + step * e_value.

    Parameters
    ----------
    target : array, (K,)
        Shares at step 0.
    value
        Index of the value that all images show at step 1.
    step : float
        Fraction of the way from `target` to the single value, in [0, 1].
    """
    return np.asarray((1 - step) * target + step * np.eye(len(target))[value])


def expected_distance(n: int, reference: ArrayLike, distance: str = "total_variation") -> float:
    """Compute the exact mean distance between the reference and n images drawn from the reference.

    The result is the mean distance for n images of an unbiased model. Let X be the counts of the
    values in these images. A distance is a weighted sum of |f · (X / n - reference)| over forms f
    that sum shares (`linear_forms`). So f · X is binomial, with n trials and the probability f ·
    reference.

    Parameters
    ----------
    n
        Number of images.
    reference : array, (K,)
        Reference shares.
    distance
        Name of a distance in `DISTANCES`.
    """
    forms, weight = linear_forms(distance, len(np.asarray(reference)))
    shares = forms @ normalised(reference, "the reference")
    counts = np.arange(n + 1)[:, None]
    gaps = np.abs(counts / n - shares)
    return float(weight * (gaps * binomial_pmf(counts, n, shares)).sum())
