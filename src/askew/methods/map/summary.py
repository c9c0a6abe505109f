"""BiasMap over prompts and models: means, and what differs between models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from askew.methods.map.findings import MIDDLE, Change, Overall, Pair, PromptChange, RiskDifference
from askew.stats.means import student_mean
from askew.types import Estimate, Missing

DIFFERENCE = (-1.0, 1.0)
"""Bounds of the difference of two scores from 0 to 1."""

NO_MAP = Missing("error", "this prompt's pictures have no such map")
NO_PAIR = Missing("error", "the models have no picture of one seed in common")
NOT_CORRECTED = Missing("not_asked", "no prompt has a corrected overlap")

E = Estimate | Missing
Scores = Sequence[float | None]


def overall(
    pairs: Sequence[Pair], risks: Sequence[RiskDifference], axis_of: Mapping[str, str], level: float
) -> tuple[Overall, ...]:
    """Means over the prompts of a model, by concept, with t intervals over prompts."""
    entries = []
    for model, a in dict.fromkeys((p.model, p.a) for p in pairs):
        own = [p for p in pairs if (p.model, p.a) == (model, a)]
        found = [r.estimate for r in risks if (r.model, r.axis) == (model, axis_of.get(a))]
        tested = partial(student_mean, level=level, null=0.0)
        areas = [p.chance_area for p in own if p.chance_area is not None]
        entries.append(Overall(
            model, a, len(own),
            miou=_mean([p.miou for p in own], level), mbiou=_mean([p.mbiou for p in own], level),
            corrected=_combined([p.corrected for p in own], tested, NOT_CORRECTED),
            risk_difference=_mean(found, level) if found else None,
            blocks=_mean_parts([p.blocks for p in own], level), layers=_mean_parts([p.layers for p in own], level),
            chance_area=float(np.mean(areas)) if areas else None,
        ))  # fmt: skip
    return tuple(entries)


def changes(
    pairs: Sequence[Pair], risks: Sequence[RiskDifference], axis_of: Mapping[str, str], models: Sequence[str],
    level: float,
) -> tuple[Change, ...]:  # fmt: skip
    """Every later model less the first, paired by seed, and by t-test over prompts.

    mBIoU is a mean over blocks: where a prompt's counted other blocks, their difference is Missing.
    """
    entries = []
    for model in models[1:]:
        for a in dict.fromkeys(p.a for p in pairs):
            befores, afters = ([p for p in pairs if (p.model, p.a) == (m, a)] for m in (models[0], model))
            matched = [(x, y) for x in befores for y in afters if x.prompt == y.prompt]
            if matched:
                entries.append(Change(
                    (models[0], model), a, tuple(_prompt_change(x, y, level) for x, y in matched),
                    miou=_over_prompts([_minus(y.miou, x.miou) for x, y in matched], level),
                    mbiou=_over_prompts([_other_blocks(x, y) or _minus(y.mbiou, x.mbiou) for x, y in matched], level),
                    corrected=_over_prompts([_minus(y.corrected, x.corrected) for x, y in matched], level, None),
                    blocks=_block_changes(matched, level),
                    risk_difference=_risk_change(risks, axis_of.get(a), models[0], model, level),
                ))  # fmt: skip
    return tuple(entries)


def _prompt_change(x: Pair, y: Pair, level: float) -> PromptChange:
    miou = _paired(x, y, x.miou, y.miou, x.pictures, y.pictures, level)
    mbiou = _paired(x, y, x.mbiou, y.mbiou, x.block_pictures, y.block_pictures, level)
    return PromptChange(x.prompt, miou, _other_blocks(x, y) or mbiou)


def _paired(x: Pair, y: Pair, before: E, after: E, earlier: Scores, later: Scores, level: float) -> E:
    """Mean difference of IoU between pictures of one seed, of those that have a score."""
    gap = _minus(after, before)
    if isinstance(gap, Missing):
        return gap
    first, second = (dict(zip(one.seeds, scores, strict=True)) for one, scores in ((x, earlier), (y, later)))
    values = [v - u for seed, u in first.items()
              if seed is not None and u is not None and (v := second.get(seed)) is not None]  # fmt: skip
    return student_mean(values, level, null=0.0, bounds=DIFFERENCE) if values else NO_PAIR


def _other_blocks(before: Pair, after: Pair) -> Missing | None:
    """Why mBIoU of two models cannot be compared; None where it can, or where one has none."""
    first, second = ([b for b, e in one.blocks.items() if b != MIDDLE and isinstance(e, Estimate)]
                     for one in (before, after))  # fmt: skip
    if first == second or not first or not second:
        return None
    return Missing("error", f"mBIoU counts other blocks: {', '.join(second)} and not {', '.join(first)}")


def _block_changes(matched: Sequence[tuple[Pair, Pair]], level: float) -> dict[str, E]:
    """By block that both models have, the mean difference over prompts."""
    names = dict.fromkeys(name for x, y in matched for name in x.blocks if name in y.blocks)
    return {
        name: _over_prompts([_minus(y.blocks.get(name, NO_MAP), x.blocks.get(name, NO_MAP)) for x, y in matched], level)
        for name in names
    }


def _risk_change(risks: Sequence[RiskDifference], axis: str | None, first: str, second: str, level: float) -> E | None:
    """Mean change of the risk difference over prompts, by t-test."""
    known = {(r.model, r.prompt): r.estimate.value for r in risks
             if r.axis == axis and isinstance(r.estimate, Estimate)}  # fmt: skip
    gaps = [known[second, prompt] - value for (model, prompt), value in known.items()
            if model == first and (second, prompt) in known]  # fmt: skip
    return student_mean(gaps, level, null=0.0, bounds=DIFFERENCE) if gaps else None


def _mean(estimates: Sequence[E], level: float) -> E:
    mean = _combined(estimates, partial(student_mean, level=level, bounds=(0, 1)))
    if isinstance(mean, Missing):
        return mean
    nulls = [e.null for e in estimates if isinstance(e, Estimate)]
    known = [null for null in nulls if null is not None]
    return replace(mean, null=float(np.mean(known)) if len(nulls) == len(known) else None, max=1.0)


def _mean_parts(parts: Sequence[Mapping[str, E]], level: float) -> dict[str, E]:
    """By block or layer the mean over those prompts that have it."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: _mean([part.get(name, NO_MAP) for part in parts], level) for name in names}


def _over_prompts(gaps: Sequence[float | Missing], level: float, bounds: tuple[float, float] | None = DIFFERENCE) -> E:
    """The mean of differences by prompt, tested against 0."""
    return _combined(gaps, partial(student_mean, level=level, null=0.0, bounds=bounds))


def _combined(
    scores: Sequence[E | float], combine: Callable[[list[float]], Estimate], none: Missing | None = None
) -> E:
    """What becomes of those scores that are known; without one, why the first is missing, unless said by `none`."""
    gaps = [one for one in scores if isinstance(one, Missing)]
    known = [one.value if isinstance(one, Estimate) else one for one in scores if not isinstance(one, Missing)]
    return replace(combine(known), missing=len(gaps)) if known else none or gaps[0]


def _minus(a: E, b: E) -> float | Missing:
    if isinstance(a, Missing):
        return a
    return b if isinstance(b, Missing) else a.value - b.value
