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
Mean = Callable[[list[float]], Estimate]


def overall(
    pairs: Sequence[Pair], risks: Sequence[RiskDifference], axis_of: Mapping[str, str], level: float
) -> tuple[Overall, ...]:
    """Means over the prompts of a model, by concept, with t intervals over prompts."""
    entries = []
    for model, a in dict.fromkeys((p.model, p.a) for p in pairs):
        own = [p for p in pairs if (p.model, p.a) == (model, a)]
        found = [r.estimate for r in risks if (r.model, r.axis) == (model, axis_of.get(a))]
        blocks = dict.fromkeys(block for p in own for block in p.blocks)
        areas = [p.chance_area for p in own if p.chance_area is not None]
        tested = partial(student_mean, level=level, null=0.0)
        entries.append(Overall(
            model, a, len(own),
            miou=_mean([p.miou for p in own], level), mbiou=_mean([p.mbiou for p in own], level),
            corrected=_combined([p.corrected for p in own], tested, NOT_CORRECTED),
            risk_difference=_mean(found, level) if found else None,
            blocks={block: _mean([p.blocks.get(block, NO_MAP) for p in own], level) for block in blocks},
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
    entries, seen = [], {(r.model, r.prompt, r.axis): r.estimate for r in risks}
    tested = partial(student_mean, level=level, null=0.0, bounds=DIFFERENCE)
    for model in models[1:]:
        for a in dict.fromkeys(p.a for p in pairs):
            befores, afters = ([p for p in pairs if (p.model, p.a) == (m, a)] for m in (models[0], model))
            matched = [(x, y) for x in befores for y in afters if x.prompt == y.prompt]
            if not matched:
                continue
            common = dict.fromkeys(name for x, y in matched for name in x.blocks if name in y.blocks)
            read = [[seen.get((p.model, p.prompt, axis_of.get(a, ""))) for p in both] for both in matched]
            risk = [y.value - x.value for x, y in read if isinstance(x, Estimate) and isinstance(y, Estimate)]
            corrected = [_minus(y.corrected, x.corrected) for x, y in matched]
            entries.append(Change(
                (models[0], model), a,
                tuple(
                    PromptChange(x.prompt, _paired(x, y, "miou", "pictures", tested),
                                 _other_blocks(x, y) or _paired(x, y, "mbiou", "block_pictures", tested))
                    for x, y in matched
                ),
                miou=_combined([_minus(y.miou, x.miou) for x, y in matched], tested),
                mbiou=_combined([_other_blocks(x, y) or _minus(y.mbiou, x.mbiou) for x, y in matched], tested),
                corrected=_combined(corrected, partial(student_mean, level=level, null=0.0)),
                blocks={name: _combined([_minus(y.blocks.get(name, NO_MAP), x.blocks.get(name, NO_MAP))
                                         for x, y in matched], tested) for name in common},
                risk_difference=tested(risk) if risk else None,
            ))  # fmt: skip
    return tuple(entries)


def _paired(x: Pair, y: Pair, score: str, pictures: str, tested: Mean) -> E:
    """Mean difference of IoU between pictures of one seed, of those that have a score."""
    gap = _minus(getattr(y, score), getattr(x, score))
    if isinstance(gap, Missing):
        return gap
    before, after = (dict(zip(one.seeds, getattr(one, pictures), strict=True)) for one in (x, y))
    values = [v - u for seed, u in before.items()
              if seed is not None and u is not None and (v := after.get(seed)) is not None]  # fmt: skip
    return tested(values) if values else NO_PAIR


def _other_blocks(before: Pair, after: Pair) -> Missing | None:
    """Why mBIoU of two models cannot be compared; None where it can, or where one has none."""
    first, second = ([b for b, e in one.blocks.items() if b != MIDDLE and isinstance(e, Estimate)]
                     for one in (before, after))  # fmt: skip
    if first == second or not first or not second:
        return None
    return Missing("error", f"mBIoU counts other blocks: {', '.join(second)} and not {', '.join(first)}")


def _mean(estimates: Sequence[E], level: float) -> E:
    mean = _combined(estimates, partial(student_mean, level=level, bounds=(0, 1)))
    if isinstance(mean, Missing):
        return mean
    nulls = [e.null for e in estimates if isinstance(e, Estimate)]
    known = [null for null in nulls if null is not None]
    return replace(mean, null=float(np.mean(known)) if len(nulls) == len(known) else None, max=1.0)


def _combined(scores: Sequence[E | float], combine: Mean, none: Missing | None = None) -> E:
    """What becomes of those scores that are known; without one, why the first is missing, unless said by `none`."""
    gaps = [one for one in scores if isinstance(one, Missing)]
    known = [one.value if isinstance(one, Estimate) else one for one in scores if not isinstance(one, Missing)]
    return replace(combine(known), missing=len(gaps)) if known else none or gaps[0]


def _minus(a: E, b: E) -> float | Missing:
    if isinstance(a, Missing):
        return a
    return b if isinstance(b, Missing) else a.value - b.value
