"""Significance level of all verdicts, and decisions by this level."""

from askew.types import Estimate, Missing

SIGNIFICANCE_LEVEL = 0.05
"""A test is significant if its q (or, without correction, its p) is below this level."""


def is_significant(score: Estimate | Missing | None) -> bool | None:
    """Check whether a score is significant.

    Parameters
    ----------
    score
        An estimate. The decision uses q, or p if there is no q.

    Returns
    -------
    bool or None
        None if the score is missing or was not tested.
    """
    if not isinstance(score, Estimate):
        return None
    probability = score.p if score.q is None else score.q
    return None if probability is None else probability < SIGNIFICANCE_LEVEL
