"""Interval for CAS, computed by inverting a test along two paths of possible populations.

CAS = (S - D) / (S + D), where S is the sum of two histograms and D = sum |w0 - w1| is the L1
distance between them. With few images, the observed D is too large. Even a concept that is equally
frequent in both populations increases D, on average by up to 0.8 standard errors. Resampling cannot
correct this excess, because the excess depends on how the true difference is distributed over the
concepts. The data reveal this distribution only in part. So askew computes each end of the interval
for the least favorable case:

- High end, path "sparse": the difference is limited to as few concepts as possible. Along the path,
  concepts start to differ in order of decreasing z-value.
- Low end, path "dense": the difference is spread over all concepts. Concepts that clearly differ
  keep their observed difference; the differences of all other concepts are scaled. Beyond the
  observed difference, the difference in each concept grows by the same number of standard errors.

askew rejects a population on a path if less than a fraction (1 - level) / 2 of its samples would
have a CAS as extreme as the observed CAS. If a concept does not differ between the populations at
this point of the path, its sampling errors come from permuting the images of both sets, which is
exact for equal populations. If the concept differs, its sampling errors come from a bootstrap of
each set.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from askew.stats.intervals import POINT, Floats, quantile, tail

CLEAR_Z = 3.0  # concepts beyond this z-value keep their difference on the dense path
SPARSE_STEPS = np.linspace(0.0, 1.0, 13)
DENSE_STEPS = np.concatenate([np.linspace(0.0, 1.0, 8), [1.25, 1.6, 2.1, 2.8, 4.0, 6.0, 9.0]])
FEW = 5.0  # number of shared occurrences below which errors cannot be assumed to be normal
SAME_Z_DIGITS = 9  # z-values are rounded to so many digits, so that rounding decides no order


class Populations(NamedTuple):
    """Pairs of populations along a path: first equal histograms, then increasingly different ones.

    Attributes
    ----------
    difference : array, (steps, concepts)
        Difference between the two histograms.
    share : array, (steps, concepts)
        Fraction of the observed difference that remains for each concept, in [0, 1].
    """

    difference: Floats
    share: Floats


class Curve(NamedTuple):
    """Calibration curve along a path: the CAS of populations, and CAS quantiles of their samples.

    Inverting the curve yields the population score that explains an observed CAS. All arrays have
    the shape (steps,), and their values never increase.

    Attributes
    ----------
    scores
        CAS of the populations.
    low, median, high
        Quantiles of CAS among samples from each population.
    """

    scores: Floats
    low: Floats
    median: Floats
    high: Floats


class CasInterval(NamedTuple):
    """Interval for the CAS of a population.

    Attributes
    ----------
    low, high : float
        Lower and upper limit of the interval.
    debiased : float
        Midpoint between the median-unbiased estimates on the two paths.
    apart : float
        Distance between the midpoint and either of the two estimates.
    """

    low: float
    high: float
    debiased: float
    apart: float


@dataclass(frozen=True, slots=True)
class ConceptShift:
    """Difference and sum of two histograms, with simulated sampling errors.

    Attributes
    ----------
    difference, total : array, (concepts,)
        Difference and sum of the two histograms.
    standard_error : array, (concepts,)
        Standard error of the difference.
    bootstrap, permuted : array, (draws, concepts)
        Simulated errors of the difference: from the bootstrap, and from permutations.
    sum_errors : array, (draws, concepts)
        Simulated errors of the sum, from the bootstrap.
    smaller : int
        Number of images in the smaller set.
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
        """Observed CAS."""
        return self.score_of(self.difference)

    def score_of(self, difference: Floats) -> float:
        """Return the CAS of a population with the given difference and the observed sum."""
        distance = np.minimum(np.abs(difference), self.total).sum()
        total = self.total.sum()
        return float((total - distance) / (total + distance))

    def sparse(self) -> Populations:
        """Return the path on which concepts start to differ in order of decreasing z-value."""
        size = np.abs(self.difference)
        z = np.round(size / self.standard_error, SAME_Z_DIGITS)
        order = np.argsort(-z, kind="stable")
        size = size[order]
        before = np.cumsum(size) - size
        inside = np.clip(SPARSE_STEPS[:, None] * size.sum() - before, 0, size)
        share = np.zeros_like(inside)
        share[:, order] = np.divide(inside, size, out=np.zeros_like(inside), where=size > 0)
        return Populations(difference=share * self.difference, share=share)

    def dense(self) -> Populations:
        """Return the path on which all concepts start to differ at the same time."""
        steps = DENSE_STEPS[:, None]
        clear = np.abs(self.difference) / self.standard_error > CLEAR_Z
        share = np.where(clear, 1.0, np.minimum(steps, 1.0))
        direction = np.where(self.difference < 0, -1.0, 1.0)
        outward = direction * self.standard_error * np.maximum(steps - 1.0, 0.0)
        return Populations(difference=share * self.difference + outward, share=share)

    def draws(self, difference: Floats, share: Floats | float = 1.0) -> Floats:
        """Simulate the CAS of samples from a population with this difference.

        If several comparisons include the same image set, draw i uses the same sampling error for
        this set in all of these comparisons.

        Parameters
        ----------
        difference : array, (concepts,)
            Difference between the two histograms of the population.
        share : array, (concepts,) or float
            Fraction of the observed difference that remains for each concept, in [0, 1].

        Returns
        -------
        array, (draws,)
            CAS of each sample.
        """
        errors = share * self.bootstrap + np.sqrt(1 - share**2) * self.permuted
        totals = np.maximum(self.total + share * self.sum_errors, 0.0)
        distance = np.minimum(np.abs(difference + errors), totals).sum(axis=1)
        total = totals.sum(axis=1)
        return np.asarray((total - distance) / np.maximum(total + distance, np.finfo(float).tiny))

    def curve(self, path: Populations, level: float) -> Curve:
        """Return the calibration curve along a path for intervals with this confidence level."""
        probabilities = [tail(level), 0.5, 1 - tail(level)]
        quantiles = [
            quantile(self.draws(difference, share), probabilities)
            for difference, share in zip(path.difference, path.share, strict=True)
        ]
        scores = [self.score_of(difference) for difference in path.difference]
        low, median, high = np.minimum.accumulate(np.array(quantiles), axis=0).T
        return Curve(scores=np.minimum.accumulate(scores), low=low, median=median, high=high)

    def interval(self, level: float) -> CasInterval:
        """Return the interval for the population CAS, and the debiased value.

        Two sets may, by chance, be more similar than most pairs of samples from equal populations,
        even if their populations differ a little. So for the low end, askew uses the observed CAS
        or the median CAS of samples from equal populations, whichever is smaller.
        """
        sparse = self.curve(self.sparse(), level)
        dense = self.curve(self.dense(), level)
        at_most = min(self.score, float(dense.median[0]))

        def high_end(quantile: Floats, level: float) -> float:
            end = _population_score(self.score, quantile, sparse.scores)
            return max(end, self._rare_end(level))

        def low_end(quantile: Floats, high: float) -> float:
            return min(_population_score(at_most, quantile, dense.scores), high)

        debiased_sparse = high_end(sparse.median, POINT)
        debiased_dense = low_end(dense.median, debiased_sparse)
        high = high_end(sparse.low, level)
        return CasInterval(
            low=low_end(dense.high, high),
            high=high,
            debiased=(debiased_dense + debiased_sparse) / 2,
            apart=(debiased_sparse - debiased_dense) / 2,
        )

    def _rare_end(self, level: float) -> float:
        """Return a lower bound for the high end of the interval.

        If the sets share fewer than `FEW` occurrences, resampling cannot show how many more they
        could share. The bound then comes from a Clopper-Pearson interval, in which each image of
        the smaller set is a trial and each shared occurrence is a success. For other sets, the
        bound is 0, so it has no effect.
        """
        mass = float(self.total.sum())
        unit = float(self.total.max())
        shared = (mass - float(np.abs(self.difference).sum())) / 2 / unit * self.smaller
        if shared >= min(FEW, self.smaller):
            return 0.0
        share = float(scipy.stats.beta.isf(tail(level), shared + 1, self.smaller - shared))
        possible = unit * share
        return min(possible / max(mass - possible, possible), 1.0)


def concept_shift(
    initial: Floats,
    counterfactual: Floats,
    initial_errors: Floats,
    errors: Floats,
    rng: np.random.Generator,
) -> ConceptShift:
    """Compute the `ConceptShift` between two sets.

    Parameters
    ----------
    initial, counterfactual : array, (images, concepts)
        Counts of concepts in the images of the two sets.
    initial_errors, errors : array, (draws, concepts)
        Bootstrap errors of the histograms of the two sets.
    rng
        Random generator for the permutations.
    """
    used = initial.mean(axis=0) + counterfactual.mean(axis=0) > 0
    first = initial[:, used]
    second = counterfactual[:, used]
    n = len(initial)
    m = len(counterfactual)
    w = first.mean(axis=0)
    v = second.mean(axis=0)

    weights = np.repeat([1 / n, -1 / m], [n, m])
    permutations = rng.permuted(np.tile(weights, (len(errors), 1)), axis=1)
    return ConceptShift(
        difference=w - v,
        total=w + v,
        standard_error=_standard_errors(first, second),
        bootstrap=(initial_errors - errors)[:, used],
        permuted=permutations @ np.concatenate([first, second]),
        sum_errors=(initial_errors + errors)[:, used],
        smaller=min(n, m),
    )


def _population_score(score: float, quantile: Floats, scores: Floats) -> float:
    """Return the population CAS at which this quantile of the samples equals the observed score."""
    return float(np.interp(score, quantile[::-1], scores[::-1]))


def _standard_errors(first: Floats, second: Floats) -> Floats:
    """Return the standard errors of the difference, assuming that both populations are equal."""
    n = len(first)
    m = len(second)
    frequency = (first.sum(axis=0) + second.sum(axis=0) + 0.5) / (n + m + 1)
    # words may occur more than once per image
    variance = np.maximum(frequency * (1 - frequency), 0.25 / min(n, m))
    return np.asarray(np.sqrt(variance * (1 / n + 1 / m)))
