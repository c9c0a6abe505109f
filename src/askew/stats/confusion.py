"""Shares corrected for the known errors of the instrument that labels images.

The matrix R contains the probabilities P(answer | true value). If the true shares are s, the
expected shares of the answers are s @ R. So askew multiplies the observed shares of the answers by
the inverse of R. Corrected shares may be negative by chance. askew converts them to valid shares
(`ReadingErrors.shares`) only where it needs a population to draw from.

R has a sampling error, too. askew includes this error as a variance or, when it simulates answers,
by resampling R. All functions raise NotEnoughData if there are no answers or if a true value has no
images. They raise ValueError for invalid counts or shapes.
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

PSEUDO_COUNT = 1.0
"""Pseudo-count added to each row, so that errors that never occurred remain possible."""
LEAST_SINGULAR_VALUE = 0.1
"""askew corrects shares only if the smallest singular value of R is at least this large.

Below this limit, the instrument hardly distinguishes some values of the axis, and a correction
would multiply sampling noise by more than ten.
"""


@dataclass(frozen=True, eq=False)
class ReadingErrors:
    """Known errors of an instrument that labels one axis.

    Attributes
    ----------
    counts : array, (m, m)
        Number of images for each true value (row) and each answer of the instrument (column).
    """

    counts: Floats

    @classmethod
    def of(cls, confusion_counts: ArrayLike) -> Self:
        """Check that each true value has at least one image, and return the labeling errors."""
        counts = np.asarray(confusion_counts, dtype=float)
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise ValueError(
                f"confusion counts have the shape {counts.shape}; "
                "a square table (true value, answer) is needed"
            )
        return cls(np.asarray(positive_counts(counts, "the counts of a true value")))

    @cached_property
    def rates(self) -> Floats:
        """Matrix R of the probabilities P(answer | true value), of shape (m, m).

        Each row sums to 1.
        """
        return normalised(self.counts)

    @cached_property
    def inverse(self) -> Floats:
        """Matrix of shape (m, m) that maps shares of answers to shares of true values."""
        return np.asarray(np.linalg.pinv(self.rates), dtype=np.float64)

    @property
    def tell_values_apart(self) -> bool:
        """True if the answers distinguish the values well enough for a correction."""
        return bool(np.linalg.svd(self.rates, compute_uv=False).min() >= LEAST_SINGULAR_VALUE)

    @property
    def key(self) -> bytes:
        """Bytes that identify the counts."""
        return self.counts.tobytes()

    def __eq__(self, other: object) -> bool:
        """Compare counts."""
        return isinstance(other, ReadingErrors) and self.key == other.key

    def __hash__(self) -> int:
        """Return a hash of the counts."""
        return hash(self.key)

    def shares(self, answered: ArrayLike) -> Floats:
        """Return the true shares that explain the answers best.

        The shares s minimize sum_o (sum_t s_t P(o | t) - answered_o)**2 over all s >= 0 with sum 1.

        Parameters
        ----------
        answered : array, (m,)
            Shares or counts of answers.
        """
        shares = normalised(answered, "observed counts")
        if shares.shape != self.rates.shape[:1]:
            raise ValueError(
                f"the observed counts have shape {shares.shape}, but the axis has "
                f"{len(self.rates)} values"
            )
        return np.asarray(least_squares_shares(shares[None], self.rates[None])[0])

    def variances(self, shares: Floats, coefficients: Floats) -> Floats:
        """Return the variance that the sampling error of R adds to each linear form of the answers.

        Parameters
        ----------
        shares : array, (m,)
            True shares.
        coefficients : array, (L, m)
            Coefficients of L linear forms of the shares of answers.
        """
        of_rows = form_variances(self.rates, coefficients)
        return np.asarray(np.square(shares) @ (of_rows / self.counts.sum(axis=1, keepdims=True)))

    def standard_errors(self, shares: Floats, pictures: int) -> Floats:
        """Return the standard errors of corrected shares, given the true shares."""
        of_answers = form_variances(shares @ self.rates, self.inverse.T)
        return np.asarray(np.sqrt(of_answers / pictures + self.variances(shares, self.inverse.T)))

    def drawn(self, draws: int, seed: int) -> Floats:
        """Draw matrices R that are compatible with the counts. The shape is (draws, m, m)."""
        return _drawn(self.key, len(self.counts), draws, seed)


def form_variances(answered: Floats, coefficients: Floats) -> Floats:
    """Return, for each linear form, the variance that a single image's answer contributes.

    Parameters
    ----------
    answered : array, (..., m)
        Shares of answers.
    coefficients : array, (L, m)
        Coefficients of L linear forms.
    """
    squares = answered @ np.square(coefficients).T
    return np.asarray(np.maximum(squares - np.square(answered @ coefficients.T), 0))


def corrected_share_intervals(
    observed: ArrayLike,
    confusion: ArrayLike,
    *,
    rng: Generator,
    draws: int,
    level: float = 0.95,
    missing: int = 0,
) -> tuple[Estimate, ...]:
    """Estimate shares with intervals, corrected for labeling errors.

    The intervals include the sampling error of the answers and of the confusion counts. The
    interval limits are percentiles of a parametric bootstrap. Each draw simulates the observed
    shares and R, and then corrects the simulated shares.

    Parameters
    ----------
    observed : array, (K,)
        Number of images with each answer.
    confusion : array, (K, K)
        Number of images for each true value (row) and each answer of the instrument (column).
    rng
        Random generator for all draws.
    draws
        Number of draws.
    level
        Confidence level of the intervals, in (0, 1).
    missing
        Number of images without an answer. This number is reported but does not affect the
        estimate.
    """
    errors = ReadingErrors.of(confusion)
    answers = np.asarray(observed, dtype=float)
    values = errors.shares(answers)
    shares = compatible_shares(answers, draws, rng)
    rates = np.stack([compatible_shares(row, draws, rng) for row in errors.counts], axis=1)
    drawn = least_squares_shares(shares, rates)
    estimates = []
    for value, column in zip(values, drawn.T, strict=True):
        low, high = percentile_interval(column, level)
        estimate = Estimate(
            value=float(value),
            low=low,
            high=high,
            level=level,
            interval="parametric bootstrap",
            n=round(float(answers.sum())),
            missing=missing,
            max=1.0,
        )
        estimates.append(estimate)
    return tuple(estimates)


def compatible_shares(counts: Floats, draws: int, rng: Generator) -> Floats:
    """Draw distributions that are compatible with the observed counts.

    The distributions vary as much as shares in samples of the same size.
    """
    shares = normalised(counts + PSEUDO_COUNT / len(counts))
    return np.asarray(rng.dirichlet(shares * max(counts.sum() - 1, 1), size=draws))


def least_squares_shares(shares: Floats, rates: Floats) -> Floats:
    """Compute the same shares as `ReadingErrors.shares`, but for many draws at the same time.

    Let t be the shares of answers in a draw, and M the transposed rates. The result s minimizes |M
    s - t|**2 over s >= 0 with sum 1. If the solution of M s = t has no negative share, it is the
    result. If the solution has a negative share, let B = M - t 1'. The function minimizes |B u|**2
    + (1 - sum(u))**2 over u >= 0, and scales the minimizer to sum 1. The result is the same s
    because, for any s with sum 1, the minimum over all multiples of s is |B s|**2 / (1 + |B s|**2).
    This minimum increases with |B s|, and B s = M s - t.

    Parameters
    ----------
    shares : array, (draws, K)
        Shares of answers.
    rates : array, (draws, true values, answers)
        P(answer | true value).

    Returns
    -------
    array, (draws, K)
        True shares.
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
