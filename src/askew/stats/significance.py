"""Significance level of all verdicts, and the decision whether a score is significant."""

from askew.types import Estimate, Missing

SIGNIFICANCE_LEVEL = 0.05
"""A test is significant if its q, or its p if there is no correction, is below this level."""


def is_significant(score: Estimate | Missing | None) -> bool | None:
    """Check whether a score is significant.

    Parameters
    ----------
    score
        An estimate. The check uses its q, or its p if it has no q.

    Returns
    -------
    bool or None
        Whether q or p is below `SIGNIFICANCE_LEVEL`. None if the score is missing or was not tested.
    """
    if not isinstance(score, Estimate):
        return None
    probability = score.p if score.q is None else score.q
    return None if probability is None else probability < SIGNIFICANCE_LEVEL
