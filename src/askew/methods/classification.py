"""What a classifier takes pictures of social groups for ("downstream", Saravanan et al., sections 3, 4.2.2 and 7.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.planted_association import planted_preference
from askew.methods.scoring import Scoring
from askew.methods.significance import add_q
from askew.prompts.groups import stated_value
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate, clustered_rate_difference
from askew.stats.rank import spearman
from askew.types import Estimate, Missing

SKEWED = 0.75
"""A pair is listed if more than this share of a group's pictures is given to one of its classes (tables 6 and 7)."""

GENDER = "gender"

Decisions = NDArray[np.float64]
Entries = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Readings:
    """One classifier's errors with one number of noise samples: by group (pictures, classes, samples).

    `samples` is None for a classifier that takes none. Smaller errors fit better.
    """

    classifier: str
    samples: int | None
    classes: tuple[str, ...]
    errors: Mapping[str, NDArray[np.float32]]

    @property
    def names(self) -> dict[str, Any]:
        """What says in an entry whose numbers these are."""
        return {"classifier": self.classifier, "samples": self.samples}


@dataclass(frozen=True, slots=True)
class Question:
    """Which classes are held against which, and what is right: the two target sets, and the true class by group."""

    targets: Mapping[str, Sequence[str]]
    truth: Mapping[str, str] = field(default_factory=dict)
    bias: float | None = None
    """The planted bias of a studio model."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every class of the first set with every one of the second."""
        first, second = self.targets.values()
        return list(product(first, second))


def true_classes(groups: Sequence[str], classes: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The right class of each group: as given, else the one class whose gender is the group's. Others are left out."""
    genders = {word: stated_value(word, GENDER) for word in classes}
    found = {}
    for group in groups:
        own = stated_value(group, GENDER)
        fitting = [word for word, gender in genders.items() if gender is not None and gender == own]
        if group in given:
            found[group] = given[group]
        elif len(fitting) == 1:
            found[group] = fitting[0]
    return found


def classification(
    targets: Sequence[Readings], labels: Sequence[Readings], question: Question, scoring: Scoring
) -> dict[str, Any]:
    """The section `classification` of results.json.

    `targets` are readings with the target classes, `labels` with those of which one is right. The last readings of a
    classifier are those with most samples.
    """
    decided = [_Decided.of(readings, question.pairs) for readings in targets]
    associations = [entry for one in decided for entry in _associations(one, scoring)]
    differentials = [entry for one in decided for entry in _differentials(one, scoring)]
    pairs = [entry for one in _last(decided) for entry in _pair_shares(one, question, scoring)]
    effects = _effects(decided, labels, question, scoring)
    agreements = _agreements(_last(decided), scoring)
    for entries, key in ((associations, "S"), (differentials, "S"), (pairs, "share_a"), (effects, "difference"),
                         (agreements, "difference")):  # fmt: skip
        add_q(entries, key)
    return {
        "accuracy": [entry for one in labels for entry in _accuracies(one, question, scoring)],
        "association": associations,
        "differential": differentials,
        "pairs": pairs,
        "samples_effect": effects,
        "agreement": agreements,
        "truth": [entry for one in decided for entry in _truth(one, question, scoring)],
        "comparison": _comparison(_last(decided)[0], question),
    }


@dataclass(frozen=True, slots=True)
class _Decided:
    """Readings with their decisions (pictures, pairs) by group; groups of one gender also pooled."""

    readings: Readings
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: Readings, pairs: Sequence[tuple[str, str]]) -> _Decided:
        """The decisions between these classes."""
        at = {word: place for place, word in enumerate(readings.classes)}
        places = [(at[a], at[b]) for a, b in pairs]
        own = {group: stats.pair_decisions(errors, places) for group, errors in readings.errors.items()}
        pooled = _pooled(readings.errors)
        together = {name: np.concatenate([own[group] for group in groups]) for name, groups in pooled.items()}
        return cls(readings, own | together, pooled)

    @property
    def group_pairs(self) -> list[tuple[str, str]]:
        """Every two groups, and the pooled ones."""
        return [*combinations(self.readings.errors, 2), *combinations(self.pooled, 2)]


def _pooled(groups: Iterable[str]) -> dict[str, list[str]]:
    """Groups that say the same gender, under one name: only where there are several of each of two genders."""
    genders: dict[str, list[str]] = {}
    for group in groups:
        gender = stated_value(group, GENDER)
        if gender is not None:
            genders.setdefault(f"all {gender}", []).append(group)
    return genders if len(genders) == 2 and all(len(some) > 1 for some in genders.values()) else {}


def _associations(one: _Decided, scoring: Scoring) -> Entries:
    entries = []
    for group, decisions in one.decisions.items():
        rng = scoring.rng("association", one.readings.classifier, str(one.readings.samples), group)
        found = _or_missing(stats.association, decisions, rng=rng, **_how(scoring))
        entries.append({"group": group, **one.readings.names, "pooled": group in one.pooled, "S": found})
    return entries


def _differentials(one: _Decided, scoring: Scoring) -> Entries:
    entries = []
    for x, y in one.group_pairs:
        rng = scoring.rng("differential", one.readings.classifier, str(one.readings.samples), x, y)
        found = _or_missing(stats.differential, one.decisions[x], one.decisions[y], rng=rng, **_how(scoring))
        entries.append({"group_x": x, "group_y": y, **one.readings.names, "pooled": x in one.pooled, "S": found})
    return entries


def _pair_shares(one: _Decided, question: Question, scoring: Scoring) -> Entries:
    entries = []
    for group in one.readings.errors:
        for (a, b), column in zip(question.pairs, one.decisions[group].T, strict=True):
            share = _or_missing(stats.pair_share, column, level=scoring.level)
            skewed = isinstance(share, Estimate) and max(share.value, 1 - share.value) > SKEWED
            entries.append({"group": group, **one.readings.names, "a": a, "b": b, "share_a": share, "skewed": skewed})
    return entries


def _accuracies(readings: Readings, question: Question, scoring: Scoring) -> Entries:
    entries = []
    for group, errors in readings.errors.items():
        true = question.truth.get(group)
        estimate: Estimate | Missing = Missing("not_asked", "which class is right is not known")
        if true is not None:
            right = stats.hits(errors, readings.classes.index(true))
            estimate = _or_missing(clustered_rate, right, level=scoring.level)
        entries.append({"group": group, "class": true, **readings.names, "estimate": estimate})
    return entries


def _effects(decided: Sequence[_Decided], labels: Sequence[Readings], question: Question, scoring: Scoring) -> Entries:
    """What the most noise samples change against the fewest, on the same pictures."""
    sampled = [one for one in decided if one.readings.samples is not None]
    if len(sampled) < 2:
        return []
    few, many = sampled[0], sampled[-1]
    counts = [few.readings.samples, many.readings.samples]
    shared = {"classifier": few.readings.classifier, "samples": counts}
    entries: Entries = []
    for group in few.decisions:
        found = _effect(few.decisions[group], many.decisions[group], ("association", group), scoring)
        entries.append({"score": "association", "group_x": group, "group_y": None, **shared, "difference": found})
    for x, y in few.group_pairs:
        rng = scoring.rng("samples", "differential", x, y)
        before, after = ((one.decisions[x], one.decisions[y]) for one in (few, many))
        found = _or_missing(stats.samples_effect_on_differential, before, after, rng=rng, **_how(scoring))
        entries.append({"score": "differential", "group_x": x, "group_y": y, **shared, "difference": found})
    by_samples = {one.samples: one for one in labels if one.classifier == few.readings.classifier}
    for group, true in question.truth.items():
        right = [stats.hits(by_samples[n].errors[group], by_samples[n].classes.index(true)) for n in counts]
        found = _effect(right[0], right[1], ("accuracy", group), scoring)
        entries.append({"score": "accuracy", "group_x": group, "group_y": None, **shared, "difference": found})
    return entries


def _effect(few: Decisions, many: Decisions, names: tuple[str, str], scoring: Scoring) -> Estimate | Missing:
    rng = scoring.rng("samples", *names)
    return _or_missing(stats.samples_effect, few, many, rng=rng, **_how(scoring))


def _agreements(last: Sequence[_Decided], scoring: Scoring) -> Entries:
    """How often every two classifiers decide alike, and how their associations differ, on the same pictures."""
    entries: Entries = []
    for one, other in combinations(last, 2):
        for group in one.decisions:
            a, b = one.decisions[group], other.decisions[group]
            alike = np.where(np.isnan(a) | np.isnan(b), np.nan, (a == b).astype(float))
            rng = scoring.rng("agreement", one.readings.classifier, other.readings.classifier, group)
            found = _or_missing(clustered_rate, alike, level=scoring.level)
            less = _or_missing(clustered_rate_difference, b, a, rng=rng, **_how(scoring))
            names = [one.readings.classifier, other.readings.classifier]
            entries.append({"group": group, "classifiers": names, "agreement": found, "difference": less})
    return entries


def _truth(one: _Decided, question: Question, scoring: Scoring) -> Entries:
    """Measured against planted differential association over the pairs of occupations, where the truth is known."""
    if question.bias is None:
        return []
    entries: Entries = []
    for x, y in combinations(one.readings.errors, 2):
        rows = []
        for (a, b), first, second in zip(question.pairs, one.decisions[x].T, one.decisions[y].T, strict=True):
            planted = [planted_preference(group, a, b, question.bias) for group in (x, y)]
            if planted[0] is None or planted[1] is None or np.isnan(first).all() or np.isnan(second).all():
                continue
            measured = float(np.nanmean(first) - np.nanmean(second))
            rows.append({"a": a, "b": b, "planted": planted[0] - planted[1], "measured": measured})
        if rows:
            rng = scoring.rng("truth", one.readings.classifier, str(one.readings.samples), x, y)
            columns = [np.array([row[name] for row in rows], dtype=float) for name in ("planted", "measured")]
            found = _or_missing(spearman, *columns, rng=rng, **_how(scoring))
            mean = float(columns[0].mean())
            entries.append({"group_x": x, "group_y": y, **one.readings.names, "planted": mean, "spearman": found,
                            "pairs": rows})  # fmt: skip
    return entries


def _comparison(one: _Decided, question: Question) -> dict[str, Any] | None:
    """The pair of classes between which the groups differ most, and by group which pictures went to its first class."""
    groups = list(one.readings.errors)
    means = {
        group: [float(np.nanmean(c)) if not np.isnan(c).all() else np.nan for c in one.decisions[group].T]
        for group in groups
    }
    table = np.array([means[group] for group in groups])
    spread = np.where(np.isnan(table).any(axis=0), -1.0, np.ptp(table, axis=0))
    if (spread < 0).all():
        return None
    place = int(spread.argmax())
    a, b = question.pairs[place]
    chosen = {group: [_chosen(d) for d in one.decisions[group][:, place]] for group in groups}
    return {"a": a, "b": b, **one.readings.names, "to_a": chosen}


def _chosen(decision: float) -> bool | None:
    return None if np.isnan(decision) else bool(decision)


def _last(decided: Sequence[_Decided]) -> list[_Decided]:
    """Of every classifier the readings with most samples."""
    return list({one.readings.classifier: one for one in decided}.values())


def _how(scoring: Scoring) -> dict[str, Any]:
    return {"draws": scoring.draws, "level": scoring.level}


def _or_missing(compute: Callable[..., Estimate], *arguments: Any, **settings: Any) -> Estimate | Missing:
    """The estimate, or that there is nothing to compute it from."""
    try:
        return compute(*arguments, **settings)
    except NotEnoughData as error:
        return Missing("not_asked", str(error))
