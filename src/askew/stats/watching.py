"""Tests of an endless series of models. Each is compared with the first on images with the same seeds.

If a model is as biased as the first, either order of the two labels of a pair is equally likely.
Each model of the series is tested at a smaller level, and all levels together add up to the level
of the series. So the probability of any false alarm is bounded, however many models follow.
"""

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray


def exact_change_p(changes: ArrayLike) -> NDArray[np.float64]:
    """Return the p-value of the change of each value's share (McNemar's exact test, two-sided).

    Of the pairs that lose or gain a value, each does either with probability 1/2 if nothing has
    changed.

    Parameters
    ----------
    changes : array, (values, values)
        Number of pairs by the label of the first and of the second image.

    Returns
    -------
    array, (values,)
        The p-values, 1 for values that no pair loses or gains.

    Raises
    ------
    ValueError
        If the counts are not a square of whole numbers of at least 0.
    """
    counts = np.asarray(changes, dtype=float)
    is_square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not is_square or not ((counts >= 0) & (counts % 1 == 0)).all():
        raise ValueError("changes must be a square of whole numbers of at least 0")
    same = np.diag(counts)
    lost = counts.sum(axis=1) - same
    gained = counts.sum(axis=0) - same
    tail = scipy.stats.binom.cdf(np.minimum(lost, gained), lost + gained, 0.5)
    return np.asarray(np.minimum(2 * tail, 1.0))


def spent_level(level: float, number: int) -> float:
    """Return the level of a test in an endless series of tests whose levels add up to `level`.

    Parameters
    ----------
    level
        Level of the whole series, in (0, 1).
    number
        Number of the test in the series, from 1. Its level is level / (number (number + 1)).

    Raises
    ------
    ValueError
        If the number is less than 1.
    """
    if number < 1:
        raise ValueError(f"the number of a test is {number}; it must be at least 1")
    return level / (number * (number + 1))
