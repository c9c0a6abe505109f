"""Power of tests for shares: how large a deviation must be for a test to detect it.

A test compares the shares of K values with reference shares. Under the alternative, one value k
becomes more frequent: the shares are (1 - t) reference + t e_k. The distance of these shares from
the reference, t d(e_k, reference), is the *deviation*. For the total variation distance, the
deviation is t (1 - reference_k). askew computes the power for the value k whose increase is hardest
to detect.

There are two tests:

- `fit_power`: Pearson's test of one image set against its reference, based on the mid-p
  (`goodness_of_fit`). The power is the total probability of all counts for which the test is
  significant. askew computes it exactly if the possible counts can be enumerated, and by simulation
  if there are too many. Labels may have known errors.
- `exchange_power`: the test of whether two sets of the same size have equal shares (`exchange`).
  The first set has the reference shares. The function assumes that images do not form pairs. Fewer
  images are needed if images with the same seed form pairs, and the two images of a pair often have
  the same label.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.stats.confusion import ReadingErrors
from askew.stats.distance import distance_max, distance_named, normalised, towards_value
from askew.stats.goodness_of_fit import (
    counts_are_listed,
    exact_law,
    law_with_errors,
    multinomial_probabilities,
    pearson,
    possible_counts,
)
from askew.stats.intervals import Floats, first_accepted

PowerFunction = Callable[[int, tuple[float, ...], float, float], float]
"""Function that computes the power of a test.

Its arguments are the number of images, the reference shares, the deviation and the significance
level.
"""

POWER = 0.9
"""Minimum power at which askew reports a deviation as detectable."""
MOST_IMAGES = 100_000
"""Maximum number of images that `images_needed` tries."""
FIT_DRAWS = 20_000
"""Number of simulated image sets if there are too many possible counts to enumerate."""
EXCHANGE_DRAWS = 20_000
"""Number of simulated pairs of image sets, if there are three or more values or many images."""
EXACT_IMAGES = 200
"""Largest set size for which all counts are enumerated in the exchange test for two values."""
NEGLIGIBLE = 1e-10
"""Counts whose probability is below this value are left out of a sum."""
STEADY = 0.1
"""The power must remain sufficient when up to this fraction of images is added.

With more images, an exact test can have less power, because its critical value changes in steps.
"""


def alternatives(
    reference: tuple[float, ...], deviation: float, distance: str = "total_variation"
) -> list[Floats]:
    """Return shares with this deviation from the reference, one array per value that increases.

    Values that cannot increase this much are left out.

    Parameters
    ----------
    reference : tuple of float, (K,)
        Reference shares.
    deviation
        Distance from the reference, above 0.
    distance
        Name of a distance in `distance.DISTANCES`.
    """
    target = normalised(np.array(reference, dtype=float))
    shares = []
    for place, largest in enumerate(distance_named(distance)(np.eye(len(target)), target)):
        if deviation <= largest:
            shares.append(towards_value(target, place, deviation / largest))
    return shares


def largest_deviation(reference: tuple[float, ...], distance: str = "total_variation") -> float:
    """Return the maximum deviation that any shares can have from the reference."""
    return distance_max(normalised(np.array(reference, dtype=float)), distance)


@lru_cache(maxsize=4096)
def fit_power(
    images: int,
    reference: tuple[float, ...],
    deviation: float,
    level: float,
    *,
    distance: str = "total_variation",
    errors: ReadingErrors | None = None,
) -> float:
    """Compute the power of Pearson's test, which compares one image set with reference shares.

    Parameters
    ----------
    images
        Number of labeled images.
    reference : tuple of float, (K,)
        Reference shares.
    deviation
        Distance of the true shares from the reference, above 0.
    level
        Significance level of the test, in (0, 1). For a family of m tests, pass level / m.
    distance
        Name of a distance in `distance.DISTANCES`.
    errors
        Known labeling errors, for which the test corrects.

    Raises
    ------
    ValueError
        If no shares can deviate this much from the reference.
    """
    shares = _possible_alternatives(reference, deviation, distance)
    if errors is None:
        shares = _distinct(shares, reference)
    else:
        shares = [truth @ errors.rates for truth in shares]
    if counts_are_listed(images, len(reference)):
        rejected = _rejected_counts(images, reference, level, errors)
        powers = [float(multinomial_probabilities(rejected, truth).sum()) for truth in shares]
        return min(1.0, *powers)
    rng = np.random.default_rng([images, len(reference)])
    powers = []
    for truth in shares:
        drawn = rng.multinomial(images, truth / truth.sum(), FIT_DRAWS).astype(float)
        powers.append(float(np.mean(_rejects(drawn, reference, level, errors))))
    return min(powers)


def _distinct(shares: list[Floats], reference: tuple[float, ...]) -> list[Floats]:
    """Keep only one of the alternatives that differ only by a permutation of values.

    The permutation must not change the reference shares. If labels have no errors, the test has the
    same power for all of these alternatives.
    """
    by_content: dict[tuple[tuple[float, float], ...], Floats] = {}
    for truth in shares:
        content = tuple(sorted(zip(reference, truth.round(12).tolist(), strict=True)))
        by_content.setdefault(content, truth)
    return list(by_content.values())


@lru_cache(maxsize=64)
def _rejected_counts(
    images: int, reference: tuple[float, ...], level: float, errors: ReadingErrors | None
) -> Floats:
    """Return all counts for which Pearson's test is significant, as an (outcomes, K) array."""
    counts = possible_counts(images, len(reference))
    return counts[_rejects(counts, reference, level, errors)]


def _rejects(
    counts: Floats, reference: tuple[float, ...], level: float, errors: ReadingErrors | None
) -> NDArray[np.bool_]:
    """Check, for each row of counts, whether the test is significant.

    All rows have the same sum.
    """
    images = int(counts[0].sum())
    if errors is None:
        expected = images * normalised(np.array(reference, dtype=float))
        law = exact_law(images, reference)
    else:
        expected, law = law_with_errors(images, reference, errors)
    mid_p, _ = law.p(pearson(counts, expected))
    return np.asarray(mid_p < level)


@lru_cache(maxsize=4096)
def exchange_power(
    images: int, reference: tuple[float, ...], deviation: float, level: float
) -> float:
    """Compute the power of the test for equal shares in two sets of `images` images each.

    Parameters and exceptions are as in `fit_power`. The distance is the total variation distance,
    and labels are assumed to have no errors. The first set has the reference shares.
    """
    target = normalised(np.array(reference, dtype=float))
    shares = _distinct(_possible_alternatives(reference, deviation), reference)
    if len(target) == 2 and images <= EXACT_IMAGES:
        return min(_exact_exchange_power(images, target, truth, level) for truth in shares)
    return min(_simulated_exchange_power(images, target, truth, level) for truth in shares)


def images_needed(
    power_of: PowerFunction,
    reference: tuple[float, ...],
    deviation: float,
    *,
    power: float = POWER,
    level: float = 0.05,
) -> int | None:
    """Return the minimum number of images with which a test detects a deviation with a given power.

    If there are two values, the test keeps this power when up to a fraction `STEADY` of images is
    added.

    Parameters
    ----------
    power_of
        `fit_power` or `exchange_power`.
    reference, deviation, level
        As in `fit_power`.
    power
        Probability of a significant result, in (0, 1).

    Returns
    -------
    int or None
        Number of images; None if more than `MOST_IMAGES` are needed.
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
    power: float = POWER,
    level: float = 0.05,
    distance: str = "total_variation",
) -> float | None:
    """Return the minimum deviation that a test detects with a given number of images and power.

    Parameters are as in `images_needed`. `distance` names the distance that `power_of` uses to
    measure the deviation.

    Returns
    -------
    float or None
        The deviation; None if the power is too low for every deviation.
    """
    most = largest_deviation(reference, distance)

    def suffices(deviation: Floats) -> bool:
        if deviation <= 0:
            return False
        return power_of(images, reference, float(deviation), level) >= power

    if not suffices(np.asarray(most)):
        return None
    return float(first_accepted(suffices, 0.0, most, steps=12))


@lru_cache(maxsize=1024)
def detectable_distance(
    images: int,
    reference: tuple[float, ...],
    distance: str,
    *,
    level: float = 0.05,
    errors: ReadingErrors | None = None,
) -> float | None:
    """Return the minimum distance from the reference that Pearson's test detects with `POWER`.

    Parameters are as in `fit_power`. The result is None if the power is too low at every distance.
    """
    return detectable_deviation(
        partial(fit_power, distance=distance, errors=errors),
        images,
        reference,
        level=level,
        distance=distance,
    )


def _possible_alternatives(
    reference: tuple[float, ...], deviation: float, distance: str = "total_variation"
) -> list[Floats]:
    """Return the alternatives with this deviation.

    Raise ValueError if there are no alternatives.
    """
    shares = alternatives(reference, deviation, distance)
    if deviation <= 0 or not shares:
        most = largest_deviation(reference, distance)
        raise ValueError(f"the deviation is {deviation:g}; it must be above 0 and at most {most:g}")
    return shares


def _exact_exchange_power(images: int, first: Floats, second: Floats, level: float) -> float:
    """Sum the probabilities of all pairs of counts for which the test is significant."""
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
    """Return the fraction of simulated pairs of sets for which the test is significant.

    askew assumes that under exchanges, the statistic has a chi-squared distribution with K - 1
    degrees of freedom. The statistic is multiplied by (N - 1) / N, where N is the total number of
    images in both sets, so that its mean is exactly K - 1.
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
    """Approximate the number of images needed, using a non-central chi-squared distribution."""
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
    """Return the minimum number of images for which the power suffices.

    The search starts at `images`. The power must also suffice for all numbers of images that are
    larger by up to a fraction `STEADY`.
    """
    start = images
    number = images
    while number <= start + STEADY * start + 2:
        if not suffices(number):
            start = number + 1
        number += 1
    return start
