"""Differences in association scores between two models.

With few images, the plug-in CAS is too low and the plug-in MAD is too high, by different amounts in
the two models. askew therefore computes differences between median-unbiased scores. Intervals and
p-values are computed as in `differences`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from numpy.random import Generator

from askew.stats.association import SPREADS, Variant, cas
from askew.stats.association_intervals import Associations, associations
from askew.stats.differences import ROUNDS, correlations, equal_generators, joined
from askew.stats.intervals import Floats, ends, p_by_rounds
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate

ALTERNATIVES = ("wasserstein", "standard_deviation")
"""Names of the alternatives to MAD."""

Scores = Callable[[Sequence[Floats]], Floats]
"""Function that returns a model's scores as an array of shape (..., scores).

Its argument is a list with one mean vector per image set. Each vector has the shape (..., columns).
"""


@dataclass(frozen=True, slots=True)
class AssociationDifferences:
    """Differences in the association scores of one axis, first model minus second model.

    Attributes
    ----------
    cas : tuple of Estimate
        Difference in CAS for each counterfactual.
    mad, wasserstein, standard_deviation : Estimate
        Differences in MAD and in its alternatives (TIBET, appendix 9.4).
    """

    cas: tuple[Estimate, ...]
    mad: Estimate
    wasserstein: Estimate
    standard_deviation: Estimate

    def with_missing(self, missing: Sequence[int]) -> Self:
        """Return a copy of the differences that also reports the number of images without answers.

        Parameters
        ----------
        missing
            Numbers of images without answers, summed over both models: first for the baseline sets,
            then for each counterfactual.
        """
        cas_differences = [
            replace(estimate, missing=missing[0] + count)
            for estimate, count in zip(self.cas, missing[1:], strict=True)
        ]
        return type(self)(
            cas=tuple(cas_differences),
            mad=replace(self.mad, missing=sum(missing)),
            wasserstein=replace(self.wasserstein, missing=sum(missing)),
            standard_deviation=replace(self.standard_deviation, missing=sum(missing)),
        )


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings for the scores and their intervals. See `association_differences`."""

    draws: int
    level: float
    variant: Variant
    embedded: bool


def association_differences(
    sets: Sequence[PairedSets],
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    variant: Variant = "paper",
    embedded: bool = False,
) -> AssociationDifferences:
    """Estimate differences between two models in CAS, in MAD and in the alternatives to MAD.

    Parameters
    ----------
    sets
        Pairs of image sets, one from each model: first the baseline sets, then the sets for each of
        the K counterfactuals. A set is an array of concept counts, of shape (images, concepts), or
        of unit vectors, of shape (images, dimensions).
    rng
        Random generator for all draws.
    draws
        Number of bootstrap samples, and number of random swaps in each round of the test.
    level
        Confidence level of the intervals, in (0, 1).
    variant
        As in `association.cas` and `association.mad`.
    embedded
        True if the sets contain unit vectors. askew then compares CAS^CLIP instead of CAS (TIBET,
        Eq. 4 and Fig. 11).

    Raises
    ------
    NotEnoughData, ValueError
        As in `associations`.
    """
    settings = _Settings(draws=draws, level=level, variant=variant, embedded=embedded)
    again_first, again_second = equal_generators(rng)
    models = (
        _scores_of([pair.first for pair in sets], settings, again_first),
        _scores_of([pair.second for pair in sets], settings, again_second),
    )
    resampled = [pair.resampled(draws, rng) for pair in sets]
    for_alternatives = rng.spawn(1)[0]

    def differences(spreads: Sequence[str], generator: Generator) -> list[Estimate]:
        return _differences(models, sets, resampled, settings, spreads, generator)

    *each_cas, mad = differences(("mad",), rng)
    *_, wasserstein, standard_deviation = differences(ALTERNATIVES, for_alternatives)
    return AssociationDifferences(
        cas=tuple(each_cas),
        mad=mad,
        wasserstein=wasserstein,
        standard_deviation=standard_deviation,
    )


def _differences(
    models: tuple[Associations, Associations],
    sets: Sequence[PairedSets],
    resampled: Sequence[tuple[Floats, Floats]],
    settings: _Settings,
    spreads: Sequence[str],
    rng: Generator,
) -> list[Estimate]:
    """Return the difference in CAS for each counterfactual, and then the difference in each spread.

    `resampled` contains the mean of each set in each bootstrap sample. `rng` generates the random
    swaps of the test.
    """
    scores = partial(_cas_and_spreads, settings=settings, spreads=spreads)
    p = _exchange_p(sets, scores, settings.draws, rng)
    correlation = correlations(_of_models(scores, resampled), min(len(pair) for pair in sets))
    first, second = (_estimates(model, spreads) for model in models)
    differences = []
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        is_cas = k < len(models[0].cas)
        differences.append(_difference(a, b, float(correlation[k]), float(p[k]), is_cas=is_cas))
    return differences


def _estimates(scores: Associations, spreads: Sequence[str]) -> list[Estimate]:
    """Return the estimated CAS of each counterfactual, followed by the spreads in `spreads`."""
    return [*scores.cas, *(getattr(scores, name) for name in spreads)]


def _scores_of(sets: Sequence[Floats], settings: _Settings, rng: Generator) -> Associations:
    """Compute the scores of one model from its image sets. The first set is the baseline set."""
    return associations(
        sets[0],
        sets[1:],
        rng=rng,
        draws=settings.draws,
        level=settings.level,
        variant=settings.variant,
        embedded=settings.embedded,
    )


def _cas_and_spreads(
    means: Sequence[Floats], *, settings: _Settings, spreads: Sequence[str]
) -> Floats:
    """Compute the K CAS values and their spreads, as an array of shape (..., K + spreads)."""
    initial = means[0]
    if settings.embedded:
        scores = [np.einsum("...d,...d->...", initial, other) for other in means[1:]]
    else:
        scores = [cas(initial, other, settings.variant) for other in means[1:]]
    together = np.stack(scores, axis=-1)
    measured = [SPREADS[name](together, settings.variant) for name in spreads]
    return np.stack([*scores, *measured], axis=-1)


def _of_models(scores: Scores, means: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Compute the scores of each model from the means of its sets."""
    first, second = (scores(of_model) for of_model in zip(*means, strict=True))
    return first, second


def _difference(
    first: Estimate, second: Estimate, correlation: float, p: float, *, is_cas: bool = False
) -> Estimate:
    """Return the difference in a score between the models (first minus second)."""
    difference = Estimate(
        value=first.mark - second.mark,
        n=(first.n or 0) + (second.n or 0),
        missing=first.missing + second.missing,
        null=0.0,
        max=first.max,
        p=p,
    )
    if first.interval is None or second.interval is None:
        return difference
    low, high = _joined_ends(first, second, correlation, is_cas=is_cas)
    return replace(
        difference,
        low=low,
        high=high,
        level=first.level,
        interval=f"MOVER, {first.interval}, paired",
    )


def _exchange_p(sets: Sequence[PairedSets], scores: Scores, draws: int, rng: Generator) -> Floats:
    """Return two-sided p-values for the differences, from random swaps of images between models."""

    def differences(means: Sequence[tuple[Floats, Floats]]) -> Floats:
        first, second = _of_models(scores, means)
        return np.asarray(np.abs(first - second))

    def exchanged() -> Iterator[Floats]:
        for _ in range(ROUNDS):
            yield differences([pair.exchanged(draws, rng) for pair in sets])

    observed = differences([pair.means for pair in sets])
    return p_by_rounds(observed, exchanged())


def _joined_ends(
    first: Estimate, second: Estimate, correlation: float, *, is_cas: bool
) -> tuple[float, float]:
    """Return the limits of the interval for the difference between two scores.

    `joined` expects quantities whose lower bound is 0. CAS can reach its upper bound of 1, so this
    function passes 1 - CAS to `joined`.
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
