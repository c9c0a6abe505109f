"""Verdicts whether an image set is biased on an axis.

All sets and axes of an instrument form one family of Benjamini-Hochberg, in every method. MAD is an
estimate without a verdict.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from askew.parts.survey.shares import DISTANCE, SetShares, usable_errors
from askew.stats.distance_intervals import as_exact_together
from askew.stats.intervals import benjamini_hochberg
from askew.stats.shares import detectable_distance
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate

Errors = Mapping[tuple[str, str], NDArray[np.int64]]
"""Known errors of instruments, by instrument and axis."""


def with_verdicts(
    entries: Iterable[SetShares], known_errors: Errors | None = None
) -> tuple[SetShares, ...]:
    """Return shares with the q-values of their tests.

    Parameters
    ----------
    entries
        Shares of all sets and instruments.
    known_errors
        Known errors of instruments, for the power of the tests.
    """
    judged = [entry if entry.of_prompt else replace(entry, verdict=None) for entry in entries]
    for instrument in dict.fromkeys(entry.instrument for entry in judged):
        p_values = {
            place: entry.verdict.p
            for place, entry in enumerate(judged)
            if entry.instrument == instrument and entry.verdict
        }
        q_values = benjamini_hochberg([*p_values.values()]).tolist()
        for place, q in zip(p_values, q_values, strict=True):
            judged[place] = _with_q(judged[place], q, len(p_values), known_errors or {})
    return tuple(judged)


def _with_q(entry: SetShares, q: float, tests: int, known_errors: Errors) -> SetShares:
    """Return an entry with the q-value of its test, in a family of tests, and the test's power."""
    verdict = entry.verdict
    if verdict is None or not isinstance(entry.distance, Estimate):
        return entry
    errors = None
    if verdict.corrected_for_errors:
        errors = usable_errors(known_errors.get((entry.instrument, entry.axis)))
    detectable = detectable_distance(
        as_exact_together(sum(entry.counts.values()), entry.reference_images),
        tuple(entry.reference.values()),
        DISTANCE["nominal" if entry.total_variation is None else "ordinal"],
        level=SIGNIFICANCE_LEVEL / tests,
        errors=errors,
    )
    total_variation = entry.total_variation
    if isinstance(total_variation, Estimate):
        total_variation = replace(total_variation, q=q)
    return replace(
        entry,
        distance=replace(entry.distance, q=q),
        total_variation=total_variation,
        verdict=replace(verdict, q=q, detectable=detectable, tests=tests),
    )


def is_biased(entry: SetShares) -> bool | None:
    """Check whether the shares of an image set on an axis deviate significantly from the reference.

    Returns
    -------
    bool or None
        By the verdict on the set. None where nothing was tested.
    """
    if entry.verdict is None:
        return is_significant(entry.distance)
    return entry.verdict.q < SIGNIFICANCE_LEVEL
