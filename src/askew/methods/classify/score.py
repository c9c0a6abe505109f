"""What a classifier takes pictures of social groups for ("downstream", Saravanan et al., sections 3, 4.2.2 and 7.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from askew.findings import Head, with_q
from askew.methods.classify import findings
from askew.methods.classify.findings import Classification, ClassificationFindings, family
from askew.methods.classify.gather import ClassesGathered, ClassRows
from askew.methods.classify.plan import GENDER, ClassificationPlan
from askew.methods.classify.planted import BIAS, Decisions, Planted, found_again
from askew.parts.scoring import Scoring, or_missing
from askew.parts.showing import Showing
from askew.parts.sources import Neutrality, Outcomes
from askew.prompts.given import stated_value
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate
from askew.types import Estimate, Missing, Picture

SKEWED = 0.75
"""A pair is listed if more than this share of a group's pictures is given to one of its classes (tables 6 and 7)."""

NO_TRUTH = Missing("not_asked", "which class is right is not known")


@dataclass(frozen=True, slots=True)
class Readings:
    """Errors with one number of noise samples: by group (pictures, classes, samples). Smaller errors fit better."""

    samples: int
    classes: tuple[str, ...]
    errors: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Question:
    """Which classes are held against which, and what is right.

    targets  the two target sets
    truth    the true class by group
    bias     the planted bias of a studio model
    """

    targets: Mapping[str, Sequence[str]]
    truth: Mapping[str, str] = field(default_factory=dict)
    bias: float | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every class of the first set with every one of the second."""
        first, second = self.targets.values()
        return list(product(first, second))


@dataclass(frozen=True, slots=True)
class Decided:
    """Readings with their decisions (pictures, pairs) by group, and for each gender of several groups."""

    readings: Readings
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: Readings, pairs: Sequence[tuple[str, str]]) -> Decided:
        """The decisions between these classes."""
        at = {word: place for place, word in enumerate(readings.classes)}
        places = [(at[a], at[b]) for a, b in pairs]
        own = {group: stats.pair_decisions(errors, places) for group, errors in readings.errors.items()}
        genders: dict[str, list[str]] = {}
        for group in readings.errors:
            if gender := stated_value(group, GENDER):
                genders.setdefault(f"all {gender}", []).append(group)
        pooled = genders if len(genders) == 2 and all(len(some) > 1 for some in genders.values()) else {}
        together = {name: np.concatenate([own[group] for group in groups]) for name, groups in pooled.items()}
        return cls(readings, own | together, pooled)

    @property
    def group_pairs(self) -> list[tuple[str, str]]:
        """Every two groups, and the pooled ones."""
        return [*combinations(self.readings.errors, 2), *combinations(self.pooled, 2)]


def score(plan: ClassificationPlan, found: ClassesGathered, head: Head) -> ClassificationFindings:
    """The findings of a run."""
    targets, labels = ([readings(one, found.sources) for one in some] for some in (found.targets, found.labels))
    question = Question(plan.targets, plan.true_classes, BIAS.get(found.model.name))
    scoring = Scoring("denoising", plan.seed, plan.draws, plan.level)
    return head.into(
        ClassificationFindings,
        classification=classification(targets, labels, question, scoring, found.neutrality, found.showing),
    )


def readings(read: ClassRows, sources: Outcomes) -> Readings:
    """The errors of each group's pictures."""
    sizes = [sum(isinstance(one, Picture) for one in outcomes) for outcomes in sources.values()]
    errors = np.split(read.rows.reshape(len(read.rows), len(read.classes), -1), np.cumsum(sizes)[:-1])
    return Readings(read.samples, read.classes, dict(zip(sources, errors, strict=True)))


def classification(
    targets: Sequence[Readings],
    labels: Sequence[Readings],
    question: Question,
    scoring: Scoring,
    neutral: Sequence[Neutrality] = (),
    showing: Sequence[Showing] = (),
) -> Classification:
    """The section `classification`, with q-values.

    `targets` are readings with the target classes, `labels` with those of which one is right, both by rising samples.
    """
    decided = [Decided.of(one, question.pairs) for one in targets]
    found = Classification(
        accuracy=tuple(entry for one in labels for entry in _accuracies(one, question, scoring)),
        association=tuple(entry for one in decided for entry in _associations(one, scoring)),
        differential=tuple(entry for one in decided for entry in _differentials(one, scoring)),
        pairs=tuple(_pair_shares(decided[-1], question, scoring)),
        truth=tuple(entry for one in decided for entry in _truths(one, question, scoring)),
        comparison=_comparison(decided[-1], question),
        showing=tuple(showing),
        neutrality=tuple(neutral),
        errors=tuple(entry for one in (*targets, *labels) for entry in _mean_errors(one)),
    )
    return with_q(found, family)


def _associations(one: Decided, scoring: Scoring) -> Iterator[findings.Association]:
    for group, decisions in one.decisions.items():
        rng = scoring.rng("association", "denoising", str(one.readings.samples), group)
        found = or_missing(stats.association, decisions, rng=rng, **scoring.how)
        yield findings.Association(group, one.readings.samples, pooled=group in one.pooled, S=found)


def _differentials(one: Decided, scoring: Scoring) -> Iterator[findings.Differential]:
    for x, y in one.group_pairs:
        rng = scoring.rng("differential", "denoising", str(one.readings.samples), x, y)
        found = or_missing(stats.differential, one.decisions[x], one.decisions[y], rng=rng, **scoring.how)
        yield findings.Differential(x, y, one.readings.samples, pooled=x in one.pooled, S=found)


def _pair_shares(one: Decided, question: Question, scoring: Scoring) -> Iterator[findings.PairShare]:
    for group in one.readings.errors:
        for (a, b), column in zip(question.pairs, one.decisions[group].T, strict=True):
            share = or_missing(stats.pair_share, column, level=scoring.level)
            skewed = isinstance(share, Estimate) and max(share.value, 1 - share.value) > SKEWED
            yield findings.PairShare(group, one.readings.samples, a, b, share, skewed)


def _accuracies(read: Readings, question: Question, scoring: Scoring) -> Iterator[findings.Accuracy]:
    for group, errors in read.errors.items():
        true = question.truth.get(group)
        right = None if true is None else stats.hits(errors, read.classes.index(true))
        estimate = NO_TRUTH if right is None else or_missing(clustered_rate, right, level=scoring.level)
        yield findings.Accuracy(group, true, read.samples, estimate)


def _truths(one: Decided, question: Question, scoring: Scoring) -> Iterator[findings.Truth]:
    """Measured against planted differential association over the pairs of classes, where the truth is known."""
    for x, y in combinations(one.readings.errors if question.bias is not None else (), 2):
        planted = Planted.of(question.targets, x, y, question.bias or 0.0)
        if planted is None:
            continue
        rng = scoring.rng("truth", "denoising", str(one.readings.samples), x, y)
        order, shown, pairs = found_again(planted, (one.decisions[x], one.decisions[y]), rng, scoring)
        yield findings.Truth(x, y, one.readings.samples, float(planted.table.mean()), order, shown, pairs)


def _comparison(one: Decided, question: Question) -> findings.Comparison | None:
    """The pair of classes between which the groups differ most, and by group which pictures went to its first class."""
    own = {group: one.decisions[group] for group in one.readings.errors}
    shares = np.ma.stack([np.ma.masked_invalid(decisions).mean(axis=0) for decisions in own.values()])
    spread = np.ptp(shares.filled(np.nan), axis=0)
    if np.isnan(spread).all():
        return None
    place = int(np.nanargmax(spread))
    chosen = {group: tuple(None if np.isnan(d) else bool(d) for d in decisions[:, place])
              for group, decisions in own.items()}  # fmt: skip
    return findings.Comparison(*question.pairs[place], one.readings.samples, chosen)


def _mean_errors(read: Readings) -> Iterator[findings.MeanErrors]:
    """By group the mean error of every picture (rows) and class (columns)."""
    for group, errors in read.errors.items():
        means = errors.mean(axis=2, dtype=float).round(9)
        yield findings.MeanErrors(group, read.samples, read.classes, tuple(map(tuple, means.tolist())))
