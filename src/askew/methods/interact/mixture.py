"""The mixture of counterfactual prompts that mitigates all axes at once, planned, predicted and measured.

The paper leaves open what to do about several biases together. The weights are chosen on one half of the pictures and
judged on the other, beside two simpler plans: mitigate the worst axis alone, or one axis after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.plans.interactions import InteractionPlan
from askew.stats.distance import distance_for
from askew.stats.mixture import (
    Goal,
    MixturePlan,
    Steps,
    mixture_plan,
    one_after_another,
    plan_mixture,
    predicted_distances,
    worst_axis,
)
from askew.stats.shares import distance_estimate
from askew.types import Estimate, Missing

Entry = dict[str, Any]

AS_IT_IS = "as it is"
THIS_MIXTURE = "this mixture"


def plan_of_mixture(
    prompt: PromptPlan, sets: Sequence[ObservedSet], plan: InteractionPlan, scoring: Scoring
) -> Entry | Missing:
    """Weights of the prompts, and the distance of every axis before and as predicted, on pictures held out.

    Missing where a prompt lacks answers, or there is no initial set.
    """
    axes = [axis for axis in prompt.axes if len(axis.values) > 1]
    mixed = [s for s in sets if s.prompt.axis is None or s.prompt.axis in {axis.name for axis in axes}]
    if not axes or not mixed or mixed[0].prompt.axis is not None:
        return Missing("not_asked", "a mixture needs the initial pictures and axes whose values are known")
    try:
        fitted, held_out = (_goals(axes, [half(s, k) for s in mixed], plan, scoring) for k in (0, 1))
        best = plan_mixture(fitted, worsening=plan.mixture_worsening, most_prompts=plan.mixture_prompts or None)
        return _entry(axes, mixed, best, fitted, held_out, scoring)
    except NotEnoughData as error:
        return Missing("not_asked", str(error))


def half(observed: ObservedSet, which: int) -> ObservedSet:
    """Every second picture of a set, from the first (0) or the second (1) on."""
    values = {
        name: {axis: column[which::2] for axis, column in by_axis.items()} for name, by_axis in observed.values.items()
    }
    return replace(observed, pictures=observed.pictures[which::2], values=values, captions=observed.captions[which::2])


def pictures_by_prompt(mixture: Mapping[str, Any], images: int) -> dict[str, int]:
    """How many of `images` pictures to draw of each prompt: its weight, rounded so that they add up."""
    weights = np.array([one["weight"] for one in mixture["prompts"]]) * images
    counts = np.floor(weights).astype(int)
    rest = np.argsort(counts - weights, kind="stable")[: images - int(counts.sum())]
    counts[rest] += 1
    return {one["text"]: int(n) for one, n in zip(mixture["prompts"], counts, strict=True) if n}


def measured_distances(
    prompt: PromptPlan, drawn: ObservedSet, plan: InteractionPlan, scoring: Scoring
) -> dict[str, Estimate | Missing]:
    """The distance of every axis from its ideal in pictures drawn from the mixture."""
    found: dict[str, Estimate | Missing] = {}
    for axis in prompt.axes:
        if len(axis.values) < 2:
            continue
        counts = np.array(drawn.counts(scoring.instrument, axis.axis()))
        rng = scoring.rng(prompt.text, axis.name, scoring.instrument, "mixture measured")
        found[axis.name] = (
            distance_estimate(
                counts,
                _ideal(axis),
                distance=distance_for(plan.distance, axis.scale),
                rng=rng,
                draws=scoring.draws,
                level=scoring.level,
            )
            if counts.sum()
            else Missing("not_asked", "no picture of the mixture has an answer")
        )
    return found


def _goals(
    axes: Sequence[AxisPlan], sets: Sequence[ObservedSet], plan: InteractionPlan, scoring: Scoring
) -> list[Goal]:
    return [
        Goal(
            np.array([s.counts(scoring.instrument, axis.axis()) for s in sets]),
            _ideal(axis),
            distance_for(plan.distance, axis.scale),
        )
        for axis in axes
    ]


def _entry(
    axes: Sequence[AxisPlan],
    mixed: Sequence[ObservedSet],
    best: MixturePlan,
    fitted: Sequence[Goal],
    held_out: Sequence[Goal],
    scoring: Scoring,
) -> Entry:
    names = [axis.name for axis in axes]
    groups = [[k for k, s in enumerate(mixed) if s.prompt.axis == name] for name in names]
    start = np.eye(len(mixed))[0]
    rng = scoring.rng(mixed[0].prompt.text, scoring.instrument, "mixture predicted")
    how: dict[str, Any] = {"rng": rng, "draws": scoring.draws, "level": scoring.level}
    before = predicted_distances(start, held_out, **how)
    predicted = predicted_distances(best.weights, held_out, **how)
    others: dict[str, MixturePlan | Steps] = {
        "worst axis alone": worst_axis(fitted, groups),
        "one after another, the worst first": one_after_another(fitted, groups, order="worst"),
        "the worst first, while it helps": one_after_another(fitted, groups, order="worst", while_it_helps=True),
        "one after another, the most helpful first": one_after_another(fitted, groups, order="best"),
    }
    return {
        "prompts": [
            {"text": mixed[k].prompt.text, "axis": mixed[k].prompt.axis, "value": mixed[k].prompt.value,
             "weight": float(best.weights[k])}
            for k in best.prompts
        ],
        "before": dict(zip(names, before, strict=True)),
        "predicted": dict(zip(names, predicted, strict=True)),
        "totals": {
            AS_IT_IS: mixture_plan(held_out, start).total,
            **{name: mixture_plan(held_out, _weights(other)).total for name, other in others.items()},
            THIS_MIXTURE: mixture_plan(held_out, best.weights).total,
        },
        "steps": {name: [names[k] for k in other.axes] for name, other in others.items() if isinstance(other, Steps)},
        "images": None,
        "measured": None,
    }  # fmt: skip


def _weights(plan: MixturePlan | Steps) -> Any:
    return plan.plan.weights if isinstance(plan, Steps) else plan.weights


def _ideal(axis: AxisPlan) -> Any:
    shares = axis.ideal or dict.fromkeys(axis.values, 1 / len(axis.values))
    return np.array([shares[value] for value in axis.values])
