"""Compute the scores of a classification ("downstream" paper, sections 3, 4.2.2 and 7.2)."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from askew.findings import Head, with_q
from askew.methods.classify.changes import sample_changes
from askew.methods.classify.decisions import ClassDecisions, Decisions, Hits
from askew.methods.classify.findings import (
    Accuracy,
    Association,
    Classification,
    ClassificationFindings,
    Differential,
    DistinctPair,
    MeanErrors,
    PairShare,
    family,
)
from askew.methods.classify.gather import ClassesGathered, ErrorsOfClasses
from askew.methods.classify.plan import ClassificationPlan
from askew.parts.scoring import Scoring, or_missing
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate
from askew.types import Estimate, Missing

SKEWED = 0.75
"""A pair is skewed if one class gets more than this share of a group's images (tables 6, 7)."""

NO_TRUTH = Missing("not_asked", "the true class is unknown")


def score(
    plan: ClassificationPlan, gathered: ClassesGathered, head: Head
) -> ClassificationFindings:
    """Compute the findings of a run of `askew classify`.

    Parameters
    ----------
    plan : ClassificationPlan
        Plan of the run.
    gathered : ClassesGathered
        Images, checks, and denoising errors of the classes.
    head : Head
        Fields that the findings of all methods share.

    Returns
    -------
    ClassificationFindings
        The content of results.json.
    """
    scoring = Scoring(
        instrument="denoising",
        seed=plan.seed,
        draws=plan.bootstrap_samples,
        level=plan.confidence,
    )
    section = classification(
        plan=plan,
        targets=gathered.targets,
        labels=gathered.labels,
        scoring=scoring,
        showing=gathered.showing,
        neutrality=gathered.neutrality,
    )
    return head.into(ClassificationFindings, classification=section)


def classification(
    plan: ClassificationPlan,
    targets: Sequence[ErrorsOfClasses],
    labels: Sequence[ErrorsOfClasses],
    scoring: Scoring,
    showing: tuple[GroupCheck, ...] = (),
    neutrality: tuple[Neutrality, ...] = (),
) -> Classification:
    """Compute the section `classification` of the findings, including q-values.

    Parameters
    ----------
    plan : ClassificationPlan
        Plan of the run.
    targets, labels : sequence of ErrorsOfClasses
        Errors of the target classes, and of the classes for which accuracy is measured, in order of
        increasing number of noise samples.
    scoring : Scoring
        Settings of the intervals.
    showing, neutrality
        Group checks of the input images, and shares of the images that already show a target class.
    """
    by_samples = [ClassDecisions.of(errors, plan.pairs) for errors in targets]
    most = by_samples[-1]
    accuracy: list[Accuracy] = []
    association: list[Association] = []
    differential: list[Differential] = []
    mean_errors: list[MeanErrors] = []
    hits = [Hits.of(errors, plan.true_classes) for errors in labels]
    for of_labels in hits:
        accuracy += _accuracy(of_labels, plan.true_classes, scoring)
    for decided in by_samples:
        association += _association(decided, scoring)
        differential += _differential(decided, scoring)
    for errors in (*targets, *labels):
        mean_errors += _mean_errors(errors)
    section = Classification(
        accuracy=tuple(accuracy),
        association=tuple(association),
        differential=tuple(differential),
        pairs=tuple(_pairs(most, plan.pairs, scoring)),
        comparison=_comparison(most, plan.pairs),
        showing=showing,
        neutrality=neutrality,
        errors=tuple(mean_errors),
        change=sample_changes(by_samples, hits, scoring),
    )
    return with_q(section, family)


def _association(decided: ClassDecisions, scoring: Scoring) -> Iterator[Association]:
    """Yield the association of each group (Eq. 2); pooled groups come last."""
    samples = decided.readings.samples
    for group, decisions in decided.decisions.items():
        rng = scoring.rng("association", "denoising", str(samples), group)
        yield Association(
            group=group,
            samples=samples,
            pooled=group in decided.pooled,
            S=or_missing(stats.association, decisions, rng=rng, **scoring.interval_options),
        )


def _differential(decided: ClassDecisions, scoring: Scoring) -> Iterator[Differential]:
    """Yield the difference between each pair of groups (Eq. 3); pooled groups come last."""
    samples = decided.readings.samples
    for x, y in decided.compared_groups:
        rng = scoring.rng("differential", "denoising", str(samples), x, y)
        difference = or_missing(
            stats.differential,
            decided.decisions[x],
            decided.decisions[y],
            rng=rng,
            **scoring.interval_options,
        )
        yield Differential(
            group_x=x, group_y=y, samples=samples, pooled=x in decided.pooled, S=difference
        )


def _pairs(
    decided: ClassDecisions, pairs: Sequence[tuple[str, str]], scoring: Scoring
) -> Iterator[PairShare]:
    """Yield the share of images assigned to a pair's first class, for each group and pair."""
    for group, decisions in decided.of_groups.items():
        for (a, b), column in zip(pairs, decisions.T, strict=True):
            share = or_missing(stats.pair_share, column, level=scoring.level)
            yield PairShare(
                group=group,
                samples=decided.readings.samples,
                a=a,
                b=b,
                share_a=share,
                skewed=isinstance(share, Estimate) and max(share.value, 1 - share.value) > SKEWED,
            )


def _accuracy(hits: Hits, true_classes: Mapping[str, str], scoring: Scoring) -> Iterator[Accuracy]:
    """Yield the share of each group's images that are assigned their true class."""
    for group, of_group in hits.of_groups.items():
        estimate: Estimate | Missing = NO_TRUTH
        if of_group is not None:
            estimate = or_missing(clustered_rate, of_group, level=scoring.level)
        yield Accuracy(
            group=group,
            right=true_classes.get(group),
            samples=hits.samples,
            estimate=estimate,
        )


def _mean_errors(errors: ErrorsOfClasses) -> Iterator[MeanErrors]:
    for group, of_group in errors.errors.items():
        means = of_group.mean(axis=2, dtype=float).round(9).tolist()
        yield MeanErrors(
            group=group,
            samples=errors.samples,
            classes=errors.classes,
            values=tuple(map(tuple, means)),
        )


def _comparison(decided: ClassDecisions, pairs: Sequence[tuple[str, str]]) -> DistinctPair | None:
    """Return the pair of classes on which the groups differ most, with all decisions about it."""
    all_decisions = map(np.ma.masked_invalid, decided.of_groups.values())
    shares = np.ma.stack([decisions.mean(axis=0) for decisions in all_decisions])
    spread = np.ptp(shares.filled(np.nan), axis=0)
    if np.isnan(spread).all():
        return None
    place = int(np.nanargmax(spread))
    a, b = pairs[place]
    chosen = {group: _chosen(decisions[:, place]) for group, decisions in decided.of_groups.items()}
    return DistinctPair(a=a, b=b, samples=decided.readings.samples, to_a=chosen)


def _chosen(decisions: Decisions) -> tuple[bool | None, ...]:
    return tuple(None if np.isnan(decision) else bool(decision) for decision in decisions)
