"""Image sets of the studio's planted world, labeled without errors and without any drawing."""

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
    """Plan an analysis of interactions whose images are labeled without errors."""
    plans = []
    for text in prompts:
        planned_axes = tuple(
            AxisPlan.of(asked_as_in_biasconnect(find_axis(axis)), counterfactuals(text, axis))
            for axis in axes
        )
        plans.append(PromptPlan(text=text, axes=planned_axes))
    fields = {
        "vqa": (INSTRUMENT,),
        "embedder": "none",
        "bootstrap_samples": 200,
        "prompts": [p.model_dump() for p in plans],
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
    """Return a set of images as `studio/planted` generates them; the first `skip` are missing."""
    present = range(skip, images)
    description = parse(prompt.text)
    scenes = [sample(description, bias, picture_seed(seed, prompt.text, k)) for k in present]
    gap = (Missing("refused"),) * skip
    pictures = tuple(Picture(f"{prompt.text}-{k}", "", prompt.text, k) for k in present)
    columns: dict[str, tuple[str | Missing, ...]] = {}
    for axis in axes:
        columns[axis.name] = gap + tuple(str(getattr(scene, axis.name)) for scene in scenes)
    return ObservedSet(
        prompt, gap + pictures, {INSTRUMENT: columns}, (Missing("not_asked"),) * images
    )


def planted(plan: InteractionPlan, images: int, bias: float = 1.0) -> dict[str, list[ObservedSet]]:
    """Return all image sets of a plan by prompt."""
    sets = {}
    for entry in plan.prompts:
        sets[entry.text] = [observed(p, entry.axes, images, bias) for p in entry.prompts()]
    return sets


def head(plan: InteractionPlan) -> Head:
    """Return the fields that all findings begin with."""
    machine = Environment("3.11", "here", {}, None, 1, None, "2026-01-01T00:00:00+00:00")
    model = Identity("studio/planted", "1", {"bias": 1.0})
    instruments = Instruments(vqa={INSTRUMENT: "1"})
    return Head(FORMAT, "0", 1, plan, plan.hash, machine, (), model, instruments, ())


def scored(
    plan: InteractionPlan, sets: Mapping[str, Sequence[ObservedSet]], errors: Errors | None = None
) -> InteractionFindings:
    """Score the image sets of a run."""
    beginning = head(plan)
    return score(
        plan,
        InteractionGathered(
            model=beginning.model,
            device=None,
            instruments=beginning.instruments,
            sets=(),
            observed=sets,
            ratings=(),
            confusion=(),
            errors=errors or {},
            following=(),
            mitigated={},
        ),
        beginning,
    )


def known(score: Estimate | Missing | None) -> Any:
    """Return a score after asserting that it is not missing."""
    assert isinstance(score, Estimate)
    return score
