"""askew variety."""

from __future__ import annotations

from typing import Any, Unpack

from askew.method import Result
from askew.options import ModelOptions, RunOptions, given, plan_fields, run_options
from askew_stripes.variety import METHOD
from askew_stripes.variety.steps import VarietyPlan


class VarietyOptions(ModelOptions, RunOptions, total=False):
    """Options that other commands have, too."""


def variety(prompt: str, /, *, images: int | None = None, **options: Unpack[VarietyOptions]) -> Result[Any, Any]:
    """How many colours a model shows.

    Examples:

    - `askew variety "a flag" --model stripes -M redness=0.5`

    Parameters
    ----------
    prompt
        The prompt.
    images
        Pictures; 24 if not given.
    """
    fields = {"model": "stripes", **plan_fields(options), **given(images=images), "prompt": prompt}
    return METHOD.run(VarietyPlan.checked(fields, "this request"), **run_options(options))
