"""Shares corrected for the known errors of the instrument that read them.

P(answer | true) is a matrix R. True shares s give answers with the shares s @ R, so that answers
are corrected by R's inverse. Corrected shares may leave the simplex by chance; they are cut
(`ReadingErrors.shares`) only where a population is needed. R errs itself: as a variance, and as
matrices drawn anew for simulated answers. NotEnoughData is raised without answers and for a true
value that the reference never saw, ValueError for what are no counts and for shapes that do not
fit.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.stats.distance import normalised
from askew.stats.intervals import Floats, percentile_interval, positive_counts
from askew.types import Estimate

PSEUDO_COUNT = (
    1.0  # spread over a row, so that an error that was never seen is not taken as impossible
)
LEAST_SINGULAR_VALUE = 0.1
"""Below it the instrument hardly tells some values apart: a correction would multiply chance by
more than ten.
"""


@dataclass(frozen=True, eq=False)
class ReadingErrors:
    """What is known of an instrument's errors on one axis.

    `counts` (m, m) are of answers on pictures whose truth is known: rows the true values, columns
    the answers.
    """

    counts: Floats

    @classmethod
    def of(cls, confusion_counts: ArrayLike) -> Self:
        """From counts with at least one picture of every true value."""
        counts = np.asarray(confusion_counts, dtype=float)
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise ValueError(
                f"confusion counts of shape {counts.shape}; (true, observed) over one list is needed"
            )
        return cls(np.asarray(positive_counts(counts, "the reference's counts of a value")))

    @cached_property
    def rates(self) -> Floats:
        """P(answer | true): (m, m), every row with the sum 1."""
        return normalised(self.counts)

    @cached_property
    def inverse(self) -> Floats:
        """(m, m) from shares of answers to shares of true values."""
        return np.asarray(np.linalg.pinv(self.rates), dtype=np.float64)

    @property
    def tell_values_apart(self) -> bool:
        """Whether the answers say enough about the truth to be corrected."""
        return bool(np.linalg.svd(self.rates, compute_uv=False).min() >= LEAST_SINGULAR_VALUE)

    @property
    def key(self) -> bytes:
        """The same for the same counts."""
        return self.counts.tobytes()

    def shares(self, answered: ArrayLike) -> Floats:
        """True shares (m,) that explain the shares, or counts, (m,) of answers best: they minimise
        sum_o (sum_t s_t P(o | t) - answered_o)**2 over s >= 0 with sum 1."""
        shares = normalised(answered, "observed counts")
        if shares.shape != self.rates.shape[:1]:
            raise ValueError(
                f"observed counts of shape {shares.shape} do not fit {len(self.rates)} values"
            )
        return np.asarray(least_squares_shares(shares[None], self.rates[None])[0])

    def variances(self, shares: Floats, coefficients: Floats) -> Floats:
        """What the sampling error of R adds to the variance of forms (L, m) of answers, of true
        shares (m,): (L,).
        """
        of_rows = form_variances(self.rates, coefficients)
        return np.asarray(np.square(shares) @ (of_rows / self.counts.sum(axis=1, keepdims=True)))

    def standard_errors(self, shares: Floats, pictures: int) -> Floats:
        """Of the corrected shares (m,) of so many pictures, where the true shares are (m,)."""
        of_answers = form_variances(shares @ self.rates, self.inverse.T)
        return np.asarray(np.sqrt(of_answers / pictures + self.variances(shares, self.inverse.T)))

    def drawn(self, draws: int, seed: int) -> Floats:
        """Matrices (draws, m, m) that the counts are compatible with."""
        return _drawn(self.key, len(self.counts), draws, seed)


def form_variances(answered: Floats, coefficients: Floats) -> Floats:
    """Of forms (L, m) of one picture's answer, where answers have the shares (..., m): (..., L)."""
    return np.asarray(
        np.maximum(answered @ np.square(coefficients).T - np.square(answered @ coefficients.T), 0)
    )


def corrected_share_intervals(
    observed: ArrayLike,
    confusion: ArrayLike,
    *,
    rng: Generator,
    draws: int,
    level: float = 0.95,
    missing: int = 0,
) -> tuple[Estimate, ...]:
    """`ReadingErrors.shares` with intervals that carry the sampling error of the answers and of the
    confusion counts.

    Percentiles of a parametric bootstrap: observed shares and every row of P(observed | true) are
    drawn anew and the shares corrected again. Counts: `observed` are (K,), `confusion` (K, K).
    """
    errors = ReadingErrors.of(confusion)
    answers = np.asarray(observed, dtype=float)
    values = errors.shares(answers)
    shares = compatible_shares(answers, draws, rng)
    rates = np.stack([compatible_shares(row, draws, rng) for row in errors.counts], axis=1)
    n = round(float(answers.sum()))
    name = "parametric bootstrap"
    return tuple(
        Estimate(
            float(value), *percentile_interval(column, level), level, name, n, missing, max=1.0
        )
        for value, column in zip(values, least_squares_shares(shares, rates).T, strict=True)
    )


def compatible_shares(counts: Floats, draws: int, rng: Generator) -> Floats:
    """Distributions (draws, K) that counts (K,) are compatible with, as variable as the shares of
    as many pictures.
    """
    shares = normalised(counts + PSEUDO_COUNT / len(counts))
    return np.asarray(rng.dirichlet(shares * max(counts.sum() - 1, 1), size=draws))


def least_squares_shares(shares: Floats, rates: Floats) -> Floats:
    """Solve many problems at once: shares (draws, K), rates (draws, true, observed) to (draws, K).

    A solution without constraint that happens to be on the simplex is the answer. Else, with B =
    matrix - target 1',
    |B u|**2 + (sum(u) - 1)**2 over u >= 0 has its minimum at a multiple of the s >= 0 with sum 1 of the least
    |matrix @ s - target|: for any direction s the best multiple leaves |B s|**2 / (1 + |B s|**2), which grows with
    |B s|.
    """
    columns = np.swapaxes(rates, 1, 2)
    values = shares.shape[1]
    regular = np.linalg.cond(columns) < 1 / np.finfo(float).eps
    solved = np.full_like(shares, -1.0)
    solved[regular] = np.linalg.solve(columns[regular], shares[regular][..., None])[..., 0]
    for i in np.flatnonzero(solved.min(axis=1) < 0):
        system = np.vstack([columns[i] - shares[i][:, None], np.ones(values)])
        solved[i], _ = scipy.optimize.nnls(system, np.append(np.zeros(values), 1.0))
    return np.asarray(solved / solved.sum(axis=1, keepdims=True))


@lru_cache(maxsize=24)
def _drawn(counts: bytes, values: int, draws: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, values])
    rows = np.frombuffer(counts).reshape(values, values)
    return np.stack([compatible_shares(row, draws, rng) for row in rows], axis=1)
