"""Compute how scores change as the number of noise samples grows ("downstream" paper, fig. 3).

The scores are computed on the same images, and a larger set of noise samples begins with the noise
of the smaller set. The decisions about an image are therefore paired, so the change between two
scores is estimated more precisely than the scores themselves.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from askew.methods.classify.decisions import ClassDecisions, Hits
from askew.methods.classify.findings import (
    AccuracyOverSamples,
    AssociationOverSamples,
    DifferentialOverSamples,
    SampleChanges,
)
from askew.parts.scoring import Scoring, or_missing
from askew.stats import classification as stats

S = TypeVar("S")


def sample_changes(
    by_samples: Sequence[ClassDecisions], hits: Sequence[Hits], scoring: Scoring
) -> SampleChanges:
    """Compute how each score changes with the number of noise samples.

    Changes are computed between successive numbers of noise samples, and finally from the smallest
    to the largest number.

    Parameters
    ----------
    by_samples : sequence of ClassDecisions
        Decisions between the target classes, in order of increasing number of noise samples.
    hits : sequence of Hits
        Whether images are classified correctly, in order of increasing number of noise samples.
    scoring : Scoring
        Settings for the intervals.

    Returns
    -------
    SampleChanges
        The changes, without q-values.
    """
    association: list[AssociationOverSamples] = []
    differential: list[DifferentialOverSamples] = []
    accuracy: list[AccuracyOverSamples] = []
    for fewer, more in _steps(by_samples):
        association += _association(fewer, more, scoring)
        differential += _differential(fewer, more, scoring)
    for fewer_hits, more_hits in _steps(hits):
        accuracy += _accuracy(fewer_hits, more_hits, scoring)
    return SampleChanges(
        association=tuple(association),
        differential=tuple(differential),
        accuracy=tuple(accuracy),
    )


def _steps(entries: Sequence[S]) -> Iterator[tuple[S, S]]:
    """Yield all pairs of successive entries.

    If there are three or more entries, also yield the pair of the first entry and the last entry.
    """
    yield from pairwise(entries)
    if len(entries) > 2:
        yield entries[0], entries[-1]


def _association(
    fewer: ClassDecisions, more: ClassDecisions, scoring: Scoring
) -> Iterator[AssociationOverSamples]:
    """Yield the change in each group's association; pooled groups come last."""
    counts = (fewer.readings.samples, more.readings.samples)
    for group, decisions in more.decisions.items():
        change = or_missing(
            stats.rate_change,
            decisions,
            fewer.decisions[group],
            rng=scoring.rng("association change", *map(str, counts), group),
            **scoring.interval_options,
        )
        yield AssociationOverSamples(
            group=group,
            fewer=counts[0],
            samples=counts[1],
            pooled=group in more.pooled,
            S=change,
        )


def _differential(
    fewer: ClassDecisions, more: ClassDecisions, scoring: Scoring
) -> Iterator[DifferentialOverSamples]:
    """Yield the change in the difference between each pair of groups; pooled groups come last."""
    counts = (fewer.readings.samples, more.readings.samples)
    for x, y in more.compared_groups:
        change = or_missing(
            stats.differential_change,
            (more.decisions[x], fewer.decisions[x]),
            (more.decisions[y], fewer.decisions[y]),
            rng=scoring.rng("differential change", *map(str, counts), x, y),
            **scoring.interval_options,
        )
        yield DifferentialOverSamples(
            group_x=x,
            group_y=y,
            fewer=counts[0],
            samples=counts[1],
            pooled=x in more.pooled,
            S=change,
        )


def _accuracy(fewer: Hits, more: Hits, scoring: Scoring) -> Iterator[AccuracyOverSamples]:
    """Yield the change in accuracy for each group that has a true class."""
    for group, after in more.of_groups.items():
        before = fewer.of_groups[group]
        if after is None or before is None:
            continue
        change = or_missing(
            stats.rate_change,
            after,
            before,
            rng=scoring.rng("accuracy change", str(fewer.samples), str(more.samples), group),
            **scoring.interval_options,
        )
        yield AccuracyOverSamples(
            group=group, fewer=fewer.samples, samples=more.samples, estimate=change
        )
