"""What a classifier takes pictures of social groups for ("downstream", Saravanan et al., sections 3, 4.2.2 and 7.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from askew.findings import Head, with_q
from askew.methods.classify import findings
from askew.methods.classify.decisions import (
    BIAS,
    Decided,
    Question,
    Readings,
    planted_pairs,
    recovered_change,
    true_classes,
    truth,
)
from askew.methods.classify.findings import Classification, ClassificationFindings, Pruning, SamplesEffect, family
from askew.methods.classify.gather import ClassesGathered, ClassRows
from askew.methods.classify.plan import DENOISING, ClassificationPlan
from askew.parts.scoring import Scoring, or_missing
from askew.parts.showing import Showing
from askew.parts.sources import Neutrality, Outcomes
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate, clustered_rate_difference
from askew.types import Estimate, Missing, Picture

SKEWED = 0.75
"""A pair is listed if more than this share of a group's pictures is given to one of its classes (tables 6 and 7)."""

NO_TRUTH = Missing("not_asked", "which class is right is not known")


def score(plan: ClassificationPlan, found: ClassesGathered, head: Head) -> ClassificationFindings:
    """The findings of a run."""
    targets, labels = ([readings(one, found.sources) for one in some] for some in (found.targets, found.labels))
    truths = true_classes(found.sources, plan.classes, plan.truth)
    question = Question(plan.targets, truths, BIAS.get(found.model.name))
    scoring = Scoring(DENOISING, plan.seed, plan.draws, plan.level)
    pruned = pruning(plan.stages, targets[len(plan.samples) - 1])
    return head.into(
        ClassificationFindings,
        classification=classification(targets, labels, question, scoring, found.neutrality, pruned, found.showing),
    )


def readings(read: ClassRows, sources: Outcomes) -> Readings:
    """The errors of each group's pictures; of an embedder distances 1 - cosine in their place."""
    sizes = [sum(isinstance(one, Picture) for one in outcomes) for outcomes in sources.values()]
    errors = (
        (1 - read.rows @ read.texts.T)[:, :, None]
        if isinstance(read.texts, np.ndarray)
        else decoded(read.rows, len(read.classes), read.samples or 1)
    )
    by_group = dict(zip(sources, np.split(errors, np.cumsum(sizes)[:-1]), strict=True))
    return Readings(read.classifier, read.samples, read.classes, by_group)


def decoded(rows: NDArray[np.float32], classes: int, samples: int) -> NDArray[np.float32]:
    """(pictures, classes, samples) errors from rows of `ClassErrors`; NaN where a class had been given up.

    Rows of classes that could be given up hold behind the errors, for each, whether it was found.
    """
    size = classes * samples
    kept = rows[:, :size].copy()
    if rows.shape[1] > size:
        kept[rows[:, size:] == 0] = np.nan
    return kept.reshape(len(rows), classes, samples)


def classification(
    targets: Sequence[Readings],
    labels: Sequence[Readings],
    question: Question,
    scoring: Scoring,
    neutral: Sequence[Neutrality] = (),
    pruned: Pruning | None = None,
    showing: Sequence[Showing] = (),
) -> Classification:
    """The section `classification`, with q-values.

    `targets` are readings with the target classes, `labels` with those of which one is right. The last readings of a
    classifier are those with most samples.
    """
    decided = [Decided.of(one, question.pairs) for one in targets]
    last = list({one.readings.classifier: one for one in decided}.values())
    found = Classification(
        accuracy=tuple(entry for one in labels for entry in _accuracies(one, question, scoring)),
        association=tuple(entry for one in decided for entry in _associations(one, scoring)),
        differential=tuple(entry for one in decided for entry in _differentials(one, scoring)),
        pairs=tuple(entry for one in last for entry in _pair_shares(one, question, scoring)),
        samples_effect=tuple(_effects(decided, labels, question, scoring)),
        agreement=tuple(_agreements(last, scoring)),
        truth=tuple(entry for one in decided for entry in truth(one, question, scoring)),
        comparison=_comparison(last[0], question),
        showing=tuple(showing),
        neutrality=tuple(neutral),
        pruning=pruned,
        errors=tuple(entry for one in (*targets, *labels) for entry in _mean_errors(one)),
    )
    return with_q(found, family)


def pruning(stages: Sequence[tuple[int, int]], read: Readings) -> Pruning | None:
    """How many evaluations giving up classes has saved; None if none was given up."""
    done = sum(int((~np.isnan(errors)).sum()) for errors in read.errors.values())
    full = sum(errors.size for errors in read.errors.values())
    return None if done == full else Pruning(tuple(stages), done, full, saving=1 - done / full)


def _associations(one: Decided, scoring: Scoring) -> Iterator[findings.Association]:
    for group, decisions in one.decisions.items():
        rng = scoring.rng("association", one.readings.classifier, str(one.readings.samples), group)
        found = or_missing(stats.association, decisions, rng=rng, **scoring.how)
        yield findings.Association(group, *one.readings.names, pooled=group in one.pooled, S=found)


def _differentials(one: Decided, scoring: Scoring) -> Iterator[findings.Differential]:
    for x, y in one.group_pairs:
        rng = scoring.rng("differential", one.readings.classifier, str(one.readings.samples), x, y)
        found = or_missing(stats.differential, one.decisions[x], one.decisions[y], rng=rng, **scoring.how)
        yield findings.Differential(x, y, *one.readings.names, pooled=x in one.pooled, S=found)


def _pair_shares(one: Decided, question: Question, scoring: Scoring) -> Iterator[findings.PairShare]:
    for group in one.readings.errors:
        for (a, b), column in zip(question.pairs, one.decisions[group].T, strict=True):
            share = or_missing(stats.pair_share, column, level=scoring.level)
            skewed = isinstance(share, Estimate) and max(share.value, 1 - share.value) > SKEWED
            yield findings.PairShare(group, *one.readings.names, a, b, share, skewed)


def _accuracies(read: Readings, question: Question, scoring: Scoring) -> Iterator[findings.Accuracy]:
    for group, errors in read.errors.items():
        true = question.truth.get(group)
        right = None if true is None else stats.hits(errors, read.classes.index(true))
        estimate = NO_TRUTH if right is None else or_missing(clustered_rate, right, level=scoring.level)
        yield findings.Accuracy(group, true, *read.names, estimate)


def _effects(
    decided: Sequence[Decided], labels: Sequence[Readings], question: Question, scoring: Scoring
) -> Iterator[SamplesEffect]:
    """What the most noise samples change against the fewest, on the same pictures."""
    sampled = [one for one in decided if one.readings.samples is not None]
    if len(sampled) < 2:
        return
    few, many = sampled[0], sampled[-1]
    shared = few.readings.classifier, (few.readings.samples or 0, many.readings.samples or 0)

    def change(compute: Callable[..., Estimate], score: str, *groups: str, of: Iterable[object]) -> Estimate | Missing:
        return or_missing(compute, *of, rng=scoring.rng("samples", score, *groups), **scoring.how)

    for group in few.decisions:
        sides: Iterable[object] = (one.decisions[group] for one in (many, few))
        found = change(clustered_rate_difference, "association", group, of=sides)
        yield SamplesEffect("association", group, None, *shared, found)
    for x, y in few.group_pairs:
        sides = ((one.decisions[x], one.decisions[y]) for one in (few, many))
        found = change(stats.samples_effect_on_differential, "differential", x, y, of=sides)
        yield SamplesEffect("differential", x, y, *shared, found)
    by_samples = {one.samples: one for one in labels if one.classifier == few.readings.classifier}
    for group, true in question.truth.items():
        read = (by_samples[one.readings.samples] for one in (many, few))
        sides = (stats.hits(one.errors[group], one.classes.index(true)) for one in read)
        found = change(clustered_rate_difference, "accuracy", group, of=sides)
        yield SamplesEffect("accuracy", group, None, *shared, found)
    for x, y, planted in planted_pairs(few, question):
        yield SamplesEffect("recovered", x, y, *shared, recovered_change(planted, few, many, (x, y), scoring))


def _agreements(last: Sequence[Decided], scoring: Scoring) -> Iterator[findings.Agreement]:
    """How often every two classifiers decide alike, and how their associations differ, on the same pictures."""
    for one, other in combinations(last, 2):
        names = (one.readings.classifier, other.readings.classifier)
        for group in one.decisions:
            a, b = one.decisions[group], other.decisions[group]
            alike = np.where(np.isnan(a) | np.isnan(b), np.nan, (a == b).astype(float))
            found = or_missing(clustered_rate, alike, level=scoring.level)
            rng = scoring.rng("agreement", *names, group)
            yield findings.Agreement(
                group, names, found, or_missing(clustered_rate_difference, b, a, rng=rng, **scoring.how)
            )


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
    return findings.Comparison(*question.pairs[place], *one.readings.names, chosen)


def _mean_errors(read: Readings) -> Iterator[findings.MeanErrors]:
    """By group the mean error of every picture (rows) and class (columns)."""
    for group, errors in read.errors.items():
        means = np.nanmean(errors, axis=2, dtype=float).round(9)
        yield findings.MeanErrors(group, *read.names, read.classes, tuple(map(tuple, means.tolist())))
