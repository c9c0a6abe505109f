"""Results of a choice study: agreement with the scores, and strengths of image sets."""

import math
from collections import Counter

import numpy as np
import scipy

from askew.errors import NotEnoughData
from askew.parts.scoring import or_missing
from askew.people.agreement import coded_agreement
from askew.people.findings import ChoiceFindings, GroupAgreement, PairChoices, StudyAnalysis
from askew.people.new_choose import EQUAL, FIRST, MINED, SECOND
from askew.people.raters import StudyAnswers
from askew.people.records import FrameEntry
from askew.stats.bradley_terry import strength_estimates
from askew.stats.clustered import clustered_rate
from askew.stats.crossed import crossed_rate
from askew.stats.intervals import tail
from askew.types import Estimate, Missing

LEAST_PAIRS = 4
"""Number of pairs from which a correlation has an interval."""


def choose_analysis(study: StudyAnswers) -> StudyAnalysis:
    """Return the results of a choose study by some raters."""
    facts = {entry.id: entry for entry in study.folder.frame}
    pairs = []
    agreed = np.full((max(len(study.raters), 1), max(len(study.items), 1)), np.nan)
    for column, item in enumerate(study.items):
        entry = facts[item.id]
        votes = _votes(study, item.id)
        pairs.append(_pair(item.id, entry, votes))
        less_biased = FIRST if entry.facts[FIRST] < entry.facts[SECOND] else SECOND
        for row, rater in enumerate(study.raters):
            answer = study.answers.get((rater, item.id))
            choice = answer.answer[0] if answer and answer.answer else ""
            if choice in (FIRST, SECOND):
                agreed[row, column] = float(choice == less_biased)
    level = study.folder.plan.confidence
    mined = _mined(study, facts)
    against_random = sum(pair.chose_first > pair.chose_second for pair in pairs)
    choices = ChoiceFindings(
        agreement_with_score=or_missing(clustered_rate, agreed, level=level),
        correlation=_correlation(pairs, level),
        pairs=tuple(pairs),
        strengths=_strengths(study, facts),
        mined=mined,
        random_majorities=against_random if mined else None,
    )
    return StudyAnalysis(raters=len(study.raters), agreement=(_agreement(study),), choices=choices)


def _agreement(study: StudyAnswers) -> GroupAgreement:
    """Return the agreement on which set shows less bias."""
    places = {FIRST: 0, SECOND: 1, EQUAL: 2}
    codes = np.full((len(study.raters), len(study.items)), -1, dtype=np.int64)
    for column, item in enumerate(study.items):
        for row, rater in enumerate(study.raters):
            answer = study.answers.get((rater, item.id))
            if answer is not None and answer.answer:
                codes[row, column] = places.get(answer.answer[0], -1)
    return coded_agreement(study, codes, len(places), name="choices")


def _mined(study: StudyAnswers, facts: dict[str, FrameEntry]) -> dict[str, Estimate | Missing]:
    """Return the share of choices for the random prompt of a pair, by run."""
    shares: dict[str, Estimate | Missing] = {}
    for number, source in enumerate(study.folder.plan.sources):
        items = [
            item
            for item in study.items
            if facts[item.id].source == number and facts[item.id].names.get(MINED)
        ]
        if not items:
            continue
        chosen = np.full((len(study.raters), len(items), 1), np.nan)
        for column, item in enumerate(items):
            for row, rater in enumerate(study.raters):
                answer = study.answers.get((rater, item.id))
                choice = answer.answer[0] if answer and answer.answer else ""
                if choice in (FIRST, SECOND):
                    chosen[row, column, 0] = float(choice != facts[item.id].names[MINED])
        shares[source.run] = or_missing(crossed_rate, chosen, level=study.folder.plan.confidence)
    return shares


def _votes(study: StudyAnswers, item: str) -> Counter[str]:
    return Counter(answer.answer[0] for answer in study.of_item(item) if answer.answer)


def _pair(item: str, entry: FrameEntry, votes: Counter[str]) -> PairChoices:
    return PairChoices(
        item=item,
        first=entry.names[FIRST],
        second=entry.names[SECOND],
        score_difference=entry.facts[SECOND] - entry.facts[FIRST],
        chose_first=votes[FIRST],
        chose_second=votes[SECOND],
        equal=votes[EQUAL],
    )


def _correlation(pairs: list[PairChoices], level: float) -> Estimate | Missing:
    """Return Pearson's r of score differences and preferences, with Fisher's interval."""
    points = [
        (pair.score_difference, pair.chose_first / (pair.chose_first + pair.chose_second))
        for pair in pairs
        if pair.chose_first + pair.chose_second
    ]
    if len(points) < LEAST_PAIRS:
        return Missing("not_asked", f"a correlation needs {LEAST_PAIRS} pairs with answers")
    differences, preferences = np.array(points).T
    if not np.ptp(differences) or not np.ptp(preferences):
        return Missing("not_asked", "all pairs are alike, so a correlation is not defined")
    r = float(np.corrcoef(differences, preferences)[0, 1])
    reach = float(scipy.stats.norm.isf(tail(level))) / math.sqrt(len(points) - 3)
    bounded = min(max(r, -1 + 1e-12), 1 - 1e-12)
    return Estimate(
        value=r,
        low=math.tanh(math.atanh(bounded) - reach),
        high=math.tanh(math.atanh(bounded) + reach),
        level=level,
        interval="Fisher z over pairs",
        n=len(points),
        max=1.0,
    )


def _strengths(study: StudyAnswers, facts: dict[str, FrameEntry]) -> dict[str, Estimate | Missing]:
    """Return the strength of each set: the log odds that raters see less bias in it."""
    sides = [entry.names[side] for entry in facts.values() for side in (FIRST, SECOND)]
    names = list(dict.fromkeys(sides))
    places = {name: place for place, name in enumerate(names)}
    wins = np.zeros((max(len(study.raters), 1), len(names), len(names)))
    for row, rater in enumerate(study.raters):
        for item in study.items:
            answer = study.answers.get((rater, item.id))
            if answer is None or not answer.answer:
                continue
            first = places[facts[item.id].names[FIRST]]
            second = places[facts[item.id].names[SECOND]]
            weight = {FIRST: (1.0, 0.0), SECOND: (0.0, 1.0), EQUAL: (0.5, 0.5)}
            for_first, for_second = weight.get(answer.answer[0], (0.0, 0.0))
            wins[row, first, second] += for_first
            wins[row, second, first] += for_second
    try:
        estimates = strength_estimates(
            wins, rng=study.rng("strengths"), level=study.folder.plan.confidence
        )
    except NotEnoughData as error:
        return dict.fromkeys(names, Missing("not_asked", str(error)))
    return dict(zip(names, estimates, strict=True))
