"""Results of a choice study: agreement between choices and scores, and strengths of image sets."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.parts.scoring import or_missing
from askew.people.agreement import coded_agreement
from askew.people.findings import ChoiceFindings, PairChoices, StudyAnalysis
from askew.people.new_choose import EQUAL, FIRST, MINED, SECOND
from askew.people.raters import StudyAnswers
from askew.people.records import FrameEntry
from askew.stats.bradley_terry import strength_estimates
from askew.stats.clustered import clustered_rate
from askew.stats.crossed import crossed_rate
from askew.stats.intervals import Floats
from askew.stats.rank import pearson_estimate
from askew.types import Estimate, Missing

LEAST_PAIRS = 4
"""Minimum number of pairs needed to compute a correlation."""

SIDES = (FIRST, SECOND, EQUAL)
"""Options of a pair. Other answers are not choices."""

PREFERENCES = np.array([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.0, 0.0)])
"""Preference weights for the first and the second set, with one row per option in SIDES.

The last row (index -1) applies to raters who made no choice.
"""


def choose_analysis(study: StudyAnswers) -> StudyAnalysis:
    """Compute the results of a choice study from the raters' answers."""
    facts = {entry.id: entry for entry in study.folder.frame}
    entries = [facts[item.id] for item in study.items]
    choices = study.codes([entry.id for entry in entries], SIDES)
    pairs = [_pair(entry, _votes(study, entry.id)) for entry in entries]
    less_biased = [
        SIDES.index(FIRST if entry.facts[FIRST] < entry.facts[SECOND] else SECOND)
        for entry in entries
    ]
    agreed = np.full((max(len(study.raters), 1), max(len(entries), 1)), np.nan)
    agreed[: len(study.raters), : len(entries)] = _is_side(choices, less_biased)
    level = study.folder.plan.confidence
    mined = _mined(study, entries, choices)
    against_random = sum(pair.chose_first > pair.chose_second for pair in pairs)
    findings = ChoiceFindings(
        agreement_with_score=or_missing(clustered_rate, agreed, level=level),
        correlation=_correlation(pairs, level),
        pairs=tuple(pairs),
        strengths=_strengths(study, entries, choices),
        mined=mined,
        random_majorities=against_random if mined else None,
    )
    agreement = coded_agreement(study, choices, len(SIDES), name="choices")
    return StudyAnalysis(raters=len(study.raters), agreement=(agreement,), choices=findings)


def _is_side(choices: NDArray[np.int64], sides: Sequence[int]) -> Floats:
    """Return an array: 1 for a choice of the given side, 0 for the other side, NaN for no choice.

    Parameters
    ----------
    choices : array, (raters, pairs)
        Index of the option that each rater chose for each pair.
    sides : sequence of int, (pairs,)
        For each pair, the index of the side whose choice counts as 1.
    """
    has_side = (choices == SIDES.index(FIRST)) | (choices == SIDES.index(SECOND))
    return np.where(has_side, choices == np.array(sides, dtype=np.int64), np.nan)


def _mined(
    study: StudyAnswers, entries: Sequence[FrameEntry], choices: NDArray[np.int64]
) -> dict[str, Estimate | Missing]:
    """Return, for each run, how often raters see less bias in the images of the random prompt."""
    shares: dict[str, Estimate | Missing] = {}
    for number, source in enumerate(study.folder.plan.sources):
        columns = [
            column
            for column, entry in enumerate(entries)
            if entry.source == number and entry.names.get(MINED)
        ]
        if not columns:
            continue
        mined_sides = [SIDES.index(entries[column].names[MINED]) for column in columns]
        for_random = 1 - _is_side(choices[:, columns], mined_sides)
        shares[source.run] = or_missing(
            crossed_rate, for_random[:, :, None], level=study.folder.plan.confidence
        )
    return shares


def _votes(study: StudyAnswers, item: str) -> Counter[str]:
    return Counter(answer.answer[0] for answer in study.of_item(item) if answer.answer)


def _pair(entry: FrameEntry, votes: Counter[str]) -> PairChoices:
    return PairChoices(
        item=entry.id,
        first=entry.names[FIRST],
        second=entry.names[SECOND],
        score_difference=entry.facts[SECOND] - entry.facts[FIRST],
        chose_first=votes[FIRST],
        chose_second=votes[SECOND],
        equal=votes[EQUAL],
    )


def _correlation(pairs: list[PairChoices], level: float) -> Estimate | Missing:
    """Return Pearson's correlation between score differences and raters' preferences."""
    points = [
        (pair.score_difference, pair.chose_first / (pair.chose_first + pair.chose_second))
        for pair in pairs
        if pair.chose_first + pair.chose_second
    ]
    if len(points) < LEAST_PAIRS:
        return Missing(
            "not_asked", f"a correlation requires at least {LEAST_PAIRS} pairs with answers"
        )
    differences, preferences = np.array(points).T
    if not np.ptp(differences) or not np.ptp(preferences):
        return Missing(
            "not_asked",
            "scores or choices are the same for all pairs, so their correlation is undefined",
        )
    return pearson_estimate(differences, preferences, level, interval="Fisher z over pairs")


def _strengths(
    study: StudyAnswers, entries: Sequence[FrameEntry], choices: NDArray[np.int64]
) -> dict[str, Estimate | Missing]:
    """Return the Bradley-Terry strength of each image set; a larger strength means less bias."""
    sides = [entry.names[side] for entry in study.folder.frame for side in (FIRST, SECOND)]
    names = list(dict.fromkeys(sides))
    places = {name: place for place, name in enumerate(names)}
    wins = np.zeros((max(len(study.raters), 1), len(names), len(names)))
    preferences = PREFERENCES[choices]
    for column, entry in enumerate(entries):
        first = places[entry.names[FIRST]]
        second = places[entry.names[SECOND]]
        wins[: len(study.raters), first, second] += preferences[:, column, 0]
        wins[: len(study.raters), second, first] += preferences[:, column, 1]
    try:
        estimates = strength_estimates(
            wins, rng=study.rng("strengths"), level=study.folder.plan.confidence
        )
    except NotEnoughData as error:
        return dict.fromkeys(names, Missing("not_asked", str(error)))
    return dict(zip(names, estimates, strict=True))
