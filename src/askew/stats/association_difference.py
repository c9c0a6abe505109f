"""Which of two counterfactuals a picture set is closer to: the difference of two CAS that share the initial set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from askew.stats.association import Variant, cas
from askew.stats.intervals import bootstrap_weights, picture_matrix, tail
from askew.types import Estimate


def cas_difference(
    initial: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
) -> Estimate:
    """CAS(initial, first) - CAS(initial, second), in [-1, 1]; TIBET, section 5.2, figure 4.

    Arrays are concept counts (pictures, concepts). The interval is normal, with the standard deviation of the
    difference when all three sets are resampled together. Raises NotEnoughData for an empty set.
    """
    sets = [picture_matrix(s, name) for s, name in ((initial, "initial"), (first, "first"), (second, "second"))]
    base, a, b = (s.mean(axis=0) for s in sets)
    value = float(cas(base, a, variant) - cas(base, b, variant))
    base, a, b = (bootstrap_weights(len(s), draws, rng) @ s for s in sets)
    spread = float(np.std(cas(base, a, variant) - cas(base, b, variant), ddof=1))
    reach = float(norm.isf(tail(level))) * spread
    low, high = max(-1.0, value - reach), min(1.0, value + reach)
    return Estimate(value, low, high, level, "normal, bootstrap standard deviation", min(len(s) for s in sets))
