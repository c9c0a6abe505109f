"""Picture sets of the studio's planted world with perfect answers: what a run observes, without
drawing and reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askew.findings import FORMAT, Environment, Head, Identity, Instruments
from askew.methods.interact.findings import InteractionFindings
from askew.methods.interact.gather import InteractionGathered
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.score import score
from askew.parts.survey.confusion import Errors
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.counterfactuals import counterfactuals
from askew.prompts.given import asked_as_in_biasconnect
from askew.store.keys import picture_seed
from askew.studio.caption import parse
from askew.studio.planted import sample
from askew.types import Estimate, Missing, Picture, Prompt

INSTRUMENT = "truth"


def planned(
    prompts: Sequence[str], axes: Sequence[str] = BIASCONNECT, **settings: object
) -> InteractionPlan:
    """A plan of interactions read by an instrument that never errs."""
    made = [
        PromptPlan(
            text=text,
            axes=tuple(
                AxisPlan.of(asked_as_in_biasconnect(find_axis(a)), counterfactuals(text, a))
                for a in axes
            ),
        )
        for text in prompts
    ]
    fields = {
        "vqa": (INSTRUMENT,),
        "embedder": "none",
        "bootstrap_samples": 200,
        "prompts": [p.model_dump() for p in made],
    }
    return InteractionPlan.model_validate({**fields, **settings})


def observed(
    prompt: Prompt,
    axes: Sequence[AxisPlan],
    images: int,
    bias: float = 1.0,
    skip: int = 0,
    seed: int = 0,
) -> ObservedSet:
    """One set of pictures as `studio/planted` would make them, the first `skip` of them missing."""
    scenes = [
        sample(parse(prompt.text), bias, picture_seed(seed, prompt.text, k)) for k in range(images)
    ]
    gap = Missing("refused")
    pictures = tuple(
        gap if k < skip else Picture(f"{prompt.text}-{k}", "", prompt.text, k)
        for k in range(images)
    )
    columns = {
        axis.name: tuple(
            gap if k < skip else str(getattr(s, axis.name)) for k, s in enumerate(scenes)
        )
        for axis in axes
    }
    return ObservedSet(
        prompt, pictures, {INSTRUMENT: columns}, tuple(Missing("not_asked") for _ in pictures)
    )


def planted(plan: InteractionPlan, images: int, bias: float = 1.0) -> dict[str, list[ObservedSet]]:
    """All sets of a plan."""
    return {
        p.text: [observed(one, p.axes, images, bias) for one in p.prompts()] for p in plan.prompts
    }


def head(plan: InteractionPlan) -> Head:
    """What findings begin with."""
    machine = Environment("3.11", "here", {}, None, 1, None, "2026-01-01T00:00:00+00:00")
    model = Identity("studio/planted", "1", {"bias": 1.0})
    told = Instruments(vqa={INSTRUMENT: "1"})
    return Head(FORMAT, "0", 1, plan, plan.hash, machine, (), model, told, ())


def scored(
    plan: InteractionPlan, sets: Mapping[str, Sequence[ObservedSet]], errors: Errors | None = None
) -> InteractionFindings:
    """The findings of a run that saw these sets."""
    own = head(plan)
    return score(
        plan,
        InteractionGathered(own.model, None, own.instruments, (), sets, (), errors or {}, {}),
        own,
    )


def known(score: Estimate | Missing | None) -> Any:
    """A score that must be there."""
    assert isinstance(score, Estimate)
    return score
