"""Image sets whose values are the planted truth: no drawing, no instrument, no error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import find_axis
from askew.prompts.counterfactuals import counterfactuals
from askew.store.keys import picture_seed
from askew.studio.caption import caption, parse
from askew.studio.planted import sample
from askew.types import Axis, Picture, Prompt


def planted_sets(
    prompt: str,
    axes: Sequence[str],
    images: int,
    bias: float,
    seed: int = 0,
    by: Sequence[str] = (),
) -> tuple[ObservedSet, list[ObservedSet], list[Axis]]:
    """Return the baseline set, the counterfactual sets and the axes of a prompt.

    The instrument "truth" labels all images. There are counterfactual sets for the axes `by`, or
    for all axes if `by` is empty.
    """
    records = [find_axis(name) for name in axes]
    prompts = [
        Prompt(t, name, value)
        for name in by or axes
        for value, t in counterfactuals(prompt, name).items()
    ]
    initial, *others = (_set(p, records, images, bias, seed) for p in (Prompt(prompt), *prompts))
    return initial, others, records


def _set(prompt: Prompt, axes: Sequence[Axis], images: int, bias: float, seed: int) -> ObservedSet:
    scenes = [
        sample(parse(prompt.text), bias, picture_seed(seed, prompt.text, k)) for k in range(images)
    ]
    values = {}
    for axis in axes:
        values[axis.name] = tuple(getattr(scene, axis.name) for scene in scenes)
    names = [axis.name for axis in axes]
    captions = tuple(caption(scene, [*names, "occupation"]) for scene in scenes)
    pictures = tuple(
        Picture(f"{prompt.text} {k}", str(Path("none")), prompt.text) for k in range(images)
    )
    return ObservedSet(prompt, pictures, {"truth": values}, captions)
