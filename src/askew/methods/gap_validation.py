"""Is MineTheGap's score right? Against prompts whose bias is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.minethegap import BiasObjective
from askew.stats.gap import null_scores, score_halves
from askew.stats.rank import spearman
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, Picture

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75)
RANKED = ("score", "corrected", "missed_concepts", "least_aligned")
"""What is ranked: the score, what it falls below chance, and its halves."""


def known_ranking(
    objective: BiasObjective, skews: Mapping[str, float], quantiles: Sequence[float] = QUANTILES
) -> dict[str, Any]:
    """How well the score ranks prompts by a bias that is known (section 4.2), for several alphas (figure S5).

    The alphas are judged by the rank correlation with the truth, never by the score itself, which falls with alpha by
    construction. Both the score and its excess over chance are ranked: chance differs from prompt to prompt; and the
    two halves of the score alone.

    Args:
        skews: by prompt how one-sided its pictures are known to be; larger is more.

    Returns:
        `prompts`: [{prompt, skew, score, corrected}] at the objective's own alpha, and `quantiles`: [{quantile,
        score, corrected, missed_concepts, least_aligned}], E of Spearman's correlation of each with the skew, above 0
        where they agree.

    Raises:
        NotEnoughData: fewer than three prompts can be scored.
    """
    known, rows = _scored(objective, skews, (objective.quantile, *quantiles))
    truth = [skews[prompt] for prompt in known]
    own = [
        {"prompt": prompt, "skew": skew, "score": -row[0][0], "corrected": row[0][1]}
        for prompt, skew, row in zip(known, truth, rows, strict=True)
    ]
    studied = [
        {
            "quantile": quantile,
            **{
                name: _correlation(objective, [row[k][place] for row in rows], truth, name, quantile)
                for place, name in enumerate(RANKED)
            },
        }
        for k, quantile in enumerate(quantiles, start=1)
    ]
    return {"prompts": own, "quantiles": studied}


def _scored(
    objective: BiasObjective, prompts: Mapping[str, float], quantiles: Sequence[float]
) -> tuple[list[str], list[list[tuple[float, ...]]]]:
    """Prompts that can be scored, and by quantile the numbers RANKED, higher where pictures are more one-sided."""
    known: list[str] = []
    rows: list[list[tuple[float, ...]]] = []
    for prompt in prompts:
        found = objective.alignment(prompt, objective.seed)
        if isinstance(found, Missing):
            continue
        own = [one for one in objective.one_of_each(found.variations) if isinstance(one, Picture)]
        if not own:
            continue
        of_variations = objective.similarities(found.variations, own)
        rng = np.random.default_rng(derived_seed(objective.seed, "known ranking", prompt))
        row: list[tuple[float, ...]] = []
        for quantile in quantiles:
            missed, unaligned = score_halves(found.similarity, quantile)
            value = (missed + unaligned) / 2
            null = null_scores(of_variations, len(found.pictures), quantile, objective.draws, rng)
            row.append((-value, float(null.mean()) - value, -missed, -unaligned))
        known.append(prompt)
        rows.append(row)
    if len(known) < 3:
        raise NotEnoughData(f"{len(known)} of {len(prompts)} prompts can be scored; a ranking needs three")
    return known, rows


def _correlation(
    objective: BiasObjective, scores: Sequence[float], truth: Sequence[float], name: str, quantile: float
) -> Estimate | Missing:
    rng = np.random.default_rng(derived_seed(objective.seed, "known ranking", name, str(quantile)))
    try:
        return spearman(scores, truth, rng=rng, draws=objective.draws, level=objective.level)
    except NotEnoughData as error:
        return Missing("error", str(error))
