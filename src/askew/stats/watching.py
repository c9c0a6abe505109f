"""Tests for an open-ended series of models, such as the checkpoints of a training run.

Each model is compared with the first model on images that have the same seeds. If a model is as
biased as the first model, the two labels of a pair are equally likely to occur in either order.
askew tests each model at a smaller significance level than the model before it, and all levels sum
to at most the level of the series. So the probability of any false alarm is at most the level of
the series, no matter how many models follow.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.stats.distributions import binomial_cdf


def exact_change_p(changes: ArrayLike) -> NDArray[np.float64]:
    """Return the p-value for the change in each value's share (McNemar's exact test, two-sided).

    The test of a value uses only the pairs in which exactly one image shows it. From the first
    image to the second, such a pair either loses or gains the value. Under the null hypothesis,
    losses and gains are equally probable.

    Parameters
    ----------
    changes : array, (values, values)
        Number of pairs for each label of the first image (rows) and each label of the second image
        (columns).

    Returns
    -------
    array, (values,)
        p-value for each value; 1 if no pair loses or gains the value.

    Raises
    ------
    ValueError
        If the counts are not a square table of non-negative whole numbers.
    """
    counts = np.asarray(changes, dtype=float)
    is_square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not is_square or not ((counts >= 0) & (counts % 1 == 0)).all():
        raise ValueError("changes must be a square table of non-negative whole numbers")
    same = np.diag(counts)
    lost = counts.sum(axis=1) - same
    gained = counts.sum(axis=0) - same
    tail = binomial_cdf(np.minimum(lost, gained), lost + gained, 0.5)
    return np.asarray(np.minimum(2 * tail, 1.0))


def spent_level(level: float, number: int) -> float:
    """Return the significance level of one test in an open-ended series of tests.

    The result is level / (number (number + 1)), so the significance levels of all tests sum to
    `level`.

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
