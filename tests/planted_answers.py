"""Picture sets of the studio's planted world with perfect answers: what a run observes, without drawing and reading."""

from __future__ import annotations

from collections.abc import Sequence

from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.plans.interactions import InteractionPlan
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.biasconnect import asked_as_in_biasconnect
from askew.prompts.counterfactuals import counterfactuals
from askew.store.keys import picture_seed
from askew.studio.caption import parse
from askew.studio.planted import sample
from askew.types import Missing, Picture, Prompt

INSTRUMENT = "truth"


def planned(prompts: Sequence[str], axes: Sequence[str] = BIASCONNECT, **settings: object) -> InteractionPlan:
    """A plan of interactions read by an instrument that never errs."""
    made = [
        PromptPlan(
            text=text,
            axes=tuple(AxisPlan.of(asked_as_in_biasconnect(find_axis(a)), counterfactuals(text, a)) for a in axes),
        )
        for text in prompts
    ]
    fields = {"vqa": (INSTRUMENT,), "embedder": "none", "draws": 200, "prompts": [p.model_dump() for p in made]}
    return InteractionPlan.model_validate({**fields, **settings})


def observed(prompt: Prompt, axes: Sequence[AxisPlan], images: int, bias: float = 1.0, skip: int = 0) -> ObservedSet:
    """One set of pictures as `studio/planted` would make them, the first `skip` of them missing."""
    scenes = [sample(parse(prompt.text), bias, picture_seed(0, prompt.text, k)) for k in range(images)]
    gap = Missing("refused")
    pictures = tuple(gap if k < skip else Picture(f"{prompt.text}-{k}", "", prompt.text, k) for k in range(images))
    columns = {
        axis.name: tuple(gap if k < skip else str(getattr(s, axis.name)) for k, s in enumerate(scenes)) for axis in axes
    }
    return ObservedSet(prompt, pictures, {INSTRUMENT: columns}, tuple(Missing("not_asked") for _ in pictures))


def planted(plan: InteractionPlan, images: int, bias: float = 1.0) -> dict[str, list[ObservedSet]]:
    """All sets of a plan."""
    return {p.text: [observed(one, p.axes, images, bias) for one in p.prompts()] for p in plan.prompts}
