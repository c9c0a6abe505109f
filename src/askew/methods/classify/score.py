"""What a classifier takes pictures of social groups for ("downstream", Saravanan et al., sections
3, 4.2.2 and 7.2).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from askew.findings import Head, with_q
from askew.methods.classify import findings as f
from askew.methods.classify.findings import ClassificationFindings
from askew.methods.classify.gather import ClassesGathered, ErrorsOfClasses
from askew.methods.classify.plan import GENDER, ClassificationPlan
from askew.parts.scoring import Scoring, or_missing
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.prompts.given import stated_value
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate
from askew.types import Estimate, Missing

Decisions = NDArray[np.float64]
SKEWED = 0.75
"""A pair is listed if more than this share of a group's pictures is given to one of its classes
(tables 6 and 7).
"""

NO_TRUTH = Missing("not_asked", "which class is right is not known")


@dataclass(frozen=True, slots=True)
class ClassDecisions:
    """Errors with their decisions (pictures, pairs) by group, and for each gender of several
    groups.
    """

    readings: ErrorsOfClasses
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: ErrorsOfClasses, pairs: Sequence[tuple[str, str]]) -> Self:
        """The decisions between these classes."""
        at = {word: place for place, word in enumerate(readings.classes)}
        places = [(at[a], at[b]) for a, b in pairs]
        own = {
            group: stats.pair_decisions(errors, places) for group, errors in readings.errors.items()
        }
        genders: dict[str, list[str]] = {}
        for group in own:
            gender = stated_value(group, GENDER)
            if gender:
                genders.setdefault(f"all {gender}", []).append(group)
        pooled = (
            genders if len(genders) == 2 and all(len(some) > 1 for some in genders.values()) else {}
        )
        together = {
            name: np.concatenate([own[group] for group in groups])
            for name, groups in pooled.items()
        }
        return cls(readings, own | together, pooled)


def score(plan: ClassificationPlan, found: ClassesGathered, head: Head) -> ClassificationFindings:
    """The findings of a run."""
    scoring = Scoring("denoising", plan.seed, plan.bootstrap_samples, plan.confidence)
    section = classification(
        plan, found.targets, found.labels, scoring, found.showing, found.neutrality
    )
    return head.into(ClassificationFindings, classification=section)


def classification(
    plan: ClassificationPlan,
    targets: Sequence[ErrorsOfClasses],
    labels: Sequence[ErrorsOfClasses],
    scoring: Scoring,
    showing: tuple[GroupCheck, ...] = (),
    neutrality: tuple[Neutrality, ...] = (),
) -> f.Classification:
    """What the errors say of the section `classification`, with q-values.

    `targets` are readings with the target classes, `labels` with those of which one is right, both
    by rising samples.
    """
    decided = [ClassDecisions.of(one, plan.pairs) for one in targets]
    section = f.Classification(
        accuracy=tuple(
            entry for read in labels for entry in _accuracy(read, plan.true_classes, scoring)
        ),
        association=tuple(entry for one in decided for entry in _association(one, scoring)),
        differential=tuple(entry for one in decided for entry in _differential(one, scoring)),
        pairs=tuple(_pairs(decided[-1], plan.pairs, scoring)),
        comparison=_comparison(decided[-1], plan.pairs),
        showing=showing,
        neutrality=neutrality,
        errors=tuple(entry for read in (*targets, *labels) for entry in _mean_errors(read)),
    )
    return with_q(section, f.family)


def _association(one: ClassDecisions, scoring: Scoring) -> Iterator[f.Association]:
    """By group, pooled ones last (Eq. 2)."""
    samples = one.readings.samples
    for group, decisions in one.decisions.items():
        rng = scoring.rng("association", "denoising", str(samples), group)
        found = or_missing(stats.association, decisions, rng=rng, **scoring.interval_options)
        yield f.Association(group, samples, group in one.pooled, found)


def _differential(one: ClassDecisions, scoring: Scoring) -> Iterator[f.Differential]:
    """By pair of groups, pooled ones last (Eq. 3)."""
    samples = one.readings.samples
    for x, y in (*combinations(one.readings.errors, 2), *combinations(one.pooled, 2)):
        rng = scoring.rng("differential", "denoising", str(samples), x, y)
        found = or_missing(
            stats.differential,
            one.decisions[x],
            one.decisions[y],
            rng=rng,
            **scoring.interval_options,
        )
        yield f.Differential(x, y, samples, x in one.pooled, found)


def _pairs(
    one: ClassDecisions, pairs: Sequence[tuple[str, str]], scoring: Scoring
) -> Iterator[f.PairShare]:
    """By group and pair of classes."""
    for group in one.readings.errors:
        for (a, b), column in zip(pairs, one.decisions[group].T, strict=True):
            found = or_missing(stats.pair_share, column, level=scoring.level)
            skewed = isinstance(found, Estimate) and max(found.value, 1 - found.value) > SKEWED
            yield f.PairShare(group, one.readings.samples, a, b, found, skewed)


def _accuracy(
    read: ErrorsOfClasses, true: Mapping[str, str], scoring: Scoring
) -> Iterator[f.Accuracy]:
    """By group, by its right class in `true`."""
    for group, errors in read.errors.items():
        right = true.get(group)
        hits = None if right is None else stats.hits(errors, read.classes.index(right))
        found = NO_TRUTH if hits is None else or_missing(clustered_rate, hits, level=scoring.level)
        yield f.Accuracy(group, right, read.samples, found)


def _mean_errors(read: ErrorsOfClasses) -> Iterator[f.MeanErrors]:
    for group, errors in read.errors.items():
        means = map(tuple, errors.mean(axis=2, dtype=float).round(9).tolist())
        yield f.MeanErrors(group, read.samples, read.classes, tuple(means))


def _comparison(one: ClassDecisions, pairs: Sequence[tuple[str, str]]) -> f.DistinctPair | None:
    """The pair of classes between which the groups differ most, and by group which pictures went to
    its first class.
    """
    own = {group: one.decisions[group] for group in one.readings.errors}
    shares = np.ma.stack(
        [np.ma.masked_invalid(decisions).mean(axis=0) for decisions in own.values()]
    )
    spread = np.ptp(shares.filled(np.nan), axis=0)
    if np.isnan(spread).all():
        return None
    at = int(np.nanargmax(spread))
    chosen = {
        group: tuple(None if np.isnan(d) else bool(d) for d in some[:, at])
        for group, some in own.items()
    }
    return f.DistinctPair(*pairs[at], one.readings.samples, chosen)
