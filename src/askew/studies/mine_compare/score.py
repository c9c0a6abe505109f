"""Every model on the prompts mined for every other one (MineTheGap, figure 9), or for settings of one (figure 6).

All are held against the same variations and the same seeds, so that their scores of a prompt are pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np

from askew.findings import Head, with_q
from askew.methods.mine.findings import Loss
from askew.methods.mine.score import OVER_PROMPTS, mean_score
from askew.parts.scoring import Vectors, or_missing
from askew.stats.gap import nearest_similarity
from askew.stats.means import student_mean
from askew.studies.mine_compare.findings import (
    Cell,
    Difference,
    MiningComparison,
    MiningComparisonFindings,
    Nearness,
    Rank,
    family,
)
from askew.studies.mine_compare.gather import ComparisonGathered
from askew.studies.mine_compare.plan import MiningComparisonPlan
from askew.types import Estimate, Missing

Losses = Mapping[str, Mapping[str, Mapping[str, Loss]]]
"""The bias score by model, set of prompts, and prompt."""


def score(plan: MiningComparisonPlan, found: ComparisonGathered, head: Head) -> MiningComparisonFindings:
    """The scores of all models on all sets, and how near the texts of the sets are."""
    losses: dict[str, dict[str, dict[str, Loss]]] = {}
    for one in found.scored:
        own = {text: reading if isinstance(reading, Missing) else reading.loss()
               for text, reading in one.readings.items()}  # fmt: skip
        losses.setdefault(one.model, {})[one.mined_for] = own
    section = mining_comparison(losses, set_similarity(found.vectors, plan.level), plan.level)
    return head.into(MiningComparisonFindings, models=found.models, mining_comparison=section)


def mining_comparison(losses: Losses, similarity: Sequence[Nearness], level: float) -> MiningComparison:
    """What the scores say of models and of sets."""
    matrix = tuple(
        Cell(model, name, mean_score(list(own.values()), level), tuple(
            (text, None if isinstance(one, Missing) else one) for text, one in own.items()
        ))
        for model, sets in losses.items()
        for name, own in sets.items()
    )  # fmt: skip
    pooled = {
        model: {text: loss for scores in reversed(list(sets.values())) for text, loss in scores.items()}
        for model, sets in losses.items()
    }  # a prompt that two runs found counts as one
    ranking = [Rank(model, mean_score(list(own.values()), level)) for model, own in pooled.items()]
    ranking.sort(key=lambda entry: getattr(entry.score, "value", float("inf")))
    differences = []
    for one, other in combinations(losses, 2):
        differences.append(Difference((one, other), None, paired_score(pooled[one], pooled[other], level)))
        differences += [
            Difference((one, other), name, paired_score(own, losses[other][name], level))
            for name, own in losses[one].items() if len(losses[one]) > 1
        ]  # fmt: skip
    return with_q(MiningComparison(matrix, tuple(ranking), tuple(differences), tuple(similarity)), family)


def paired_score(first: Mapping[str, Loss], second: Mapping[str, Loss], level: float) -> Estimate | Missing:
    """Mean of the second scores less the first over the prompts that both have, tested against 0."""
    pairs = [(a, second[text]) for text, a in first.items() if text in second]
    known = [b - a for a, b in pairs if not isinstance(a, Missing) and not isinstance(b, Missing)]
    return or_missing(student_mean, known, level, OVER_PROMPTS, missing=len(pairs) - len(known), null=0.0,
                      reason="error", detail="no prompt could be scored on both models")  # fmt: skip


def set_similarity(vectors: Mapping[str, Vectors], level: float) -> list[Nearness]:
    """How near the prompts of every set are to those of every other, and to their own (figure S19).

    Mean cosine of a prompt to its nearest neighbour, which is sought among equally many prompts for every pair: one
    fewer than the smallest set has, as a prompt is no neighbour of itself.

    Parameters
    ----------
    vectors
        By set (prompts, dimensions), unit vectors.

    Returns
    -------
    list[Nearness]
        Empty where a set has fewer than two prompts.
    """
    neighbours = min((len(some) for some in vectors.values()), default=0) - 1
    entries: list[Nearness] = []
    for (a, of), (b, among) in product(vectors.items(), repeat=2) if neighbours > 0 else ():
        cosine = np.asarray(of, float) @ np.asarray(among, float).T
        if a == b:
            cosine = cosine[~np.eye(len(cosine), dtype=bool)].reshape(len(cosine), -1)
        nearest = nearest_similarity(cosine, neighbours)
        entries.append(Nearness(a, b, student_mean(nearest, level, OVER_PROMPTS)))
    return entries
