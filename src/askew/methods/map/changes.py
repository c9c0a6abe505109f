"""Average BiasMap's scores over prompts, and compare the means between models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from askew.findings import E
from askew.methods.map.findings import (
    MIDDLE,
    ConceptPair,
    ModelChange,
    Overall,
    PromptChange,
    RiskDifference,
)
from askew.stats.means import student_mean
from askew.types import Estimate, Missing, grouped

NO_MAP = Missing("error", "no map of this block exists for the images of this prompt")

Mean = Callable[[list[float]], Estimate]
BeforeAfter = tuple[ConceptPair, ConceptPair]
"""Scores of a prompt, for the first model and for a later model."""


def overall(
    pairs: Sequence[ConceptPair],
    risks: Sequence[RiskDifference],
    axis_of: Mapping[str, str],
    level: float,
) -> tuple[Overall, ...]:
    """Compute mean scores over prompts for each model and concept, with Student's t intervals.

    Parameters
    ----------
    pairs, risks
        Scores of all prompts and models.
    axis_of
        Name of the axis, keyed by concept.
    level
        Confidence level, in (0, 1).

    Returns
    -------
    tuple of Overall
        Mean scores for each model and concept.
    """
    entries = []
    mean = partial(_mean, level=level)
    for (model, a), of_concept in grouped(pairs, _model_and_concept).items():
        differences = [
            risk.estimate for risk in risks if (risk.model, risk.axis) == (model, axis_of.get(a))
        ]
        means = _means(of_concept, differences, mean, level)
        entries.append(Overall(model=model, a=a, prompts=len(of_concept), **means))
    return tuple(entries)


def changes(
    pairs: Sequence[ConceptPair],
    risks: Sequence[RiskDifference],
    axis_of: Mapping[str, str],
    models: Sequence[str],
    level: float,
) -> tuple[ModelChange, ...]:
    """Compare the scores of later models with those of the first model.

    Images with the same seed are paired, and a t-test over prompts tests each change.

    mBIoU is a mean over blocks. If the blocks differ between the two models, the difference in
    mBIoU is Missing.

    Parameters
    ----------
    pairs, risks
        Scores of all prompts and models.
    axis_of
        Name of the axis, keyed by concept.
    models
        Names of the models. askew compares the later models with the first.
    level
        Confidence level, in (0, 1).

    Returns
    -------
    tuple of ModelChange
        Changes for each later model and concept. Models that have no prompt in common with the
        first model are omitted.
    """
    estimates = {(risk.model, risk.prompt, risk.axis): risk.estimate for risk in risks}
    by_concept = grouped(pairs, _model_and_concept)
    entries = []
    for model in models[1:]:
        for a in dict.fromkeys(pair.a for pair in pairs):
            before = by_concept.get((models[0], a), [])
            after = by_concept.get((model, a), [])
            matched = [(x, y) for x in before for y in after if x.prompt == y.prompt]
            if matched:
                risk_changes = _risk_changes(matched, estimates, axis_of.get(a, ""))
                entries.append(_change(matched, risk_changes, level))
    return tuple(entries)


def _model_and_concept(pair: ConceptPair) -> tuple[str, str]:
    return pair.model, pair.a


def _risk_changes(
    matched: Sequence[BeforeAfter], estimates: Mapping[tuple[str, str, str], E], axis: str
) -> list[E]:
    """Return the changes in an axis's risk difference, for prompts where both models have one."""
    differences = []
    for pairs in matched:
        before, after = (estimates.get((pair.model, pair.prompt, axis)) for pair in pairs)
        if isinstance(before, Estimate) and isinstance(after, Estimate):
            differences.append(_subtract(after, before))
    return differences


def _change(matched: Sequence[BeforeAfter], risk_changes: Sequence[E], level: float) -> ModelChange:
    """Return the changes in a concept's scores from one model to another."""
    tested = partial(student_mean, level=level, null=0.0, bounds=(-1.0, 1.0))
    differences = []
    prompts = []
    for before, after in matched:
        difference = _difference(before, after)
        differences.append(difference)
        change = PromptChange(
            prompt=before.prompt,
            miou=_paired(difference.miou, before, after, "pictures", tested),
            mbiou=_paired(difference.mbiou, before, after, "block_pictures", tested),
        )
        prompts.append(change)
    means = _means(differences, risk_changes, partial(_combine, combine=tested), level)
    first, later = matched[0]
    return ModelChange(
        models=(first.model, later.model), a=first.a, prompts=tuple(prompts), **means
    )


def _means(
    pairs: Sequence[ConceptPair], risks: Sequence[E], mean: Callable[[Sequence[E]], E], level: float
) -> dict[str, Any]:
    """Compute the fields that `Overall` and `ModelChange` share, from scores or differences."""
    blocks = dict.fromkeys(block for pair in pairs for block in pair.blocks)
    tested = partial(student_mean, level=level, null=0.0)
    by_block = {}
    for block in blocks:
        by_block[block] = mean([pair.blocks.get(block, NO_MAP) for pair in pairs])
    return {
        "miou": mean([pair.miou for pair in pairs]),
        "mbiou": mean([pair.mbiou for pair in pairs]),
        "corrected": _combine([pair.corrected for pair in pairs], tested),
        "blocks": by_block,
        "risk_difference": mean(risks) if risks else None,
    }


def _difference(before: ConceptPair, after: ConceptPair) -> ConceptPair:
    """Return the later model's entry, in which differences replace the scores."""
    mbiou = _subtract(after.mbiou, before.mbiou)
    first = _counted_blocks(before)
    later = _counted_blocks(after)
    if first and later and first != later:
        mbiou = Missing(
            "error",
            f"mBIoU averages different blocks: {', '.join(first)} before, {', '.join(later)} after",
        )
    blocks = {
        block: _subtract(after.blocks[block], overlap)
        for block, overlap in before.blocks.items()
        if block in after.blocks
    }
    return replace(
        after,
        miou=_subtract(after.miou, before.miou),
        mbiou=mbiou,
        blocks=blocks,
        corrected=_subtract(after.corrected, before.corrected),
    )


def _counted_blocks(pair: ConceptPair) -> list[str]:
    """Return the names of the blocks over which mBIoU is averaged."""
    known = [block for block, overlap in pair.blocks.items() if isinstance(overlap, Estimate)]
    return [block for block in known if block != MIDDLE]


def _paired(
    difference: E,
    before: ConceptPair,
    after: ConceptPair,
    field: Literal["pictures", "block_pictures"],
    tested: Mean,
) -> E:
    """Return the mean difference in IoU between images with the same seed.

    If the difference is missing, the result is a Missing with the reason.
    """
    if isinstance(difference, Missing):
        return difference
    later = dict(zip(after.seeds, getattr(after, field), strict=True))
    values = []
    for seed, iou in zip(before.seeds, getattr(before, field), strict=True):
        later_iou = later.get(seed)
        if seed is not None and iou is not None and later_iou is not None:
            values.append(later_iou - iou)
    if not values:
        return Missing("error", "the models have no images with the same seed")
    return tested(values)


def _mean(estimates: Sequence[E], level: float) -> E:
    """Average scores that lie in [0, 1].

    If all scores have a null, the null of the mean is the mean of these nulls.
    """
    mean = _combine(estimates, partial(student_mean, level=level, bounds=(0, 1)))
    if isinstance(mean, Missing):
        return mean
    nulls = [estimate.null for estimate in estimates if isinstance(estimate, Estimate)]
    known = [null for null in nulls if null is not None]
    null = float(np.mean(known)) if len(nulls) == len(known) else None
    return replace(mean, null=null, max=1.0)


def _combine(scores: Sequence[E], combine: Mean) -> E:
    """Combine the known scores.

    If no score is known, return the reason why the first score is missing.
    """
    gaps = [score for score in scores if isinstance(score, Missing)]
    known = [score.value for score in scores if isinstance(score, Estimate)]
    return replace(combine(known), missing=len(gaps)) if known else gaps[0]


def _subtract(score: E, subtrahend: E) -> E:
    """Return the difference between two scores, or the reason why a score is missing."""
    if isinstance(score, Missing):
        return score
    if isinstance(subtrahend, Missing):
        return subtrahend
    return Estimate(score.value - subtrahend.value)
