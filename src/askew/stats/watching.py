"""Tests for a series of models without a fixed end, such as the checkpoints of a training run.

Each model is compared with the first model on images that have the same seeds. If a model is as
biased as the first, both orders of the two labels in a pair are equally likely. Each model of the
series is tested at a smaller level than the model before it, and all levels add up to the level of
the series. So the probability of any false alarm is bounded, however many models follow.
"""

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike, NDArray


def exact_change_p(changes: ArrayLike) -> NDArray[np.float64]:
    """Return the p-value for the change in each value's share (McNemar's exact test, two-sided).

    The test of a value uses only the pairs in which exactly one image shows it. Such a pair loses or
    gains the value from the first image to the second. Under the null, both are equally likely.

    Parameters
    ----------
    changes : array, (values, values)
        Number of pairs by the label of the first image (rows) and of the second image (columns).

    Returns
    -------
    array, (values,)
        The p-value of each value; 1 if no pair loses or gains it.

    Raises
    ------
    ValueError
        If the counts are not a square table of whole numbers of at least 0.
    """
    counts = np.asarray(changes, dtype=float)
    is_square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not is_square or not ((counts >= 0) & (counts % 1 == 0)).all():
        raise ValueError("changes must be a square table of whole numbers of at least 0")
    same = np.diag(counts)
    lost = counts.sum(axis=1) - same
    gained = counts.sum(axis=0) - same
    tail = scipy.stats.binom.cdf(np.minimum(lost, gained), lost + gained, 0.5)
    return np.asarray(np.minimum(2 * tail, 1.0))


def spent_level(level: float, number: int) -> float:
    """Return the significance level of one test in an endless series of tests.

    The level is level / (number (number + 1)), so the levels of all tests add up to `level`.

    Parameters
    ----------
    level
        Significance level of the series of tests, in (0, 1).
    number
        Number of the test in the series, starting at 1.

    Raises
    ------
    ValueError
        If the number is less than 1.
    """
    if number < 1:
        raise ValueError(f"the number of a test is {number}; it must be at least 1")
    return level / (number * (number + 1))
