"""Is MineTheGap's score right? Against prompts whose bias is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askew.errors import NotEnoughData
from askew.methods.mine.objectives import Alignment
from askew.parts.scoring import Scoring
from askew.stats.gap import null_scores, score_halves
from askew.stats.rank import spearman
from askew.studies.mine_study.findings import AlphaRanks, RankedPrompt, Ranking
from askew.types import Estimate, Missing

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Known:
    """A prompt whose pictures are known to be one-sided by `skew`; `chance` are pictures of its variations."""

    prompt: str
    skew: float
    pictures: Alignment
    chance: Alignment


@dataclass(frozen=True, slots=True)
class Row:
    """What one prompt is ranked by at one alpha, higher where its pictures are more one-sided."""

    score: float
    corrected: float
    missed_concepts: float
    least_aligned: float


def known_ranking(prompts: Sequence[Known], scoring: Scoring, quantiles: Sequence[float] = QUANTILES) -> Ranking:
    """How well the score ranks prompts by a bias that is known (section 4.2), for several alphas (figure S5).

    The alphas are judged by the rank correlation with the truth, never by the score itself, which falls with alpha by
    construction. Both the score and its excess over chance are ranked: chance differs from prompt to prompt; and the
    two halves of the score alone. Raises NotEnoughData for fewer than three prompts.
    """
    if len(prompts) < 3:
        raise NotEnoughData(f"{len(prompts)} prompts can be scored; a ranking needs three")
    rows = [list(_rows(one, (one.pictures.quantile, *quantiles), scoring)) for one in prompts]
    truth = [one.skew for one in prompts]
    own = tuple(
        RankedPrompt(one.prompt, one.skew, -row[0].score, row[0].corrected)
        for one, row in zip(prompts, rows, strict=True)
    )
    studied = tuple(
        AlphaRanks(quantile, *(
            _correlation([getattr(row[k], name) for row in rows], truth, name, quantile, scoring)
            for name in Row.__dataclass_fields__
        ))
        for k, quantile in enumerate(quantiles, start=1)
    )  # fmt: skip
    return Ranking(max(len(one.pictures.pictures) + one.pictures.missing for one in prompts), own, studied)


def _rows(one: Known, quantiles: Sequence[float], scoring: Scoring) -> Iterator[Row]:
    rng = scoring.rng("known ranking", one.prompt)
    for quantile in quantiles:
        missed, unaligned = score_halves(one.pictures.similarity, quantile)
        value = (missed + unaligned) / 2
        null = null_scores(one.chance.similarity, len(one.pictures.pictures), quantile, scoring.draws, rng)
        yield Row(-value, float(null.mean()) - value, -missed, -unaligned)


def _correlation(
    scores: Sequence[float], truth: Sequence[float], name: str, quantile: float, scoring: Scoring
) -> Estimate | Missing:
    rng = scoring.rng("known ranking", name, str(quantile))
    try:
        return spearman(scores, truth, rng=rng, draws=scoring.draws, level=scoring.level)
    except NotEnoughData as error:
        return Missing("error", str(error))
