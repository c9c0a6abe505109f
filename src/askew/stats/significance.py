"""Significance level of all verdicts, and a check for significant scores."""

from askew.types import Estimate, Missing

SIGNIFICANCE_LEVEL = 0.05
"""A test is significant if its q-value is below this level.

If a test is not corrected for multiple testing, its p-value must be below this level.
"""


def is_significant(score: Estimate | Missing | None) -> bool | None:
    """Check whether a score is significant.

    Parameters
    ----------
    score
        An estimate. The check uses the score's q-value, or its p-value if there is no q-value.

    Returns
    -------
    bool or None
        True if the q-value or p-value is below `SIGNIFICANCE_LEVEL`. None if the score is missing
        or was not tested.
    """
    if not isinstance(score, Estimate):
        return None
    probability = score.p if score.q is None else score.q
    return None if probability is None else probability < SIGNIFICANCE_LEVEL
