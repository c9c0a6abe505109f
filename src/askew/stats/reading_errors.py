"""An instrument that errs: how true shares turn into answers, and answers back into shares.

P(answer | true) is a matrix R. True shares s give answers with the shares s @ R, so that answers are corrected by R's
inverse. Corrected shares may leave the simplex by chance, and a share below 0 says: none, as far as can be seen. They
are left so wherever errors are to cancel, and cut (`confusion.correct_shares`) only where a population is needed.

R is an estimate itself, from pictures whose truth is known. Its sampling error enters twice: as a variance, and as
matrices drawn anew for simulated answers, which are then corrected by the matrix that one has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.confusion import compatible_shares, confusion_rates, correct_shares, square_counts
from askew.stats.intervals import Floats

LEAST_SINGULAR_VALUE = 0.1
"""Below it the instrument hardly tells some values apart: a correction would multiply chance by more than ten."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadingErrors:
    """What is known of an instrument's errors on one axis.

    counts   (m, m) answers on pictures whose truth is known: rows the true values, columns the answers
    rates    (m, m) P(answer | true)
    inverse  (m, m) from shares of answers to shares of true values
    """

    counts: Floats
    rates: Floats
    inverse: Floats

    @classmethod
    def of(cls, confusion_counts: ArrayLike) -> ReadingErrors:
        """Raises NotEnoughData for a true value that the reference never saw, ValueError for what is no such table."""
        rates = confusion_rates(confusion_counts)
        return cls(square_counts(confusion_counts), rates, np.asarray(np.linalg.pinv(rates), dtype=np.float64))

    @property
    def tell_values_apart(self) -> bool:
        """Whether the answers say enough about the truth to be corrected."""
        return bool(np.linalg.svd(self.rates, compute_uv=False).min() >= LEAST_SINGULAR_VALUE)

    @property
    def key(self) -> bytes:
        """The same for the same counts."""
        return self.counts.tobytes()

    def coefficients(self, forms: Floats) -> Floats:
        """Linear forms (L, m) of true shares as forms (L, m) of the shares of answers."""
        return np.asarray(forms @ self.inverse.T)

    def shares(self, answered: Floats) -> Floats:
        """True shares (m,), on the simplex, that explain the shares (m,) of answers best."""
        return correct_shares(answered, self.counts)

    def variances(self, shares: Floats, coefficients: Floats) -> Floats:
        """What the sampling error of R adds to the variance of forms (L, m) of answers, of true shares (m,): (L,)."""
        of_rows = self.rates @ np.square(coefficients).T - np.square(self.rates @ coefficients.T)
        return np.asarray(np.square(shares) @ (of_rows / self.counts.sum(axis=1, keepdims=True)))

    def standard_errors(self, shares: Floats, pictures: int) -> Floats:
        """Of the corrected shares (m,) of so many pictures, where the true shares are (m,)."""
        coefficients, answered = self.inverse.T, shares @ self.rates
        of_answers = answered @ np.square(coefficients).T - np.square(answered @ coefficients.T)
        return np.asarray(np.sqrt(np.maximum(of_answers, 0) / pictures + self.variances(shares, coefficients)))

    def drawn(self, draws: int, seed: int) -> Floats:
        """Matrices (draws, m, m) that the counts are compatible with."""
        return _drawn(self.key, len(self.counts), draws, seed)


@lru_cache(maxsize=24)
def _drawn(counts: bytes, values: int, draws: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, values])
    rows = np.frombuffer(counts).reshape(values, values)
    return np.stack([compatible_shares(row, draws, rng) for row in rows], axis=1)
