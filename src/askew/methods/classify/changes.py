"""Changes of scores with the number of noise samples, on the same images ("downstream", figure 3).

The images are the same, and the first of many noise samples use the same noise as few samples. So
the decisions about an image are paired, and a change is known more precisely than the two scores.
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
    """Compute the changes from each number of noise samples to the next, then from first to last.

    Parameters
    ----------
    by_samples : sequence of ClassDecisions
        Decisions between the target classes, by rising number of samples.
    hits : sequence of Hits
        Images with the true class, by rising number of samples.
    scoring : Scoring
        Settings of the intervals.

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
    """Yield each entry with the next entry, then the first with the last of three or more."""
    yield from pairwise(entries)
    if len(entries) > 2:
        yield entries[0], entries[-1]


def _association(
    fewer: ClassDecisions, more: ClassDecisions, scoring: Scoring
) -> Iterator[AssociationOverSamples]:
    """Yield the change of the association of each group, pooled groups last."""
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
    """Yield the change of the difference of each pair of groups, pooled groups last."""
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
    """Yield the change of the accuracy of each group with a true class."""
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
