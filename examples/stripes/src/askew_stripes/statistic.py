"""Diversity of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData


def effective_number(counts: ArrayLike) -> float:
    """Return the number of equally frequent values that would be as diverse (Hill, 1973).

    It is the exponential of the Shannon entropy of the shares, exp(- sum_k p_k ln p_k).

    Parameters
    ----------
    counts
        Number of images per value: (K,).

    Returns
    -------
    float
        Effective number in [1, K]; K where all shares are equal.

    Raises
    ------
    NotEnoughData
        If there are no images.
    """
    c = np.asarray(counts, dtype=float)
    if not c.sum():
        raise NotEnoughData("there are no images")
    p = c[c > 0] / c.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
