"""Shares of the values of one axis in one picture set, their distance from an ideal, and what could
have been shown.

Counts are (K,) whole numbers of pictures that show each value, `missing` pictures without an
answer, recorded only. NotEnoughData is raised without any answer, ValueError for what is not a
count and for shapes that do not fit.
"""

import math
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.distance import (
    DISTANCES,
    Distance,
    distance_max,
    distance_named,
    distance_p,
    normalised,
)
from askew.stats.distance_intervals import METHOD, SampledShares, as_exact_together
from askew.stats.intervals import (
    Floats,
    corrected,
    first_accepted,
    p_by_rounds,
    positive_counts,
    tail,
)
from askew.types import Estimate

BISECTIONS = 50
DETECTION_DRAWS = 10_000
POWER = 0.9  # with which a distance is said to be one that would have been shown
MOST = 100_000  # samples for p where it has no exact law


def share_intervals(
    counts: ArrayLike, *, level: float = 0.95, missing: int = 0
) -> tuple[Estimate, ...]:
    """The share of every value, with the mid-P version of the Clopper-Pearson interval.

    At a count of 0 or of all pictures, where mid-P is a little short, the far end is that of
    Clopper and Pearson. Chosen by exact coverage: never below .925 for 10 to 200 pictures and any
    share, .95 to .97 on average.
    """
    c = axis_counts(counts)
    n = int(c.sum())
    return tuple(
        Estimate(
            k / n,
            1 - _mid_p_upper(n - k, n, level),
            _mid_p_upper(k, n, level),
            level,
            "mid-P Clopper-Pearson",
            n,
            missing,
            max=1.0,
        )
        for k in c.tolist()
    )


def distance_estimate(
    counts: ArrayLike,
    reference: ArrayLike,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
    missing: int = 0,
    reference_images: int | None = None,
) -> Estimate:
    """Distance of the shares from an ideal: plug-in value, interval of the population's distance,
    null, p, corrected.

    The interval is by test inversion (`distance_intervals`) and may lie below the value. The null
    is the distance of as many pictures drawn from the ideal itself; p is that of their exact law
    (`distance_p`), or by draws where that is large. The ideal (K,) is shares, or weights, that
    would be no bias; `distance` is a name of `distance.DISTANCES`, or a function of two
    distributions. Where the ideal was counted in `reference_images` of a reference, both err:
    interval, null and p are those of as few pictures as err like their difference.
    """
    c = axis_counts(counts)
    target = normalised(reference, "the ideal")
    measure = distance_named(distance)
    n = int(c.sum())
    maximum = distance_max(target, measure)
    sample = SampledShares(c / n, as_exact_together(n, reference_images), target, measure)
    p = (
        distance_p(c, target, distance)
        if isinstance(distance, str) and reference_images is None
        else None
    )
    fair = sample.samples(target, draws, rng)
    low, high = sample.interval(fair, level, rng)
    again, further = rng.spawn(2)

    def doubled() -> Iterator[Floats]:
        """The fair draws, then as many again as there are, up to `MOST`."""
        yield fair
        made = draws
        while made < MOST:
            more = min(made, MOST - made)
            yield sample.samples(target, more, further)
            made += more

    debiased = sample.debiased(fair, again)
    found = Estimate(
        float(sample.observed), low, high, level, METHOD, n, missing, debiased=debiased
    )
    if p is None:
        p = float(p_by_rounds(found.value, doubled()))
    return corrected(found, float(fair.mean()), p, maximum)


def worst_case_bounds(counts: ArrayLike, missing: int) -> tuple[Floats, Floats]:
    """Shares if none, and if all, of the missing pictures showed the value: two arrays (K,), bounds
    without any assumption on why answers are missing.
    """
    if missing < 0:
        raise ValueError(f"missing is {missing}; it cannot be negative")
    c = axis_counts(np.append(np.asarray(counts, dtype=float), missing))
    return c[:-1] / c.sum(), (c[:-1] + missing) / c.sum()


def axis_counts(counts: ArrayLike) -> Floats:
    """`counts` as a checked (K,) array of whole numbers with a sum above 0."""
    c = positive_counts(counts, "counts of one picture set", whole=True)
    if c.ndim != 1:
        raise ValueError("counts of one picture set on one axis must be one list")
    return c


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share of n pictures; n need not be whole."""
    z = float(scipy.stats.norm.ppf(1 - tail(level)))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)


@lru_cache(maxsize=4096)
def _mid_p_upper(k: float, n: int, level: float) -> float:
    """High end of the interval: the share at which P(X < k) + P(X = k) / 2 has fallen to the tail
    (1 for k = n).
    """

    def reached(share: Floats) -> bool:
        return bool(scipy.special.bdtr([max(k - 1, 0), k], n, share).mean() <= tail(level))

    return float(first_accepted(reached, k / n, 1.0, BISECTIONS))


@lru_cache(maxsize=1024)
def detectable_distance(
    n: int, reference: tuple[float, ...], distance: str, *, level: float = 0.05
) -> float | None:
    """The distance from the ideal that a test of n pictures at `level` finds with probability
    `POWER`.

    Distributions between the ideal (K,) and one value alone, p(t) = (1 - t) ideal + t e_k, for the
    k that is hardest to find. By simulation with a fixed seed; None where even t = 1 is not found
    so often, for a k that goes as far. `distance` is a name of `distance.DISTANCES`, `level` that
    of one test, in (0, 1).
    """
    measure = DISTANCES[distance]
    target = np.array(reference)
    null = np.sort(
        measure(np.random.default_rng(0).multinomial(n, target, DETECTION_DRAWS), target)
    )
    critical = null[-1 - int(level * DETECTION_DRAWS)]  # what the test finds lies beyond it

    def towards(k: int, t: Floats | float) -> Floats:
        return np.asarray((1 - t) * target + t * np.eye(len(target))[k])

    def found_at(k: int, t: Floats | float) -> bool:
        drawn = np.random.default_rng(1).multinomial(n, towards(k, t), DETECTION_DRAWS // 5)
        return float(np.mean(measure(drawn, target) > critical + 1e-12)) >= POWER

    found = []
    unseen = 0.0
    for k in (
        range(len(target))
        if distance == "wasserstein"
        else {p: k for k, p in enumerate(reference)}.values()
    ):
        if found_at(k, 1.0):
            t = first_accepted(partial(found_at, k), 0.0, 1.0, steps=8)
            found.append(float(measure(towards(k, t), target)))
        else:
            unseen = max(unseen, float(measure(towards(k, 1.0), target)))
    return max(found) if found and max(found) > unseen else None
