"""Scores of a classification ("downstream", Saravanan et al., sections 3, 4.2.2 and 7.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.findings import Head, with_q
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
from askew.methods.classify.plan import GENDER, ClassificationPlan
from askew.parts.scoring import Scoring, or_missing
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.prompts.given import stated_value
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate
from askew.types import Estimate, Missing

Decisions = NDArray[np.float64]
"""Shape (images, pairs): 1 for the first class of a pair, 0 for the second, NaN if missing."""

SKEWED = 0.75
"""A pair is skewed if one class gets more than this share of a group's images (tables 6 and 7)."""

NO_TRUTH = Missing("not_asked", "the true class is unknown")


@dataclass(frozen=True, slots=True)
class ClassDecisions:
    """Decisions between classes.

    Attributes
    ----------
    readings : ErrorsOfClasses
        The errors that decide.
    decisions : mapping of str to Decisions
        Decisions by group; then those of all groups of a gender, pooled.
    pooled : mapping of str to sequence of str
        Names of the pooled groups, with their members.
    """

    readings: ErrorsOfClasses
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: ErrorsOfClasses, pairs: Sequence[tuple[str, str]]) -> Self:
        """Return the decisions between the classes of each pair."""
        place = {word: number for number, word in enumerate(readings.classes)}
        places = [(place[a], place[b]) for a, b in pairs]
        decisions = {
            group: stats.pair_decisions(errors, places) for group, errors in readings.errors.items()
        }
        pooled = _groups_by_gender(decisions)
        together = {}
        for name, groups in pooled.items():
            together[name] = np.concatenate([decisions[group] for group in groups])
        return cls(readings=readings, decisions=decisions | together, pooled=pooled)

    @property
    def of_groups(self) -> dict[str, Decisions]:
        """The decisions by group, without pooled groups."""
        return {group: self.decisions[group] for group in self.readings.errors}


def _groups_by_gender(groups: Iterable[str]) -> dict[str, list[str]]:
    """Return two groups pooled by gender, or nothing unless both have several members."""
    by_gender: dict[str, list[str]] = {}
    for group in groups:
        gender = stated_value(group, GENDER)
        if gender:
            by_gender.setdefault(f"all {gender}", []).append(group)
    several = all(len(members) > 1 for members in by_gender.values())
    return by_gender if len(by_gender) == 2 and several else {}


def score(
    plan: ClassificationPlan, gathered: ClassesGathered, head: Head
) -> ClassificationFindings:
    """Compute the findings of a run.

    Parameters
    ----------
    plan : ClassificationPlan
        Plan of the run.
    gathered : ClassesGathered
        Errors of the classes.
    head : Head
        Beginning of the findings.

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
    """Compute the section `classification` of the findings, with q-values.

    Parameters
    ----------
    plan : ClassificationPlan
        Plan of the run.
    targets, labels : sequence of ErrorsOfClasses
        Errors of the target classes, and of the classes of the accuracy, by rising number of noise
        samples.
    scoring : Scoring
        Settings of the intervals.
    showing, neutrality
        Checks of the input images.
    """
    by_samples = [ClassDecisions.of(errors, plan.pairs) for errors in targets]
    most = by_samples[-1]
    accuracy: list[Accuracy] = []
    association: list[Association] = []
    differential: list[Differential] = []
    mean_errors: list[MeanErrors] = []
    for errors in labels:
        accuracy += _accuracy(errors, plan.true_classes, scoring)
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
    )
    return with_q(section, family)


def _association(decided: ClassDecisions, scoring: Scoring) -> Iterator[Association]:
    """Yield the association of each group (Eq. 2), pooled groups last."""
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
    """Yield the difference of each pair of groups (Eq. 3), pooled groups last."""
    samples = decided.readings.samples
    pairs = (*combinations(decided.readings.errors, 2), *combinations(decided.pooled, 2))
    for x, y in pairs:
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
    """Yield the share of the first class, by group and pair of classes."""
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


def _accuracy(
    errors: ErrorsOfClasses, true_classes: Mapping[str, str], scoring: Scoring
) -> Iterator[Accuracy]:
    """Yield the share of each group's images that get the true class."""
    for group, of_group in errors.errors.items():
        true_class = true_classes.get(group)
        estimate: Estimate | Missing = NO_TRUTH
        if true_class is not None:
            hits = stats.hits(of_group, errors.classes.index(true_class))
            estimate = or_missing(clustered_rate, hits, level=scoring.level)
        yield Accuracy(group=group, right=true_class, samples=errors.samples, estimate=estimate)


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
    """Return the pair of classes on which the groups differ most, with all its decisions."""
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
