"""Interval of CAS by inverting a test along two paths of possible populations.

With S the sum and D = sum |w0 - w1| the L1 distance of two histograms, CAS = (S - D) / (S + D). D
computed from n pictures is too large, by up to 0.8 standard errors for each concept that does not
differ at all, and no resampling of the plug-in value undoes that: how large the excess is depends
on how the true difference is spread over the concepts, which the data tell only in part. So both
ends are taken from the spread that is least favourable to them. High CAS: the difference sits in as
few concepts as possible ("sparse"); concepts enter by falling z-value. Low CAS: it is spread over
all concepts ("dense"); those that clearly differ keep their difference, the rest is scaled, and
beyond the observed difference every concept moves further by the same number of standard errors.

A population on a path is rejected if fewer than (1 - level) / 2 of its samples would be as far out
as the observed CAS. Concepts that do not differ on the path get their error from permuting the
pictures of both sets (exact where they are equal), the others from the bootstrap of each set.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from askew.stats.intervals import POINT, Floats, tail

CLEAR_Z = 3.0  # concepts beyond this z-value keep their difference on the dense path
SPARSE_STEPS = np.linspace(0.0, 1.0, 13)
DENSE_STEPS = np.concatenate([np.linspace(0.0, 1.0, 8), [1.25, 1.6, 2.1, 2.8, 4.0, 6.0, 9.0]])
Populations = tuple[Floats, Floats]
"""(steps, concepts): the difference, and the share of the observed one that is in it."""
FEW = 5.0  # shared occurrences below which the normal shape of errors is not to be trusted


class Curve(NamedTuple):
    """What CAS to expect along a path: population `scores`, and three quantiles of CAS computed
    from samples.

    All (steps,), falling. Reading a curve backwards turns an observed CAS into the population that
    explains it.
    """

    scores: Floats
    low: Floats
    median: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class ConceptShift:
    """Two histograms and draws of their errors, reduced to what CAS needs. Arrays: (concepts,) or
    (draws, concepts). `bootstrap` and `permuted` are errors of the difference; `smaller` is the
    number of pictures of the smaller set.
    """

    difference: Floats
    total: Floats
    standard_error: Floats
    bootstrap: Floats
    permuted: Floats
    sum_errors: Floats
    smaller: int

    @property
    def score(self) -> float:
        """CAS as observed."""
        return self.score_of(self.difference)

    def score_of(self, difference: Floats) -> float:
        """CAS of the population with this difference and the observed sum."""
        distance = np.minimum(np.abs(difference), self.total).sum()
        total = self.total.sum()
        return float((total - distance) / (total + distance))

    def sparse(self) -> Populations:
        """On the path on which concepts come to differ by falling z-value."""
        size = np.abs(self.difference)
        order = np.argsort(
            -np.round(size / self.standard_error, 9), kind="stable"
        )  # so that rounding decides no order
        size = size[order]
        inside = np.clip(SPARSE_STEPS[:, None] * size.sum() - (np.cumsum(size) - size), 0, size)
        share = np.zeros_like(inside)
        share[:, order] = np.divide(inside, size, out=np.zeros_like(inside), where=size > 0)
        return share * self.difference, share

    def dense(self) -> Populations:
        """On the path on which all concepts come to differ at once."""
        steps = DENSE_STEPS[:, None]
        clear = np.abs(self.difference) / self.standard_error > CLEAR_Z
        share = np.where(clear, 1.0, np.minimum(steps, 1.0))
        outward = (
            np.where(self.difference < 0, -1.0, 1.0)
            * self.standard_error
            * np.maximum(steps - 1.0, 0.0)
        )
        return share * self.difference + outward, share

    def draws(self, difference: Floats, share: Floats | float = 1.0) -> Floats:
        """CAS of samples from the population with this difference: (draws,).

        In draw i, pairs of sets that share one share its error.
        """
        errors = share * self.bootstrap + np.sqrt(1 - share**2) * self.permuted
        totals = np.maximum(self.total + share * self.sum_errors, 0.0)
        distance = np.minimum(np.abs(difference + errors), totals).sum(axis=1)
        total = totals.sum(axis=1)
        return np.asarray((total - distance) / np.maximum(total + distance, np.finfo(float).tiny))

    def curve(self, path: Populations, level: float) -> Curve:
        """The calibration curve along a path, with the quantiles that a central interval of `level`
        needs.
        """
        quantiles = [
            np.quantile(self.draws(*p), [tail(level), 0.5, 1 - tail(level)])
            for p in zip(*path, strict=True)
        ]
        scores = np.minimum.accumulate([self.score_of(difference) for difference in path[0]])
        return Curve(scores, *np.minimum.accumulate(np.array(quantiles), axis=0).T)

    def interval(self, level: float) -> tuple[float, float, float, float]:
        """Interval of the population CAS; the middle of both paths' median-unbiased estimates, and
        how far these lie from it.

        Two sets that are more alike than equal populations usually give do not exclude small
        differences: for the low end the observed CAS counts at most as the median under equality.
        """
        sparse = self.curve(self.sparse(), level)
        dense = self.curve(self.dense(), level)
        at_most = min(self.score, float(dense.median[0]))

        def ends(of_dense: Floats, of_sparse: Floats, level: float) -> tuple[float, float]:
            high = max(
                float(np.interp(self.score, of_sparse[::-1], sparse.scores[::-1])),
                self._rare_end(level),
            )
            return min(float(np.interp(at_most, of_dense[::-1], dense.scores[::-1])), high), high

        of_dense, of_sparse = ends(dense.median, sparse.median, POINT)
        return (
            *ends(dense.high, sparse.low, level),
            (of_dense + of_sparse) / 2,
            (of_sparse - of_dense) / 2,
        )

    def _rare_end(self, level: float) -> float:
        """High end for sets that share fewer than `FEW` occurrences: no resampling shows how many
        more there could be.

        The shared occurrences count as successes among the smaller set's pictures
        (Clopper-Pearson). 0 otherwise.
        """
        mass = float(self.total.sum())
        unit = float(self.total.max())
        seen = (mass - float(np.abs(self.difference).sum())) / 2 / unit * self.smaller
        if seen >= min(FEW, self.smaller):
            return 0.0
        possible = unit * float(scipy.stats.beta.isf(tail(level), seen + 1, self.smaller - seen))
        return min(possible / max(mass - possible, possible), 1.0)


def concept_shift(
    initial: Floats,
    counterfactual: Floats,
    initial_errors: Floats,
    errors: Floats,
    rng: np.random.Generator,
) -> ConceptShift:
    """Reduce two (pictures, concepts) sets and their bootstrap errors (draws, concepts) to a
    `ConceptShift`.
    """
    seen = initial.mean(axis=0) + counterfactual.mean(axis=0) > 0
    first = initial[:, seen]
    second = counterfactual[:, seen]
    n = len(initial)
    m = len(counterfactual)
    w = first.mean(axis=0)
    v = second.mean(axis=0)
    frequency = (first.sum(axis=0) + second.sum(axis=0) + 0.5) / (n + m + 1)
    variance = np.maximum(
        frequency * (1 - frequency), 0.25 / min(n, m)
    )  # words may occur more than once per picture
    error = np.sqrt(variance * (1 / n + 1 / m))
    weights = np.repeat([1 / n, -1 / m], [n, m])
    permuted = rng.permuted(np.tile(weights, (len(errors), 1)), axis=1) @ np.concatenate(
        [first, second]
    )
    apart = (initial_errors - errors)[:, seen]
    together = (initial_errors + errors)[:, seen]
    return ConceptShift(w - v, w + v, error, apart, permuted, together, min(n, m))
