"""Command `askew variety`."""

from __future__ import annotations

from typing import Any, Unpack

from askew.method import Result
from askew.options import RunOptions, SettingOptions, plan_fields, run_options
from askew_stripes.variety import METHOD
from askew_stripes.variety.steps import VarietyPlan


class VarietyOptions(SettingOptions, RunOptions, total=False):
    """Options that other commands share."""


def variety(
    prompt: str,
    /,
    *,
    model: str = "stripes",
    images: int | None = None,
    **options: Unpack[VarietyOptions],
) -> Result[Any, Any]:
    """Measure how many colors a model shows.

    Example: `askew variety "a flag" --model stripes -M redness=0.5`

    Parameters
    ----------
    prompt
        Prompt.
    model
        Model that generates the images.
    images
        Number of images. [default: 24]
    """
    fields = {**plan_fields({**options, "model": model, "images": images}), "prompt": prompt}
    return METHOD.run(VarietyPlan.checked(fields, "this request"), **run_options(options))
