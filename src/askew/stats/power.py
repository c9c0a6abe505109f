"""Power of the tests of shares, for planning: which deviations an image set can detect.

A design has K values with reference shares. Under the alternative one value k gains: the shares are
(1 - t) reference + t e_k. Their total variation distance from the reference, t (1 - reference_k), is
the *deviation*. Where the reference is not uniform, the power is that of the value that is hardest to
detect.

Two tests are planned:

- `fit_power`: Pearson's test of one image set against its reference, by its mid-p
  (`goodness_of_fit`). The power is a sum over all possible counts where these can be listed, and
  otherwise the fraction of simulated counts.
- `exchange_power`: the test whether two sets of the same size have equal shares (`exchange`), for
  images without partners. The first set has the reference shares. Images that are paired by seed
  need fewer, if the two images of a pair often have the same label.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from askew.stats.distance import normalised, towards_value
from askew.stats.goodness_of_fit import (
    counts_are_listed,
    exact_law,
    multinomial_probabilities,
    pearson,
    possible_counts,
)
from askew.stats.intervals import Floats, first_accepted

PowerFunction = Callable[[int, tuple[float, ...], float, float], float]
"""Function from images, reference shares, deviation and significance level to the power."""

MOST_IMAGES = 100_000
"""Largest number of images that `images_needed` tries."""
FIT_DRAWS = 20_000
"""Simulated sets where the possible counts are too many to list."""
EXCHANGE_DRAWS = 20_000
"""Simulated pairs of sets of three or more values, or of many images."""
EXACT_IMAGES = 200
"""Largest sets of two values whose exchange test is computed for all pairs of counts."""
NEGLIGIBLE = 1e-10
"""Probability below which counts are left out of a sum."""
STEADY = 0.1
"""Fraction of further images for which a power must hold, since exact tests lose some power where
their critical value jumps."""


def alternatives(reference: tuple[float, ...], deviation: float) -> list[Floats]:
    """Return the shares (K,) at a deviation from the reference, one array per value that gains.

    Values with equal reference shares give one array. Values that cannot gain as much are left out.

    Parameters
    ----------
    reference : tuple of float, (K,)
        Reference shares.
    deviation
        Total variation distance from the reference, in (0, 1).
    """
    target = normalised(np.array(reference, dtype=float))
    shares = []
    for gained in dict.fromkeys(target.tolist()):
        place = int(np.flatnonzero(target == gained)[0])
        if gained >= 1 or deviation > 1 - gained:
            continue
        step = deviation / (1 - gained)
        shares.append(towards_value(target, place, step))
    return shares


def largest_deviation(reference: tuple[float, ...]) -> float:
    """Return the largest deviation of any shares from the reference, 1 minus its smallest share."""
    return float(1 - normalised(np.array(reference, dtype=float)).min())


@lru_cache(maxsize=4096)
def fit_power(images: int, reference: tuple[float, ...], deviation: float, level: float) -> float:
    """Compute the power of Pearson's test of one image set against reference shares.

    Parameters
    ----------
    images
        Number of labeled images.
    reference : tuple of float, (K,)
        Reference shares.
    deviation
        Total variation distance of the true shares from the reference, in (0, 1).
    level
        Significance level of the test, in (0, 1). For a family of m tests, level / m.

    Raises
    ------
    ValueError
        If no shares deviate as much from the reference.
    """
    target = normalised(np.array(reference, dtype=float))
    law = exact_law(images, reference)
    shares = _possible_alternatives(reference, deviation)
    if counts_are_listed(images, len(reference)):
        counts = possible_counts(images, len(reference))
        mid_p, _ = law.p(pearson(counts, images * target))
        detected = counts[mid_p < level]
        powers = [float(multinomial_probabilities(detected, truth).sum()) for truth in shares]
        return min(1.0, *powers)
    rng = np.random.default_rng([images, len(reference)])
    powers = []
    for truth in shares:
        drawn = rng.multinomial(images, truth, FIT_DRAWS)
        mid_p, _ = law.p(pearson(drawn, images * target))
        powers.append(float(np.mean(mid_p < level)))
    return min(powers)


@lru_cache(maxsize=4096)
def exchange_power(
    images: int, reference: tuple[float, ...], deviation: float, level: float
) -> float:
    """Compute the power of the test whether two sets of `images` images have equal shares.

    Parameters and errors are those of `fit_power`. The first set has the reference shares.
    """
    target = normalised(np.array(reference, dtype=float))
    shares = _possible_alternatives(reference, deviation)
    if len(target) == 2 and images <= EXACT_IMAGES:
        return min(_exact_exchange_power(images, target, truth, level) for truth in shares)
    return min(_simulated_exchange_power(images, target, truth, level) for truth in shares)


def images_needed(
    power_of: PowerFunction,
    reference: tuple[float, ...],
    deviation: float,
    *,
    power: float = 0.9,
    level: float = 0.05,
) -> int | None:
    """Return the smallest number of images from which a deviation is detected with a power.

    The power also holds for `STEADY` times more images.

    Parameters
    ----------
    power_of
        `fit_power` or `exchange_power`.
    reference, deviation, level
        As for `fit_power`.
    power
        Probability of a significant result, in (0, 1).

    Returns
    -------
    int or None
        None if more than `MOST_IMAGES` are needed.
    """
    if deviation > largest_deviation(reference):
        _possible_alternatives(reference, deviation)

    def suffices(images: int) -> bool:
        return power_of(images, reference, deviation, level) >= power

    guess = _asymptotic_images(power_of, reference, deviation, power, level)
    if guess > MOST_IMAGES:
        return None
    low = max(1, guess // 2)
    while low > 1 and suffices(low):
        low //= 2
    high = max(2, guess)
    while not suffices(high):
        low = high
        high = high * 5 // 4 + 1
        if high > MOST_IMAGES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
        else:
            low = middle
    return _steady(high, suffices) if len(reference) == 2 else high


def detectable_deviation(
    power_of: PowerFunction,
    images: int,
    reference: tuple[float, ...],
    *,
    power: float = 0.9,
    level: float = 0.05,
) -> float | None:
    """Return the smallest deviation that a number of images detects with a power.

    Parameters are those of `images_needed`.

    Returns
    -------
    float or None
        None if the power is too low for every deviation.
    """
    most = largest_deviation(reference)

    def suffices(deviation: Floats) -> bool:
        if deviation <= 0:
            return False
        return power_of(images, reference, float(deviation), level) >= power

    if not suffices(np.asarray(most)):
        return None
    return float(first_accepted(suffices, 0.0, most, steps=12))


def _possible_alternatives(reference: tuple[float, ...], deviation: float) -> list[Floats]:
    """Return the alternatives of a deviation, of which there is at least one."""
    shares = alternatives(reference, deviation)
    if deviation <= 0 or not shares:
        most = largest_deviation(reference)
        raise ValueError(f"a deviation of {deviation:g} is not above 0 and at most {most:g}")
    return shares


def _exact_exchange_power(images: int, first: Floats, second: Floats, level: float) -> float:
    """Sum the probabilities of all pairs of counts of two values that the test rejects."""
    number = np.arange(images + 1)
    of_first = scipy.stats.binom.pmf(number, images, first[0])
    of_second = scipy.stats.binom.pmf(number, images, second[0])
    rows = number[of_first > NEGLIGIBLE][:, None]
    columns = number[of_second > NEGLIGIBLE]
    total = rows + columns
    larger = np.maximum(rows, columns)
    above = scipy.stats.hypergeom.sf(larger, 2 * images, total, images)
    equal = scipy.stats.hypergeom.pmf(larger, 2 * images, total, images)
    # the law is symmetric, as both sets have the same size
    mid_p = np.where(rows == columns, 1.0, 2 * above + equal)
    joint = of_first[rows] * of_second[columns]
    return min(1.0, float(joint[mid_p < level].sum()))


def _simulated_exchange_power(images: int, first: Floats, second: Floats, level: float) -> float:
    """Return the fraction of simulated pairs of sets that the test rejects.

    The law of the statistic under exchanges is taken as chi-squared. Its exact mean is that of K - 1
    degrees of freedom after multiplication by (N - 1) / N for N images of both sets.
    """
    rng = np.random.default_rng([images, len(first)])
    firsts = rng.multinomial(images, first, EXCHANGE_DRAWS).astype(float)
    seconds = rng.multinomial(images, second, EXCHANGE_DRAWS)
    pooled = firsts + seconds
    shown = pooled > 0
    statistic = np.square(firsts - seconds) / np.where(shown, pooled, 1.0)
    scaled = statistic.sum(axis=1) * (2 * images - 1) / (2 * images)
    p = scipy.stats.chi2.sf(scaled, np.maximum(shown.sum(axis=1) - 1, 1))
    return float(np.mean(p < level))


def _asymptotic_images(
    power_of: PowerFunction,
    reference: tuple[float, ...],
    deviation: float,
    power: float,
    level: float,
) -> int:
    """Return the number of images by the non-central chi-squared law, as a start of a search."""
    target = normalised(np.array(reference, dtype=float))
    truth = alternatives(reference, deviation)[0]
    effect = float(pearson(truth, target))
    if power_of is exchange_power:
        effect = float(pearson(truth, (truth + target) / 2) / 2)
    freedom = len(target) - 1
    critical = scipy.stats.chi2.isf(level, freedom)
    high = 1.0
    while scipy.stats.ncx2.sf(critical, freedom, high) < power:
        high *= 2
    needed: float = scipy.optimize.brentq(
        lambda shift: scipy.stats.ncx2.sf(critical, freedom, shift) - power, 1e-9, high
    )
    return max(2, math.ceil(needed / effect))


def _steady(images: int, suffices: Callable[[int], bool]) -> int:
    """Return the smallest number not below `images` from which the power holds steadily."""
    start = images
    number = images
    while number <= start + STEADY * start + 2:
        if not suffices(number):
            start = number + 1
        number += 1
    return start
