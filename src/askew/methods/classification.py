"""What a classifier takes pictures of social groups for ("downstream", Saravanan et al., sections 3, 4.2.2 and 7.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from askew.methods.classification_truth import samples_effect_on_truth, truth
from askew.methods.decisions import (
    GENDER,
    Decided,
    Decisions,
    Entries,
    Question,
    Readings,
    fewest_and_most,
    how,
    or_missing,
)
from askew.methods.significance import add_q
from askew.parts.scoring import Scoring
from askew.prompts.groups import stated_value
from askew.stats import classification as stats
from askew.stats.clustered import clustered_rate, clustered_rate_difference
from askew.types import Estimate, Missing

SKEWED = 0.75
"""A pair is listed if more than this share of a group's pictures is given to one of its classes (tables 6 and 7)."""


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
    decided = [Decided.of(readings, question.pairs) for readings in targets]
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
        "truth": [entry for one in decided for entry in truth(one, question, scoring)],
        "comparison": _comparison(_last(decided)[0], question),
    }


def _associations(one: Decided, scoring: Scoring) -> Entries:
    entries = []
    for group, decisions in one.decisions.items():
        rng = scoring.rng("association", one.readings.classifier, str(one.readings.samples), group)
        found = or_missing(stats.association, decisions, rng=rng, **how(scoring))
        entries.append({"group": group, **one.readings.names, "pooled": group in one.pooled, "S": found})
    return entries


def _differentials(one: Decided, scoring: Scoring) -> Entries:
    entries = []
    for x, y in one.group_pairs:
        rng = scoring.rng("differential", one.readings.classifier, str(one.readings.samples), x, y)
        found = or_missing(stats.differential, one.decisions[x], one.decisions[y], rng=rng, **how(scoring))
        entries.append({"group_x": x, "group_y": y, **one.readings.names, "pooled": x in one.pooled, "S": found})
    return entries


def _pair_shares(one: Decided, question: Question, scoring: Scoring) -> Entries:
    entries = []
    for group in one.readings.errors:
        for (a, b), column in zip(question.pairs, one.decisions[group].T, strict=True):
            share = or_missing(stats.pair_share, column, level=scoring.level)
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
            estimate = or_missing(clustered_rate, right, level=scoring.level)
        entries.append({"group": group, "class": true, **readings.names, "estimate": estimate})
    return entries


def _effects(decided: Sequence[Decided], labels: Sequence[Readings], question: Question, scoring: Scoring) -> Entries:
    """What the most noise samples change against the fewest, on the same pictures."""
    ends = fewest_and_most(decided)
    if ends is None:
        return []
    few, many = ends
    counts = [few.readings.samples, many.readings.samples]
    shared = {"classifier": few.readings.classifier, "samples": counts}
    entries: Entries = []
    for group in few.decisions:
        found = _effect(few.decisions[group], many.decisions[group], ("association", group), scoring)
        entries.append({"score": "association", "group_x": group, "group_y": None, **shared, "difference": found})
    for x, y in few.group_pairs:
        rng = scoring.rng("samples", "differential", x, y)
        before, after = ((one.decisions[x], one.decisions[y]) for one in (few, many))
        found = or_missing(stats.samples_effect_on_differential, before, after, rng=rng, **how(scoring))
        entries.append({"score": "differential", "group_x": x, "group_y": y, **shared, "difference": found})
    by_samples = {one.samples: one for one in labels if one.classifier == few.readings.classifier}
    for group, true in question.truth.items():
        right = [stats.hits(by_samples[n].errors[group], by_samples[n].classes.index(true)) for n in counts]
        found = _effect(right[0], right[1], ("accuracy", group), scoring)
        entries.append({"score": "accuracy", "group_x": group, "group_y": None, **shared, "difference": found})
    return [*entries, *samples_effect_on_truth(decided, question, scoring)]


def _effect(few: Decisions, many: Decisions, names: tuple[str, str], scoring: Scoring) -> Estimate | Missing:
    rng = scoring.rng("samples", *names)
    return or_missing(stats.samples_effect, few, many, rng=rng, **how(scoring))


def _agreements(last: Sequence[Decided], scoring: Scoring) -> Entries:
    """How often every two classifiers decide alike, and how their associations differ, on the same pictures."""
    entries: Entries = []
    for one, other in combinations(last, 2):
        for group in one.decisions:
            a, b = one.decisions[group], other.decisions[group]
            alike = np.where(np.isnan(a) | np.isnan(b), np.nan, (a == b).astype(float))
            rng = scoring.rng("agreement", one.readings.classifier, other.readings.classifier, group)
            found = or_missing(clustered_rate, alike, level=scoring.level)
            less = or_missing(clustered_rate_difference, b, a, rng=rng, **how(scoring))
            names = [one.readings.classifier, other.readings.classifier]
            entries.append({"group": group, "classifiers": names, "agreement": found, "difference": less})
    return entries


def _comparison(one: Decided, question: Question) -> dict[str, Any] | None:
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


def _last(decided: Sequence[Decided]) -> list[Decided]:
    """Of every classifier the readings with most samples."""
    return list({one.readings.classifier: one for one in decided}.values())
