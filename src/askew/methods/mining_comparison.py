"""Every model on the prompts mined for every other one (MineTheGap, figure 9), or for settings of one (figure 6).

All are held against the same variations and the same seeds, so that their scores of a prompt are pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.significance import add_q
from askew.parts.scoring import Vectors
from askew.stats.means import student_mean
from askew.stats.neighbours import nearest_similarity
from askew.types import Estimate, Missing

OVER_PROMPTS = "t over prompts"
GIVEN = "given prompts"
"""The set of those that were not mined."""

Entry = dict[str, Any]
Losses = Mapping[str, Mapping[str, Mapping[str, float | Missing]]]
"""The bias score by model, set of prompts, and prompt."""


def mining_comparison(losses: Losses, level: float) -> Entry:
    """What the scores say of models and of sets.

    Returns:
        `matrix`: [{model, mined_for, score, prompts}], E of the mean score of the prompts, and [[prompt, score]];
        `ranking`: [{model, score}], E of the mean over all prompts, the most one-sided model first;
        `differences`: [{models, mined_for, difference}] for every two models, E of the second one's score less that
        of the first, paired by prompt, over all prompts (mined_for null) and over each set; q over all of them.
    """
    matrix = [
        {
            "model": model,
            "mined_for": name,
            "score": mean_score(list(scores.values()), level),
            "prompts": [[text, None if isinstance(one, Missing) else one] for text, one in scores.items()],
        }
        for model, sets in losses.items()
        for name, scores in sets.items()
    ]
    pooled = {model: _pooled(sets) for model, sets in losses.items()}
    ranking = [{"model": model, "score": mean_score(list(all_.values()), level)} for model, all_ in pooled.items()]
    return {
        "matrix": matrix,
        "ranking": sorted(ranking, key=lambda entry: _value(entry["score"])),
        "differences": _differences(losses, pooled, level),
    }


def mean_score(losses: Sequence[float | Missing], level: float) -> Estimate | Missing:
    """Mean of the scores of several prompts, with Student's interval over them."""
    known = [loss for loss in losses if not isinstance(loss, Missing)]
    try:
        return student_mean(known, level, OVER_PROMPTS, missing=len(losses) - len(known))
    except NotEnoughData:
        return Missing("error", "no prompt could be scored")


def paired_score(
    first: Mapping[str, float | Missing], second: Mapping[str, float | Missing], level: float
) -> Estimate | Missing:
    """Mean of the second scores less the first over the prompts that both have, tested against 0."""
    pairs = [(a, second[text]) for text, a in first.items() if text in second]
    known = [b - a for a, b in pairs if not isinstance(a, Missing) and not isinstance(b, Missing)]
    try:
        return student_mean(known, level, OVER_PROMPTS, missing=len(pairs) - len(known), null=0.0)
    except NotEnoughData:
        return Missing("error", "no prompt could be scored on both models")


def set_similarity(vectors: Mapping[str, Vectors], level: float) -> list[Entry]:
    """How near the prompts of every set are to those of every other, and to their own (figure S19).

    Mean cosine of a prompt to its nearest neighbour, which is sought among equally many prompts for every pair: one
    fewer than the smallest set has, as a prompt is no neighbour of itself.

    Args:
        vectors: by set (prompts, dimensions), unit vectors.

    Returns:
        [{of, among, cosine}], E over the prompts of the first set; empty where a set has fewer than two prompts.
    """
    neighbours = min((len(some) for some in vectors.values()), default=0) - 1
    if neighbours < 1:
        return []
    return [
        {"of": a, "among": b, "cosine": _nearest(of, among, neighbours, a == b, level)}
        for a, of in vectors.items()
        for b, among in vectors.items()
    ]


def _nearest(of: Vectors, among: Vectors, neighbours: int, same: bool, level: float) -> Estimate:
    cosine = np.asarray(of, float) @ np.asarray(among, float).T
    if same:
        cosine = cosine[~np.eye(len(cosine), dtype=bool)].reshape(len(cosine), -1)
    return student_mean(nearest_similarity(cosine, neighbours), level, OVER_PROMPTS)


def _differences(losses: Losses, pooled: Mapping[str, Mapping[str, float | Missing]], level: float) -> list[Entry]:
    found = []
    for first, second in combinations(losses, 2):
        found.append(_difference(first, second, None, paired_score(pooled[first], pooled[second], level)))
        names = list(losses[first]) if len(losses[first]) > 1 else []
        for name in names:
            between = paired_score(losses[first][name], losses[second][name], level)
            found.append(_difference(first, second, name, between))
    add_q(found, "difference")
    return found


def _difference(first: str, second: str, mined_for: str | None, difference: Estimate | Missing) -> Entry:
    return {"models": [first, second], "mined_for": mined_for, "difference": difference}


def _pooled(sets: Mapping[str, Mapping[str, float | Missing]]) -> dict[str, float | Missing]:
    """All prompts with their scores, each once: a prompt that two runs found counts as one."""
    return {text: loss for scores in reversed(list(sets.values())) for text, loss in scores.items()}


def _value(score: Estimate | Missing) -> float:
    return float("inf") if isinstance(score, Missing) else score.value
