"""The mixture of prompts against all biases at once.

The paper leaves open what to do about several biases together. The weights are chosen on one half of the pictures and
predicted on the other. Where it is drawn, so are its rivals, the prompt as it is and its worst axis made equal, each in
as many fresh pictures: few pictures make every distance too large, and all alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.interact.findings import (
    AS_IT_IS,
    THIS_MIXTURE,
    WORST_AXIS,
    Graph,
    MixedPrompt,
    Mixture,
    Strategy,
    Way,
)
from askew.methods.interact.graph import ideal
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.stats.distance import distance_for
from askew.stats.means import student_mean
from askew.stats.mixture import Goal, MixturePlan, mixture_plan, plan_mixture, predicted_distances, worst_axis
from askew.stats.shares import distance_estimate
from askew.types import Estimate, Missing, Prompt

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

    @property
    def ways(self) -> dict[str, MixturePlan]:
        """The mixture and its rivals, by name."""
        groups = [[k for k, prompt in enumerate(self.prompts) if prompt.axis == axis.name] for axis in self.axes]
        start = mixture_plan(self.fitted, np.eye(len(self.prompts))[0])
        return {AS_IT_IS: start, WORST_AXIS: worst_axis(self.fitted, groups), THIS_MIXTURE: self.best}

    def pictures(self, way: MixturePlan, images: int) -> dict[str, int]:
        """How many of `images` pictures to draw of each prompt: its weight, rounded so that they add up."""
        used = way.prompts
        weights = np.array([way.weights[k] for k in used]) * images
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
    rng = scoring.rng(found.prompts[0].text, scoring.instrument, "mixture predicted")
    before, predicted = (
        predicted_distances(weights, found.held_out, rng=rng, **scoring.how)
        for weights in (np.eye(len(found.prompts))[0], found.best.weights)
    )
    mixed = [(found.prompts[k], float(found.best.weights[k])) for k in found.best.prompts]
    return Mixture(
        prompts=tuple(MixedPrompt(one.text, one.axis, one.value, weight) for one, weight in mixed),
        before=dict(zip(names, before, strict=True)),
        predicted=dict(zip(names, predicted, strict=True)),
    )


def measured(name: str, prompt: PromptPlan, drawn: ObservedSet, plan: InteractionPlan, scoring: Scoring) -> Way:
    """The distance of every axis from its ideal in pictures drawn in a way."""
    found: dict[str, Estimate | Missing] = {}
    for axis in prompt.closed:
        counts, distance = drawn.counts(scoring.instrument, axis.axis()), distance_for(plan.distance, axis.scale)
        rng = scoring.rng(prompt.text, axis.name, scoring.instrument, name)
        found[axis.name] = (
            distance_estimate(counts, ideal(axis), distance=distance, rng=rng, **scoring.how)
            if any(counts)
            else Missing("not_asked", "no picture has an answer")
        )
    return Way(name, len(drawn.pictures), found)


def strategies(graphs: Sequence[Graph], level: float) -> tuple[Strategy, ...]:
    """The ways to mitigate: means over the prompts in which all were drawn and every axis could be read."""
    drawn = [graph.mixture.ways for graph in graphs if isinstance(graph.mixture, Mixture) and graph.mixture.ways]
    whole = [ways for ways in drawn if all(isinstance(e, Estimate) for way in ways for e in way.distances.values())]
    if not whole:
        return ()
    left = {way.name: np.array([_left(ways[k]) for ways in whole]) for k, way in enumerate(whole[0])}
    beyond = {name: own[:, 0] - left[THIS_MIXTURE][:, 0] for name, own in left.items() if name != THIS_MIXTURE}
    return tuple(
        Strategy(name, student_mean(own[:, 0] - own[:, 1], level, OVER, null=0.0),
                 student_mean(beyond[name], level, OVER, null=0.0) if name in beyond else None)
        for name, own in left.items()
    )  # fmt: skip


def _left(way: Way) -> tuple[float, float]:
    """The mean distance of all axes, and what it would be in as many pictures of an ideal world."""
    known = [e for e in way.distances.values() if isinstance(e, Estimate)]
    return float(np.mean([e.value for e in known])), float(np.mean([e.null or 0.0 for e in known]))
