"""Intersectional Sensitivity as it would be if the instrument did not err.

The instrument's confusion matrix P(observed | true) turns the true shares into the observed ones, so that both the
initial distribution and the mean of the counterfactual ones are corrected by least squares on the simplex
(`confusion`). The mean is corrected, not every set: sets that show almost one value would be cut off at 0 each.

How exact the corrected shares are comes from a parametric bootstrap of the answers and of the matrix, whose rows carry
their own sampling error. The rest is as for plain counts (`sensitivity`), with so many pictures as would have shares as
exact. The error of the matrix is common to both distributions, so that the interval is on the safe side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.common_draws import rounded_pictures
from askew.stats.confusion import (
    compatible_shares,
    confusion_rates,
    correct_shares,
    least_squares_shares,
    square_counts,
)
from askew.stats.distance import linear_forms, normalised
from askew.stats.intervals import Floats
from askew.stats.sensitivity import Margin, Margins, Pair, margins_of, sensitivities
from askew.types import Estimate, Missing

METHOD = "MOVER, test inversion, instrument corrected"


def corrected_interaction(
    pair: Pair, confusion_counts: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, draws: int = 1000
) -> Estimate | Missing:
    """`sensitivity.interaction` of tables corrected for the instrument's errors on the target axis.

    Args:
        pair: counts of the instrument's answers.
        confusion_counts: (m, m) counts, rows the true values of the target axis, columns the answers.

    Raises:
        NotEnoughData: a true value that the reference never saw.
        ValueError: shapes that do not fit, or something that is not a count.
    """
    found = margins_of(pair)
    if isinstance(found, Missing):
        return found
    matrix = square_counts(confusion_counts)
    rates = np.stack([compatible_shares(row, draws, rng) for row in matrix], axis=1)
    sets = [np.atleast_2d(np.asarray(c, dtype=float)) for c in (pair.initial, pair.counterfactual)]
    before, after = (
        _corrected(margin, counts, matrix, rates, rng)
        for margin, counts in zip((found.before, found.after), sets, strict=True)
    )
    margins = Margins(before, after, found.answers)
    (estimate,) = sensitivities([margins], [pair.missing], rng=rng, level=level, draws=draws)
    return replace(estimate, interval=METHOD) if isinstance(estimate, Estimate) else estimate


def corrected_table(table: ArrayLike, confusion_counts: ArrayLike) -> Floats:
    """A table (K, m) of counts as it would be without the instrument's errors: the same row sums, corrected shares.

    For looking at. Its entries are no counts, so that no test may be made of them: the chi-squared test of the observed
    table asks the same question, because sets that differ in what is observed differ in what is true.
    """
    counts = np.asarray(table, dtype=float)
    confusion_rates(confusion_counts)
    return np.stack([row.sum() * correct_shares(row, confusion_counts) for row in counts])


def _corrected(margin: Margin, sets: Floats, matrix: Floats, rates: Floats, rng: np.random.Generator) -> Margin:
    """Variances are those without the constraint to the simplex, which would hide how little is known near its edge."""
    draws = len(rates)
    observed = np.mean([compatible_shares(row, draws, rng) for row in sets], axis=0)
    shares = correct_shares(normalised(sets).mean(axis=0), matrix)
    mean = least_squares_shares(observed, rates).mean(axis=0)
    free = np.einsum("dot,do->dt", np.linalg.pinv(rates), observed)
    forms, _ = linear_forms(margin.distance, len(shares))
    pictures = rounded_pictures(float((mean * (1 - mean)).sum() / max(free.var(axis=0).sum(), 1e-9)))
    variances = (free @ forms.T).var(axis=0)
    return replace(margin, shares=shares, variances=variances, pictures=pictures, null_pictures=pictures)
