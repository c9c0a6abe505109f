"""Significance level of all verdicts, and the decision by it."""

from askew.types import Estimate, Missing

SIGNIFICANCE_LEVEL = 0.05
"""A test is significant where its q (or, without correction, its p) is below this level."""


def is_significant(score: Estimate | Missing | None) -> bool | None:
    """Check whether a score is significant.

    Parameters
    ----------
    score
        An estimate. Its q decides; where it has none, its p does.

    Returns
    -------
    bool or None
        None where the score is missing or was not tested.
    """
    if not isinstance(score, Estimate):
        return None
    probability = score.p if score.q is None else score.q
    return None if probability is None else probability < SIGNIFICANCE_LEVEL
