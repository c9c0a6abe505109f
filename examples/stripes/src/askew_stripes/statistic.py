"""How various counts are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData


def effective_number(counts: ArrayLike) -> float:
    """How many equally frequent values would be as diverse: exp of the Shannon entropy of the
    shares (Hill, 1973).

    exp(- sum_k p_k ln p_k), in [1, K]; K where all shares are equal.

    Parameters
    ----------
    counts
        (K,) pictures per value.

    Raises
    ------
    NotEnoughData
        There is no picture.
    """
    c = np.asarray(counts, dtype=float)
    if not c.sum():
        raise NotEnoughData("there is no picture")
    p = c[c > 0] / c.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
