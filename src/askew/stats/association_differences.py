"""Differences between two models' association scores, first less second, where pictures of the same prompt and seed are
pairs: intervals and p as in `differences`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.stats.association import Variant, cas, mad
from askew.stats.association_intervals import associations
from askew.stats.differences import PairedSets, correlations, exchange_p, joined, twice
from askew.stats.intervals import Floats, ends
from askew.types import Estimate


def association_differences(
    initial: PairedSets,
    counterfactuals: Sequence[PairedSets],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
) -> tuple[tuple[Estimate, ...], Estimate]:
    """Differences of every counterfactual's CAS, and of MAD (TIBET, Eq. 1-3, 6-7).

    The plug-in scores of few pictures are too low (CAS) or too high (MAD), and not by the same amount in both models.
    Values are differences of median-unbiased scores.

    Args:
        initial: concept counts (pictures, concepts) of the initial sets.
        counterfactuals: those of each counterfactual, K >= 2, the same concepts in the same order.

    Raises:
        NotEnoughData: a set without a concept, or fewer than two counterfactuals.
    """
    sets, k = [initial, *counterfactuals], len(counterfactuals)

    def scores(means: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        first, second = (
            np.stack([cas(x[0], other, variant) for other in x[1:]], axis=-1) for x in zip(*means, strict=True)
        )
        return _with_mad(first, variant), _with_mad(second, variant)

    a, b = (
        associations(rows[0], rows[1:], rng=again, draws=draws, level=level, variant=variant)
        for rows, again in zip(([s.first for s in sets], [s.second for s in sets]), twice(rng), strict=True)
    )
    r = correlations(scores([s.resampled(draws, rng) for s in sets]), min(len(s) for s in sets))
    observed = np.subtract(*scores([s.means for s in sets]))
    p = exchange_p(observed, lambda: np.subtract(*scores([s.exchanged(draws, rng) for s in sets])))
    *each, spread = (
        _difference(one, other, float(r[i]), float(p[i]), top=i < k)
        for i, (one, other) in enumerate(zip((*a.cas, a.mad), (*b.cas, b.mad), strict=True))
    )
    return tuple(each), spread


def _with_mad(scores: Floats, variant: Variant) -> Floats:
    """CAS (..., K) and MAD: (..., K + 1)."""
    return np.concatenate([scores, mad(scores, variant)[..., None]], axis=-1)


def _difference(a: Estimate, b: Estimate, correlation: float, p: float, *, top: bool) -> Estimate:
    """Difference of two scores' median-unbiased values, with the interval from their own.

    With `top`, a score may well reach its upper bound 1: what is joined are then the distances from it, so that 1 is
    the bound that `joined` heeds.
    """
    if top:
        from_one = [(1 - high, 1 - low) for low, high in map(ends, (b, a))]
        low, _, high = joined(from_one[0], from_one[1], (1 - b.mark, 1 - a.mark), correlation)
    else:
        low, _, high = joined(ends(a), ends(b), (a.mark, b.mark), correlation)
    n, missing, name = (a.n or 0) + (b.n or 0), a.missing + b.missing, f"MOVER, {a.interval}, paired"
    return Estimate(a.mark - b.mark, low, high, a.level, name, n, missing, null=0.0, max=a.max, p=p)
