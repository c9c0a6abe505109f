"""What the parts of a search do: alpha, by prompts whose bias is known; its size, and random prompts, by fresh losses.

Searches of the same run number share their seeds, so sizes are compared in pairs of runs, on fresh seeds (MineTheGap,
table S1 and figures S3 to S5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import with_q
from askew.methods.mine.findings import Iteration, MineTheGap
from askew.methods.mine.objectives import Alignment
from askew.parts.scoring import Scoring, or_missing
from askew.stats.gap import null_scores, score_halves
from askew.stats.means import OVER_RUNS, student_mean
from askew.stats.rank import spearman
from askew.studies.mine_study.findings import AlphaRanks, CurvePoint, RankedPrompt, Ranking, SizeScore
from askew.types import Estimate, Missing

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75)
RANKED = ("score", "corrected", "missed_concepts", "least_aligned")
"""What prompts are ranked by, all higher where pictures are more one-sided: fields of `AlphaRanks`."""


@dataclass(frozen=True, slots=True)
class Known:
    """A prompt whose pictures are known to be one-sided by `skew`; `chance` are pictures of its variations."""

    prompt: str
    skew: float
    pictures: Alignment
    chance: Alignment


@dataclass(frozen=True, slots=True)
class SearchSize:
    """Prompts in each iteration, how many of them are mutated, and how often each; random ones fill the rest."""

    population: int
    selected: int
    mutations: int

    @property
    def random(self) -> int:
        """Random prompts in each iteration."""
        return self.population - self.selected * self.mutations


PAPER = SearchSize(15, 5, 2)
SELECTIONS = (SearchSize(15, 5, 1), SearchSize(15, 3, 2), PAPER, SearchSize(15, 7, 2), SearchSize(15, 5, 3))
"""The rows of table S1."""

POPULATIONS = (SearchSize(9, 3, 2), PAPER, SearchSize(21, 7, 2))
"""The curves of figure S4."""


def known_ranking(prompts: Sequence[Known], scoring: Scoring, quantiles: Sequence[float] = QUANTILES) -> Ranking:
    """How well the score ranks prompts by a bias that is known (section 4.2), for several alphas (figure S5).

    The alphas are judged by the rank correlation with the truth, never by the score itself, which falls with alpha by
    construction. Both the score and its excess over chance are ranked: chance differs from prompt to prompt; and the
    two halves of the score alone. Raises NotEnoughData for fewer than three prompts.
    """
    if len(prompts) < 3:
        raise NotEnoughData(f"{len(prompts)} prompts can be scored; a ranking needs three")
    rows = [list(_ranked(one, (one.pictures.quantile, *quantiles), scoring)) for one in prompts]
    truth = [one.skew for one in prompts]
    own = tuple(
        RankedPrompt(one.prompt, one.skew, -score, corrected)
        for one, ((score, corrected, *_), *_) in zip(prompts, rows, strict=True)
    )
    studied = tuple(
        AlphaRanks(quantile, *(
            or_missing(spearman, [row[k][i] for row in rows], truth, reason="error",
                       rng=scoring.rng("known ranking", name, str(quantile)), **scoring.how)
            for i, name in enumerate(RANKED)
        ))
        for k, quantile in enumerate(quantiles, start=1)
    )  # fmt: skip
    return Ranking(max(len(one.pictures.pictures) + one.pictures.missing for one in prompts), own, studied)


def _ranked(one: Known, quantiles: Sequence[float], scoring: Scoring) -> Iterator[tuple[float, ...]]:
    rng = scoring.rng("known ranking", one.prompt)
    for quantile in quantiles:
        missed, unaligned = score_halves(one.pictures.similarity, quantile)
        value = (missed + unaligned) / 2
        null = null_scores(one.chance.similarity, len(one.pictures.pictures), quantile, scoring.draws, rng)
        yield -value, float(null.mean()) - value, -missed, -unaligned


def size_study(sections: Mapping[SearchSize, MineTheGap], runs: int, level: float) -> tuple[SizeScore, ...]:
    """One entry per size; q over all differences."""
    fresh = {size: _by_run([(e.run, e.fresh_score) for e in one.best], runs) for size, one in sections.items()}
    paired = {
        size: [None if a is None or b is None else b - a for a, b in zip(fresh[PAPER], own, strict=True)]
        for size, own in fresh.items()
    }
    entries = tuple(
        SizeScore(
            size.population, size.selected, size.mutations, size.random,
            fresh=_mean(fresh[size], level), by_run=tuple(fresh[size]),
            found=_mean(_by_run([(e.run, e.score) for e in section.best], runs), level),
            difference=None if size == PAPER else _mean(paired[size], level, null=0.0),
            curve=best_so_far(section.history, runs),
        )
        for size, section in sections.items()
    )  # fmt: skip
    return with_q(entries, lambda at: at[1:] if "difference" in at else None)


def best_so_far(history: Sequence[Iteration], runs: int) -> tuple[CurvePoint, ...]:
    """The best loss so far over runs, for iterations that all of them have."""
    by_iteration: dict[int, list[float]] = {}
    for entry in history:
        if entry.best_so_far is not None:
            by_iteration.setdefault(entry.iteration, []).append(entry.best_so_far)
    return tuple(
        CurvePoint(number, float(np.mean(some)), float(np.std(some, ddof=1) / np.sqrt(runs)) if runs > 1 else None)
        for number, some in sorted(by_iteration.items())
        if len(some) == runs
    )


def _by_run(scores: Sequence[tuple[int, Estimate | Missing]], runs: int) -> list[float | None]:
    """The mean score of each run's best prompts; None for a run in which none could be scored."""
    known = [[score.value for number, score in scores if number == run and isinstance(score, Estimate)]
             for run in range(runs)]  # fmt: skip
    return [float(np.mean(values)) if values else None for values in known]


def _mean(values: Sequence[float | None], level: float, null: float | None = None) -> Estimate | Missing:
    known = [value for value in values if value is not None]
    return or_missing(student_mean, known, level, OVER_RUNS, missing=len(values) - len(known), null=null,
                      reason="error", detail="no run could be scored")  # fmt: skip
