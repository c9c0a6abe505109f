"""Distances between two distributions on an axis, and the sensitivity (BiasConnect, Eq. 1-4).

Distributions p, q are (..., K) counts or shares, scaled to sum 1 here; leading axes broadcast. All
functions raise NotEnoughData if a distribution sums to 0 or K < 2, ValueError for negative or
infinite numbers and for different lengths, and UnknownName for a distance that is not in
`DISTANCES`.
"""

from collections.abc import Callable, Mapping

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData, UnknownName
from askew.stats.intervals import Floats, positive_counts
from askew.types import Scale

Distance = Callable[[ArrayLike, ArrayLike], Floats]


def wasserstein(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute W1 between two distributions over ranks 0..K-1, divided by K - 1 (Eq. 2).

    For ordered values such as age. It equals the sum of |P - Q| over the first K - 1 cumulative
    shares, divided by K - 1. In [0, 1].
    """
    p, q = distributions(p, q)
    steps = np.abs(np.cumsum(p - q, axis=-1))[..., :-1]
    return np.asarray(steps.sum(axis=-1) / (p.shape[-1] - 1))[()]


def total_variation(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute half the sum of |p - q|, for values without an order, in [0, 1].

    It is the share that would have to change its value.
    """
    p, q = distributions(p, q)
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)[()]


def probability_values(p: ArrayLike, q: ArrayLike) -> Floats:
    """Compute W1 between the K shares of p and the K shares of q, each as an unlabeled sample.

    It is the mean of |sorted p - sorted q|. With a uniform q it is mean |p_k - 1/K|, in [0, 2 (K -
    1) / K**2]. It ignores which value has which share, so it can only measure deviation from
    uniform shares. If q is not uniform, ValueError is raised.
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
    """Return the distance function with this name; return a function unchanged."""
    if not isinstance(distance, str):
        return distance
    UnknownName.unless_known("distance", distance, DISTANCES)
    return DISTANCES[distance]


CHOICES: Mapping[str, str] = {
    "ordinal": "wasserstein",
    "nominal": "total_variation",
    "values": "values",
}
"""Names of distances by the user's choice; "auto" stands for the scale of the axis."""


def distance_for(choice: str, scale: Scale) -> str:
    """Return the name in `DISTANCES` for a choice and the scale of an axis.

    Choices are auto, ordinal, nominal and values.
    """
    UnknownName.unless_known("distance", choice, ["auto", *CHOICES])
    return CHOICES[scale if choice == "auto" else choice]


def linear_forms(distance: str, values: int) -> tuple[Floats, float]:
    """Return a named distance as a weighted sum of absolute linear forms.

    d(p, q) = weight * sum over rows f of |f . (p - q)|. Every form is a sum of shares, so its value
    is a share. For "values" this holds with a uniform q, the only one that it accepts.

    Parameters
    ----------
    distance
        A name of `DISTANCES`.
    values
        Number K of values.

    Returns
    -------
    tuple
        Forms (L, K) of zeros and ones, and the weight.
    """
    distance_named(distance)
    if values < 2:
        raise NotEnoughData("a distance needs an axis with at least two values")
    if distance == "wasserstein":
        return np.tri(values)[:-1], 1 / (values - 1)
    return np.eye(values), 1 / 2 if distance == "total_variation" else 1 / values


def distance_max(reference: ArrayLike, distance: str | Distance = "total_variation") -> float:
    """Return the largest distance of any distribution from `reference`.

    It is reached if one value has all images, since distances are convex.
    """
    reference = np.asarray(reference, dtype=float)
    return float(distance_named(distance)(np.eye(len(reference)), reference).max())


def sensitivity(
    initial: ArrayLike,
    after: ArrayLike,
    reference: ArrayLike,
    distance: str | Distance = "total_variation",
) -> Floats:
    """Compute the Intersectional Sensitivity, not debiased (BiasConnect, Eq. 4).

    IS = d(initial, reference) - d(after, reference). Positive: the intervention brings the
    distribution closer to the reference. `stats.sensitivity.interactions` corrects for the
    different numbers of images behind the two distributions and adds an interval.

    Parameters
    ----------
    initial, after, reference : array, (..., K)
        Shares or counts.
    distance
        A name of `DISTANCES`, or a function.
    """
    measure = distance_named(distance)
    return np.asarray(measure(initial, reference) - measure(after, reference))[()]


def distributions(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    """Check two distributions and scale them to sum 1 along the last axis.

    They need the same K values, K >= 2.
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
    """Scale counts or shares (..., K) to sum 1 along the last axis."""
    values = positive_counts(shares, name)
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def towards_value(target: Floats, value: int, step: Floats | float) -> Floats:
    """Return shares (K,) between a target and a single value, (1 - step) target + step e_value.

    Parameters
    ----------
    target : array, (K,)
        Shares at step 0.
    value
        Place of the value that has all images at step 1.
    step : float
        Part of the way, in [0, 1].
    """
    return np.asarray((1 - step) * target + step * np.eye(len(target))[value])


def expected_distance(n: int, reference: ArrayLike, distance: str = "total_variation") -> float:
    """Compute the mean distance from the reference of n images drawn from it, exactly.

    It is the mean distance of an unbiased model with n images. A distance is a sum of |f . (X / n -
    reference)| over forms f that add up shares (`linear_forms`), and f . X is binomial with n and f
    . reference.

    Parameters
    ----------
    n
        Number of images.
    reference : array, (K,)
        Reference shares.
    distance
        A name of `DISTANCES`.
    """
    forms, weight = linear_forms(distance, len(np.asarray(reference)))
    shares = forms @ normalised(reference, "the reference")
    counts = np.arange(n + 1)[:, None]
    gaps = np.abs(counts / n - shares)
    return float(weight * (gaps * scipy.stats.binom.pmf(counts, n, shares)).sum())
