"""Results of a rating study: correlations between ratings and bias scores (TIBET, table 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean, median

import numpy as np

from askew.errors import NotEnoughData
from askew.parts.scoring import or_missing
from askew.people.agreement import coded_agreement
from askew.people.findings import RatedGrid, RatingFindings, ScoreAgreement, StudyAnalysis
from askew.people.new_rate import RATINGS, societal_grids
from askew.people.raters import StudyAnswers
from askew.people.records import FrameEntry, Item
from askew.stats.clustered import clustered_mean, clustered_rate
from askew.stats.intervals import Floats
from askew.stats.ratings import (
    Places,
    detectable_correlation,
    jackknife_correlation,
    kendall_of,
    mean_reliability,
    spearman_of,
)
from askew.types import Estimate, Missing, grouped

TOP_AXES = 3
"""Minimum number of axes in a prompt that is included in top-1 and top-2, as in the paper."""

GROUPS = ("all", "societal")


def rate_analysis(study: StudyAnswers) -> StudyAnalysis:
    """Compute the results of a rating study from the raters' answers."""
    facts = {entry.id: entry for entry in study.folder.frame}
    societal = {entry.id for entry in societal_grids(study.folder.frame)}
    grids = [
        _grid(study, item, facts[item.id], is_societal=item.id in societal) for item in study.items
    ]
    rated = [grid for grid in grids if grid.mean is not None]
    agreements = []
    for axis in study.folder.plan.axes:
        items = [item.id for item in study.items if item.axis == axis.name]
        codes = study.codes(items, axis.values)
        agreements.append(
            coded_agreement(study, codes, len(axis.values), name=axis.name, scale="ordinal")
        )
    scores = []
    for group in GROUPS:
        of_group = [grid for grid in rated if group == "all" or grid.is_societal]
        for name in dict.fromkeys(name for grid in of_group for name in grid.scores):
            scored = [grid for grid in of_group if name in grid.scores]
            scores.append(_score_agreement(study, group, name, scored))
    findings = RatingFindings(
        reliability=_reliability(study, rated), scores=tuple(scores), grids=tuple(grids)
    )
    return StudyAnalysis(raters=len(study.raters), agreement=tuple(agreements), ratings=findings)


def _grid(study: StudyAnswers, item: Item, entry: FrameEntry, *, is_societal: bool) -> RatedGrid:
    """Return a summary of the ratings that a grid received."""
    labels = study.labels(item.id)
    ratings = [int(label) for label in labels if isinstance(label, str)]
    return RatedGrid(
        item=item.id,
        run=entry.names["run"],
        prompt=entry.prompt,
        axis=entry.names["axis"],
        is_societal=is_societal,
        ratings=len(ratings),
        without_rating=len(labels) - len(ratings),
        mean=fmean(ratings) if ratings else None,
        median=float(median(ratings)) if ratings else None,
        scores=dict(entry.facts),
    )


def _matrix(study: StudyAnswers, grids: Sequence[RatedGrid]) -> Floats:
    """Return all ratings as an array of shape (raters, grids); NaN where a rating is missing."""
    codes = study.codes([grid.item for grid in grids], RATINGS)
    ratings = np.array([*map(float, RATINGS), np.nan])
    return np.asarray(ratings[codes])


def _prompts(grids: Sequence[RatedGrid]) -> list[str]:
    """Return the cluster of each grid.

    Grids with the same run and prompt form a cluster. If all grids have the same prompt, each grid
    is its own cluster.
    """
    names = [f"{grid.run}\n{grid.prompt}" for grid in grids]
    return names if len(set(names)) > 1 else [grid.item for grid in grids]


def _reliability(study: StudyAnswers, grids: Sequence[RatedGrid]) -> Estimate | Missing:
    """Return the reliability of the mean ratings, with its jackknife interval."""
    ratings = _matrix(study, grids)

    def statistic(places: Places) -> float:
        return mean_reliability(ratings[:, places])

    return or_missing(
        jackknife_correlation, statistic, _prompts(grids), study.folder.plan.confidence
    )


@dataclass(frozen=True)
class _ScoredGrids:
    """Ratings and one bias score of each grid, as arrays."""

    study: StudyAnswers
    grids: Sequence[RatedGrid]
    score: str

    @cached_property
    def scores(self) -> Floats:
        return np.array([grid.scores[self.score] for grid in self.grids])

    @cached_property
    def means(self) -> Floats:
        return np.array([grid.mean for grid in self.grids], dtype=float)

    @cached_property
    def medians(self) -> Floats:
        return np.array([grid.median for grid in self.grids], dtype=float)

    @cached_property
    def ratings(self) -> Floats:
        return _matrix(self.study, self.grids)

    @property
    def by_prompt(self) -> list[list[int]]:
        """Positions of the grids, grouped by run and prompt."""
        places = range(len(self.grids))
        groups = grouped(places, lambda at: (self.grids[at].run, self.grids[at].prompt))
        return list(groups.values())

    def correlation(self, statistic: Callable[[Places], float]) -> Estimate | Missing:
        """Return a correlation and its jackknife interval, with prompts as clusters."""
        level = self.study.folder.plan.confidence
        return or_missing(jackknife_correlation, statistic, _prompts(self.grids), level)

    def corrected(self, places: Places) -> float:
        """Return Spearman's correlation, divided by the square root of the ratings' reliability."""
        reliability = mean_reliability(self.ratings[:, places])
        r = spearman_of(self.means[places], self.scores[places])
        if reliability <= 0:
            return float("nan")
        return float(np.clip(r / sqrt(reliability), -1, 1))


def _score_agreement(
    study: StudyAnswers, group: str, name: str, grids: Sequence[RatedGrid]
) -> ScoreAgreement:
    """Return the agreement between the ratings and a bias score."""
    data = _ScoredGrids(study=study, grids=grids, score=name)
    level = study.folder.plan.confidence
    return ScoreAgreement(
        score=name,
        group=group,
        grids=len(grids),
        prompts=len(data.by_prompt),
        spearman=data.correlation(lambda at: spearman_of(data.means[at], data.scores[at])),
        spearman_of_medians=data.correlation(
            lambda at: spearman_of(data.medians[at], data.scores[at])
        ),
        kendall=data.correlation(lambda at: kendall_of(data.means[at], data.scores[at])),
        corrected=data.correlation(data.corrected),
        within_prompts=or_missing(_within_prompts, data, level),
        top_1=or_missing(_top, data, 1, level),
        top_2=or_missing(_top, data, 2, level),
        detectable=detectable_correlation(len(grids), level),
    )


def _within_prompts(data: _ScoredGrids, level: float) -> Estimate:
    """Return Spearman's correlation within prompts, averaged over all prompts with enough axes."""
    correlations = []
    for places in data.by_prompt:
        if len(places) >= TOP_AXES:
            r = spearman_of(data.means[places], data.scores[places])
            if not np.isnan(r):
                correlations.append(r)
    if not correlations:
        raise NotEnoughData(
            "no prompt has at least three axes whose ratings differ and whose scores differ"
        )
    rng = data.study.rng(data.score, str(len(data.grids)), "within prompts")
    return clustered_mean(np.array(correlations)[:, None], rng=rng, level=level)


def _top(data: _ScoredGrids, most: int, level: float) -> Estimate:
    """Return the share of prompts whose largest score is on one of the axes rated highest.

    An axis counts as rated highest if fewer than `most` axes of the prompt have a larger mean
    rating.
    """
    hits = []
    for places in data.by_prompt:
        if len(places) >= TOP_AXES:
            top = places[int(np.argmax(data.scores[places]))]
            larger = sum(data.means[place] > data.means[top] for place in places)
            hits.append(float(larger < most))
    if not hits:
        raise NotEnoughData("no prompt has three axes")
    return clustered_rate(np.array(hits)[:, None], level=level)
