"""Mitigation: the mixture of prompts against all biases at once, and whether estimates hold where an axis is mitigated.

The paper leaves open what to do about several biases together. The weights are chosen on one half of the pictures and
judged on the other, beside two simpler plans: mitigate the worst axis alone, or one axis after another. Ways to
mitigate are compared over the prompts of a run in the form in which InterMit, the follow-up work, compares itself with
rivals: what bias is left, after how many steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.interact.findings import (
    AS_IT_IS,
    THIS_MIXTURE,
    Graph,
    MixedPrompt,
    Mixture,
    Strategy,
)
from askew.methods.interact.graph import ideal
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.stats.distance import distance_for
from askew.stats.means import student_mean
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
from askew.types import Estimate, Missing, Prompt

MEASURED = "this mixture, drawn and measured"
OVER = "Student's t over prompts"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A mixture chosen for a prompt: its axes, the prompts of the sets that may be mixed, and the weights of these.

    fitted, held_out  every axis and where it should be, by the half of the pictures that decided and by the other
    """

    axes: tuple[AxisPlan, ...]
    prompts: tuple[Prompt, ...]
    best: MixturePlan
    fitted: Sequence[Goal]
    held_out: Sequence[Goal]

    def pictures(self, images: int) -> dict[str, int]:
        """How many of `images` pictures to draw of each prompt: its weight, rounded so that they add up."""
        used = self.best.prompts
        weights = np.array([self.best.weights[k] for k in used]) * images
        counts = np.floor(weights).astype(int)
        rest = np.argsort(counts - weights, kind="stable")[: images - int(counts.sum())]
        counts[rest] += 1
        return {self.prompts[k].text: int(n) for k, n in zip(used, counts, strict=True) if n}


def chosen(prompt: PromptPlan, sets: Sequence[ObservedSet], plan: InteractionPlan, instrument: str) -> Chosen | Missing:
    """The weights with the least sum of all axes' distances on half of the pictures.

    Missing where a prompt lacks answers, or there is no initial set.
    """
    names = {axis.name for axis in prompt.closed}
    mixed = [s for s in sets if s.prompt.axis is None or s.prompt.axis in names]
    if not names or not mixed or mixed[0].prompt.axis is not None:
        return Missing("not_asked", "a mixture needs the initial pictures and axes whose values are known")
    if lacking := names - {s.prompt.axis for s in mixed}:
        return Missing("not_asked", f"there are no counterfactual pictures of {', '.join(sorted(lacking))}")
    halves = [[picked(s, range(k, len(s.pictures), 2)) for s in mixed] for k in (0, 1)]
    fitted, held_out = (
        [
            Goal(np.array([s.counts(instrument, axis.axis()) for s in own]), ideal(axis),
                 distance_for(plan.distance, axis.scale))
            for axis in prompt.closed
        ]
        for own in halves
    )  # fmt: skip
    try:
        best = plan_mixture(fitted, worsening=plan.mixture_worsening, most_prompts=plan.mixture_prompts or None)
        mixture_plan(held_out, best.weights)  # needs answers in both halves
    except NotEnoughData as error:
        return Missing("not_asked", str(error))
    return Chosen(prompt.closed, tuple(s.prompt for s in mixed), best, fitted, held_out)


def picked(observed: ObservedSet, places: Iterable[int]) -> ObservedSet:
    """Some pictures of a set, with what was read in them."""
    kept = [*places]
    values = {
        name: {axis: tuple(column[k] for k in kept) for axis, column in by_axis.items()}
        for name, by_axis in observed.values.items()
    }
    pictures, captions = tuple(observed.pictures[k] for k in kept), tuple(observed.captions[k] for k in kept)
    return replace(observed, pictures=pictures, values=values, captions=captions)


def mixture(found: Chosen, scoring: Scoring) -> Mixture:
    """The mixture, and every axis's distance before and as predicted, on the pictures held out."""
    names = [axis.name for axis in found.axes]
    groups = [[k for k, prompt in enumerate(found.prompts) if prompt.axis == name] for name in names]
    start = np.eye(len(found.prompts))[0]
    rng = scoring.rng(found.prompts[0].text, scoring.instrument, "mixture predicted")
    before, predicted = (
        predicted_distances(weights, found.held_out, rng=rng, **scoring.how) for weights in (start, found.best.weights)
    )
    steps: dict[str, Steps] = {
        "one after another, the worst first": one_after_another(found.fitted, groups, order="worst"),
        "the worst first, while it helps": one_after_another(found.fitted, groups, order="worst", while_it_helps=True),
        "one after another, the most helpful first": one_after_another(found.fitted, groups, order="best"),
    }
    weights = {AS_IT_IS: start, "worst axis alone": worst_axis(found.fitted, groups).weights,
               **{name: one.plan.weights for name, one in steps.items()}, THIS_MIXTURE: found.best.weights}  # fmt: skip
    mixed = [(found.prompts[k], float(found.best.weights[k])) for k in found.best.prompts]
    return Mixture(
        prompts=tuple(MixedPrompt(one.text, one.axis, one.value, weight) for one, weight in mixed),
        before=dict(zip(names, before, strict=True)),
        predicted=dict(zip(names, predicted, strict=True)),
        totals={name: mixture_plan(found.held_out, own).total for name, own in weights.items()},
        steps={name: tuple(names[k] for k in one.axes) for name, one in steps.items()},
    )


def measured_distances(
    prompt: PromptPlan, drawn: ObservedSet, plan: InteractionPlan, scoring: Scoring
) -> dict[str, Estimate | Missing]:
    """The distance of every axis from its ideal in pictures drawn from the mixture."""
    found: dict[str, Estimate | Missing] = {}
    for axis in prompt.closed:
        counts, distance = drawn.counts(scoring.instrument, axis.axis()), distance_for(plan.distance, axis.scale)
        rng = scoring.rng(prompt.text, axis.name, scoring.instrument, "mixture measured")
        found[axis.name] = (
            distance_estimate(counts, ideal(axis), distance=distance, rng=rng, **scoring.how)
            if any(counts)
            else Missing("not_asked", "no picture of the mixture has an answer")
        )
    return found


def strategies(graphs: Sequence[Graph], level: float) -> tuple[Strategy, ...]:
    """Every way to mitigate: means over the prompts whose graph has a mixture. Empty without one."""
    mixtures = [graph.mixture for graph in graphs if isinstance(graph.mixture, Mixture)]
    if not mixtures:
        return ()
    found = [
        _strategy(name, [(one, _mean_distance(one, name)) for one in mixtures], level) for name in mixtures[0].totals
    ]
    drawn = [(one, left) for one in mixtures if (left := _measured(one)) is not None]
    return (*found, *([_strategy(MEASURED, drawn, level)] if drawn else []))


def _strategy(name: str, left: Sequence[tuple[Mixture, float]], level: float) -> Strategy:
    """A way to mitigate, with the mean distance that it leaves in every mixture's prompt."""
    final = np.array([distance for _, distance in left])
    planned = np.array([_mean_distance(one, THIS_MIXTURE) for one, _ in left])
    steps = [len(one.steps[name]) if name in one.steps else int(name != AS_IT_IS) for one, _ in left]
    bias, taken = (
        mean if mean.low is None else replace(mean, low=max(0.0, mean.low))  # neither is ever negative
        for mean in (student_mean(final, level, OVER), student_mean(steps, level, OVER))
    )
    more = None if name == THIS_MIXTURE else student_mean(final - planned, level, OVER, null=0.0)
    return Strategy(name, bias, taken, more)


def _mean_distance(one: Mixture, name: str) -> float:
    """Of all axes from their ideals, on the pictures held out."""
    return one.totals[name] / len(one.before)


def _measured(one: Mixture) -> float | None:
    """The mean distance in the pictures drawn from the mixture; None where an axis has no answer there."""
    found = list((one.measured or {}).values())
    known = [e.value for e in found if isinstance(e, Estimate)]
    return float(np.mean(known)) if known and len(known) == len(found) else None
