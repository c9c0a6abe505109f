"""Differences of association scores between two models.

With few images, plug-in scores are too low (CAS) or too high (MAD), by different amounts in the two
models. The values are therefore differences of median-unbiased scores. Intervals and p-values are
as in `differences`.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from askew.stats.association import Variant, cas, mad
from askew.stats.association_intervals import Associations, associations
from askew.stats.differences import ROUNDS, correlations, equal_generators, joined
from askew.stats.intervals import Floats, ends, p_by_rounds
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate


def association_differences(
    sets: Sequence[PairedSets],
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
) -> tuple[tuple[Estimate, ...], Estimate]:
    """Estimate differences of every counterfactual's CAS, and of MAD, between two models.

    Parameters
    ----------
    sets
        The baseline set of both models, then K counterfactual sets, as counts of concepts (images,
        concepts).
    rng
        Generator of all draws.
    draws
        Number of draws.
    level
        Level of the intervals, in (0, 1).
    variant
        As in `association.cas` and `association.mad`.

    Returns
    -------
    tuple
        First model minus the second: a tuple of K differences of CAS, and the difference of MAD.

    Raises
    ------
    NotEnoughData, ValueError
        As in `associations`.
    """
    again_first, again_second = equal_generators(rng)
    first = _scores_of(
        [pair.first for pair in sets], rng=again_first, draws=draws, level=level, variant=variant
    )
    second = _scores_of(
        [pair.second for pair in sets], rng=again_second, draws=draws, level=level, variant=variant
    )
    resampled = _cas_and_mad([pair.resampled(draws, rng) for pair in sets], variant)
    correlation = correlations(resampled, min(len(pair) for pair in sets))
    p = _exchange_p(sets, draws=draws, rng=rng, variant=variant)

    differences = []
    for k, (a, b) in enumerate(
        zip((*first.cas, first.mad), (*second.cas, second.mad), strict=True)
    ):
        is_cas = k < len(sets) - 1
        low, high = _joined_ends(a, b, float(correlation[k]), is_cas=is_cas)
        difference = Estimate(
            value=a.mark - b.mark,
            low=low,
            high=high,
            level=level,
            interval=f"MOVER, {a.interval}, paired",
            n=(a.n or 0) + (b.n or 0),
            missing=a.missing + b.missing,
            null=0.0,
            max=a.max,
            p=float(p[k]),
        )
        differences.append(difference)
    return tuple(differences[:-1]), differences[-1]


def _scores_of(
    sets: Sequence[Floats], *, rng: Generator, draws: int, level: float, variant: Variant
) -> Associations:
    """Compute the scores of one model, whose baseline set comes first."""
    return associations(sets[0], sets[1:], rng=rng, draws=draws, level=level, variant=variant)


def _cas_and_mad(means: Sequence[tuple[Floats, Floats]], variant: Variant) -> tuple[Floats, Floats]:
    """CAS and MAD, (..., K + 1), of both models, from the histograms of all sets."""
    first, second = (
        _cas_and_mad_of_model(of_model, variant) for of_model in zip(*means, strict=True)
    )
    return first, second


def _cas_and_mad_of_model(histograms: Sequence[Floats], variant: Variant) -> Floats:
    """CAS of every counterfactual and their MAD: (..., K + 1)."""
    initial = histograms[0]
    scores = [cas(initial, counterfactual, variant) for counterfactual in histograms[1:]]
    return np.stack([*scores, mad(np.stack(scores, axis=-1), variant)], axis=-1)


def _exchange_p(
    sets: Sequence[PairedSets], *, draws: int, rng: Generator, variant: Variant
) -> Floats:
    """Two-sided p of every difference, (K + 1,), by exchanging the images of pairs."""

    def differences(means: Sequence[tuple[Floats, Floats]]) -> Floats:
        first, second = _cas_and_mad(means, variant)
        return np.asarray(np.abs(first - second))

    def exchanged() -> Iterator[Floats]:
        for _ in range(ROUNDS):
            yield differences([pair.exchanged(draws, rng) for pair in sets])

    observed = differences([pair.means for pair in sets])
    return p_by_rounds(observed, exchanged())


def _joined_ends(
    first: Estimate, second: Estimate, correlation: float, *, is_cas: bool
) -> tuple[float, float]:
    """Interval of the difference of two scores.

    A CAS of 1 is possible. It corresponds to the distance 0 from 1, the bound that `joined`
    respects.
    """
    if not is_cas:
        low, _, high = joined(ends(first), ends(second), (first.mark, second.mark), correlation)
        return low, high
    first_low, first_high = ends(first)
    second_low, second_high = ends(second)
    low, _, high = joined(
        (1 - second_high, 1 - second_low),
        (1 - first_high, 1 - first_low),
        (1 - second.mark, 1 - first.mark),
        correlation,
    )
    return low, high
