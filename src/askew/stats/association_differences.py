"""Differences between two models' association scores, first less second, where pictures of the same prompt and seed are
pairs: intervals and p as in `differences`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.stats.association import SPREADS, Variant, cas
from askew.stats.association_intervals import Associations, associations, embedding_associations
from askew.stats.differences import PairedSets, correlations, exchange_p, joined_scores, twice
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
    embeddings: bool = False,
) -> Associations:
    """Differences of CAS, MAD and its alternatives (TIBET, Eq. 1-3, 6-7, appendix 9.4), each in its score's place.

    The plug-in scores of few pictures are too low (CAS) or too high (MAD), and not by the same amount in both models.
    Values are differences of median-unbiased scores.

    Args:
        initial: concept counts (pictures, concepts) of the initial sets.
        counterfactuals: those of each counterfactual, K >= 2, the same concepts in the same order.
        embeddings: rows are vectors of length 1 instead; differences of CAS^CLIP (Eq. 4) and of its MAD.

    Raises:
        NotEnoughData: a set without a concept, or fewer than two counterfactuals.
    """
    sets, k = [initial, *counterfactuals], len(counterfactuals)
    estimates = embedding_associations if embeddings else associations

    def scores(means: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        first, second = (
            [np.einsum("...d,...d->...", x[0], other) if embeddings else cas(x[0], other, variant) for other in x[1:]]
            for x in zip(*means, strict=True)
        )
        return _with_spread(np.stack(first, axis=-1), variant), _with_spread(np.stack(second, axis=-1), variant)

    a, b = (
        estimates(rows[0], rows[1:], rng=again, draws=draws, level=level, variant=variant)
        for rows, again in zip(([s.first for s in sets], [s.second for s in sets]), twice(rng), strict=True)
    )
    r = correlations(scores([s.resampled(draws, rng) for s in sets]), min(len(s) for s in sets))
    observed = np.subtract(*scores([s.means for s in sets]))
    p = exchange_p(observed, lambda: np.subtract(*scores([s.exchanged(draws, rng) for s in sets])))
    listed = zip(
        *([*one.cas, *one.leans, one.mad, one.wasserstein, one.standard_deviation] for one in (a, b)), strict=True
    )
    differences = [
        _difference(one, other, float(r[i]), float(p[i]), top=i < k and not embeddings)
        for i, (one, other) in enumerate(listed)
    ]
    return Associations(tuple(differences[:k]), tuple(differences[k : 2 * k]), *differences[2 * k :])


def _difference(a: Estimate, b: Estimate, correlation: float, p: float, *, top: bool) -> Estimate:
    """Difference of two scores' median-unbiased values, with the interval from their own.

    With `top`, a score may well reach its upper bound 1: what is joined are then the distances from it, so that 1 is
    the bound that `joined_scores` heeds.
    """
    if top:
        from_one = [(1 - high, 1 - low) for low, high in map(ends, (b, a))]
        low, high = joined_scores((1 - b.mark, 1 - a.mark), from_one, correlation)
    else:
        low, high = joined_scores((a.mark, b.mark), [ends(a), ends(b)], correlation)
    n, missing = (a.n or 0) + (b.n or 0), a.missing + b.missing
    name = f"MOVER, {a.interval}, paired"
    return Estimate(a.mark - b.mark, low, high, a.level, name, n, missing, null=0.0, max=a.max, p=p)


def _with_spread(similarity: Floats, variant: Variant) -> Floats:
    """CAS (..., K) with its leans and three measures of spread: (..., 2 K + 3)."""
    k = similarity.shape[-1]
    leans = (k * similarity - similarity.sum(axis=-1, keepdims=True)) / (k - 1)
    spreads = [spread(similarity, variant) for spread in SPREADS.values()]
    return np.concatenate([similarity, leans, np.stack(spreads, axis=-1)], axis=-1)
